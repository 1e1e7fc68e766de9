import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Checkpoints } from '../checkpoints/checkpoints.js';
import { removalSigner } from '../checkpoints/signed-removal.js';
import { SigningKeys } from '../checkpoints/signing-keys.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { Sealer } from '../kernel/sealing.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { EventLog } from '../log/event-log.js';
import { LogModule } from '../log/log.module.js';
import { ProjectionRunner } from '../log/projection-runner.js';
import { dropExpiredPartitions } from '../log/retention.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteRepository } from '../sites/site-repository.js';
import { allHolds } from './hold-sources.js';

const CHECK_EVERY_MS = 60_000;
const STOP_WITHIN_MS = 1_000;

/** Removes partitions older than LOG_RETENTION. Every instance checks; a lock in the database lets one at a time remove. */
@Injectable()
export class RetentionScheduler {
  private running: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly projections: ProjectionRunner,
    private readonly sealer: Sealer,
    private readonly logger: Logger,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Interval(CHECK_EVERY_MS)
  check(): void {
    if (this.stopped) return;
    this.running ??= this.run()
      .catch((error) => this.logger.warn('Log retention failed; retrying in 60 s', { error: messageOf(error) }))
      .finally(() => {
        this.running = undefined;
      });
  }

  /** Does not wait for long: a removal that the exit interrupts is rolled back. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.race([this.running, sleep(STOP_WITHIN_MS, undefined, { ref: false })]);
  }

  private async run(): Promise<void> {
    const { postgres, log, projections, sealer, settings } = this;
    if (settings.logRetentionMs === undefined) return;
    const keys = new SigningKeys(postgres.pool, sealer);
    const dropped = await dropExpiredPartitions(postgres, {
      olderThanMs: settings.logRetentionMs,
      holds: allHolds({ postgres, log, projections, settings, sites: new SiteRepository(log) }),
      sign: await removalSigner(keys, new Checkpoints(postgres.pool, keys, settings.cell)),
      onMessage: (line) => this.logger.warn(line),
    });
    if (dropped > 0) this.logger.info('Removed partitions older than LOG_RETENTION', { dropped });
  }
}

@Module({ imports: [LogModule], providers: [RetentionScheduler] })
export class RetentionModule implements OnApplicationShutdown {
  constructor(private readonly scheduler: RetentionScheduler) {}

  async onApplicationShutdown(): Promise<void> {
    await this.scheduler.stop();
  }
}
