import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { keepPartitionsAhead } from '../log/retention/partitions.js';
import { Postgres } from '../postgres/postgres.js';

/** Creates partitions ahead of the log. A database lock lets one instance run at a time. */
@Injectable()
export class PartitionMaintenance implements OnModuleInit {
  constructor(
    private readonly postgres: Postgres,
    private readonly logger: Logger,
  ) {}

  /** The service starts without it: there are partitions ahead as a rule, and /readyz reports if there are none. */
  async onModuleInit(): Promise<void> {
    await this.run();
  }

  @Interval(60_000)
  async run(): Promise<void> {
    try {
      await keepPartitionsAhead(this.postgres);
    } catch (error) {
      this.logger.warn('Partition maintenance failed; retrying in 60 s', { error: messageOf(error) });
    }
  }
}
