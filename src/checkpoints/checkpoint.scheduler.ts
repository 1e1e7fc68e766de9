import type { OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { type KafkaSettings, usesKafka } from '../kafka/kafka-settings.js';
import { messageOf } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';
import { Poller } from '../kernel/poller.js';
import type { Settings } from '../kernel/settings/settings.js';
import { Lease } from '../postgres/lease.js';
import type { Postgres } from '../postgres/postgres.js';
import { publishCheckpoints } from './checkpoint-topic.js';
import type { Checkpoints } from './checkpoints.js';

const LEASE_NAME = 'checkpoints';
const PUBLISHED_AT_ONCE = 500;

/**
 * Signs the head of the chain once a minute while it moves, and publishes the checkpoints. The two are independent: without
 * Kafka, or during an outage of it, checkpoints are created all the same and published later.
 */
export class CheckpointScheduler implements OnApplicationShutdown {
  private readonly signing: Poller;
  private readonly publishing: Poller | undefined;
  private readonly failing = new Set<string>();

  constructor(
    private readonly postgres: Postgres,
    private readonly checkpoints: Checkpoints,
    settings: Settings,
    private readonly logger: Logger,
    private readonly publish: typeof publishCheckpoints = publishCheckpoints,
  ) {
    this.signing = new Poller(() =>
      this.report('Signing a checkpoint failed; retrying', async () => {
        await this.checkpoints.createIfDue();
      }),
    );
    const message = 'Publishing checkpoints to Kafka failed; retrying. They stay in the database';
    if (usesKafka(settings)) this.publishing = new Poller(() => this.report(message, () => this.publishAll(settings)));
  }

  /** Only triggers a check: the database decides whether a checkpoint is due and which instance creates it. */
  @Interval(10_000)
  check(): void {
    this.signing.poll();
    this.publishing?.poll();
  }

  /** Waits for nothing: a checkpoint is created in one transaction, and publishing is repeated after a restart. */
  onApplicationShutdown(): void {
    void this.signing.stop();
    void this.publishing?.stop();
  }

  /** Resolves when what was started has ended. */
  async settled(): Promise<void> {
    await this.signing.settled();
    await this.publishing?.settled();
  }

  private async publishAll(settings: Settings & KafkaSettings): Promise<void> {
    if ((await this.checkpoints.unpublished(1)).length === 0) return;
    const lease = await Lease.take(this.postgres, LEASE_NAME);
    if (!lease) return;
    try {
      while (lease.held) {
        const waiting = await this.checkpoints.unpublished(PUBLISHED_AT_ONCE);
        if (waiting.length === 0) return;
        await this.publish(
          settings,
          waiting.map(({ token }) => token),
        );
        await this.checkpoints.markPublished(waiting);
      }
    } finally {
      // If the database is unavailable, the lease expires.
      await lease.release().catch(() => {});
    }
  }

  /** Logs the first failure in a row only, so that an outage does not fill the log. */
  private async report(message: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.failing.delete(message);
    } catch (error) {
      if (this.failing.has(message)) return;
      this.failing.add(message);
      this.logger.warn(message, { error: messageOf(error) });
    }
  }
}
