import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { removalSigner } from '../checkpoints/signed-removal.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { dropExpiredPartitions } from '../log/retention/retention.js';
import type { CopiedProgress } from '../visitors/erasure/expiry.js';
import { allHolds } from './hold-sources.js';
import { removeOldPersonalParts } from './personal-retention.js';
import type { Services } from './services.js';
import { SERVICES } from './services.providers.js';

const CHECK_EVERY_MS = 60_000;
const STOP_WITHIN_MS = 1_000;

/** Removes what is older than PERSONAL_RETENTION and LOG_RETENTION. Every instance checks; a lock in the database lets one at a time remove. */
@Injectable()
export class RetentionScheduler implements OnApplicationShutdown {
  private running: Promise<void> | undefined;
  private readonly copied: CopiedProgress = new Map();
  private stopped = false;

  constructor(
    @Inject(SERVICES) private readonly services: Services,
    private readonly logger: Logger,
  ) {}

  @Interval(CHECK_EVERY_MS)
  check(): Promise<void> | undefined {
    if (this.stopped) return;
    this.running ??= this.run()
      .catch((error) => this.logger.warn('Retention failed; retrying in 60 s', { error: messageOf(error) }))
      .finally(() => {
        this.running = undefined;
      });
    return this.running;
  }

  /** Does not wait for long: a removal that the exit interrupts is rolled back. */
  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
    await Promise.race([this.running, sleep(STOP_WITHIN_MS, undefined, { ref: false })]);
  }

  private async run(): Promise<void> {
    const { postgres, settings, signingKeys, checkpoints } = this.services;
    const onMessage = (line: string) => this.logger.warn(line);
    if (settings.personalRetentionMs !== undefined)
      await removeOldPersonalParts(this.services, settings.personalRetentionMs, this.copied, onMessage);
    if (settings.logRetentionMs === undefined) return;
    const dropped = await dropExpiredPartitions(postgres, {
      olderThanMs: settings.logRetentionMs,
      holds: allHolds(this.services),
      sign: await removalSigner(signingKeys, checkpoints),
      onMessage,
    });
    if (dropped > 0) this.logger.info('Removed partitions older than LOG_RETENTION', { dropped });
  }
}
