import { setTimeout as sleep } from 'node:timers/promises';
import type { EachBatchPayload } from 'kafkajs';
import { messageOf } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';
import { readHead } from '../log/event-reader.js';
import { PartitionCheckpoints } from '../log/partition-checkpoints.js';
import type { Projection } from '../log/projection.js';
import type { ProjectionRunner } from '../log/projection-runner.js';
import type { Postgres } from '../postgres/postgres.js';
import { type KafkaSettings, makeClient, within } from './client.js';
import { fromMessage, positionIn } from './cloud-event.js';
import { ConsumerFold } from './consumer-fold.js';
import { ensureTopics, PUBLISHED_CATEGORIES, TOPIC_OF_CATEGORY, topicOf } from './topics.js';

const OPENED_WITHIN_MS = 30_000;
const BACK_OFF_FIRST_MS = 500;
const BACK_OFF_MAX_MS = 10_000;
const CHECKPOINT_EVERY_MS = 1_000;
const PARKED_LOOK_AGAIN_MS = 5_000;
/** A consumer that has not been heard of for so long is replaced, whatever it believes about itself. */
const SILENT_MS = 60_000;

/**
 * Feeds one projection from Kafka, as a member of its consumer group: every instance of the service is one, and Kafka
 * gives each its share of the partitions. What Kafka remembers of how far a group has read is a hint that saves reading;
 * what counts is in the database, with the rows.
 */
export class ConsumerSource {
  private readonly stopping = new AbortController();
  private readonly folding: ConsumerFold;
  private readonly categories: readonly string[];
  private running: Promise<void> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly settings: KafkaSettings,
    private readonly projection: Projection,
    private readonly runner: Pick<ProjectionRunner, 'catchUp' | 'lags'>,
    private readonly logger: Logger,
  ) {
    this.categories = projection.categories ?? PUBLISHED_CATEGORIES;
    this.folding = new ConsumerFold(postgres, projection, (line) => logger.error(line));
  }

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    let backOffMs = BACK_OFF_FIRST_MS;
    while (!this.stopping.signal.aborted) {
      try {
        // First from the log, to its head: whatever topics no longer keep, or were told under other names, is in it.
        await this.runner.catchUp(this.projection.name);
        await this.consume(() => {
          backOffMs = BACK_OFF_FIRST_MS;
        });
      } catch (error) {
        this.logger.debug('A consumer begins anew', { projection: this.projection.name, reason: messageOf(error) });
        await this.pause(backOffMs);
        backOffMs = Math.min(2 * backOffMs, BACK_OFF_MAX_MS);
      }
    }
  }

  /** Until it is stopped; throws when the consumer has died. A new one is made then, with a client of its own. */
  private async consume(joined: () => void): Promise<void> {
    const { kafkaTopicPrefix: prefix } = this.settings;
    const kafka = makeClient(this.settings, this.logger);
    const admin = kafka.admin();
    const consumer = kafka.consumer({
      groupId: `${prefix}projection.${this.projection.name}`,
      sessionTimeout: 10_000,
      rebalanceTimeout: 15_000,
      heartbeatInterval: 2_000,
      retry: { retries: 3, restartOnFailure: async () => false },
    });
    const died = new Promise<never>((_, reject) => {
      consumer.on('consumer.crash', ({ payload }) => reject(payload.error));
    });
    died.catch(() => {});
    let heardOfMs = performance.now();
    consumer.on('consumer.heartbeat', () => {
      heardOfMs = performance.now();
    });
    try {
      await within(OPENED_WITHIN_MS, 'Connecting', Promise.all([admin.connect(), consumer.connect()]));
      const cluster = await within(OPENED_WITHIN_MS, 'Topics', ensureTopics(admin, this.postgres.pool, this.settings));
      const topics = this.categories.map((category) => topicOf(prefix, category));
      await within(OPENED_WITHIN_MS, 'Subscribing', consumer.subscribe({ topics, fromBeginning: true }));
      const eachBatch = (payload: EachBatchPayload) => this.take(payload, cluster.partitions);
      // Our own resolving: a batch that was not folded is delivered again.
      await within(OPENED_WITHIN_MS, 'Joining', consumer.run({ eachBatchAutoResolve: false, eachBatch }));
      joined();
      while (!this.stopping.signal.aborted) {
        await Promise.race([died, this.pause(CHECKPOINT_EVERY_MS)]);
        if (performance.now() - heardOfMs > SILENT_MS)
          throw new Error('Nothing was heard of the consumer for a minute');
        // The database is away: the next look finds what this one could not.
        await this.moveCheckpoint(cluster.id).catch(() => {});
      }
    } finally {
      admin.disconnect().catch(() => {});
      // It leaves the group, so that others need not wait for its silence to be noticed; but nobody waits for that.
      await within(5_000, 'Leaving', consumer.disconnect()).catch(() => {});
    }
  }

  private async take(payload: EachBatchPayload, partitions: ReadonlyMap<string, number>): Promise<void> {
    const { batch, resolveOffset, heartbeat } = payload;
    const name = batch.topic.slice(this.settings.kafkaTopicPrefix.length);
    const category = PUBLISHED_CATEGORIES.find((category) => TOPIC_OF_CATEGORY[category] === name) as string;
    const shard = { category, shards: partitions.get(category) as number, shard: batch.partition };
    const events = batch.messages.filter((message) => positionIn(message) > this.folding.floor).map(fromMessage);
    if (events.length === 0 || (await this.folding.fold(shard, events))) {
      resolveOffset(batch.messages.at(-1)?.offset as string);
    } else {
      // Parked: looked at again in a while. Somebody may have rebuilt it.
      const resume = payload.pause();
      setTimeout(resume, PARKED_LOOK_AGAIN_MS).unref();
    }
    await heartbeat();
  }

  /**
   * Where all partitions have come at least as far as the relay gave them, everything up to the relay's own checkpoint is
   * folded. Any member may say so for all, since all of it is in the database.
   */
  private async moveCheckpoint(clusterId: string): Promise<void> {
    const { pool } = this.postgres;
    const { rows } = await pool.query<{ position: string; published: Record<string, number[]> }>(
      'SELECT position, published FROM cc.kafka_relay WHERE cluster = $1 AND prefix = $2',
      [clusterId, this.settings.kafkaTopicPrefix],
    );
    const relay = rows[0];
    if (!relay) return;
    const marks = await PartitionCheckpoints.read(pool, this.projection.name);
    const checkpoint = await pool.query<{ position: string }>('SELECT position FROM cc.projections WHERE name = $1', [
      this.projection.name,
    ]);
    const position = Number(checkpoint.rows[0]?.position ?? 0);
    const reached = wholeUpTo(Number(relay.position), relay.published, this.categories, position, marks);
    if (reached > position) {
      await pool.query('UPDATE cc.projections SET position = $2 WHERE name = $1 AND position < $2', [
        this.projection.name,
        reached,
      ]);
    }
    this.runner.lags.set(this.projection.name, Math.max(0, (await readHead(pool)) - Math.max(reached, position)));
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.stopping.signal }).catch(() => {});
  }
}

/** The position up to which every shard is folded: the relay's, unless one has not come as far as it was published. */
export function wholeUpTo(
  relayPosition: number,
  published: Readonly<Record<string, readonly number[]>>,
  categories: readonly string[],
  checkpoint: number,
  marks: Pick<PartitionCheckpoints, 'of'>,
): number {
  let whole = relayPosition;
  for (const category of categories) {
    const ends = published[category] ?? [];
    ends.forEach((end, shard) => {
      const reached = Math.max(checkpoint, marks.of({ category, shards: ends.length, shard }));
      if (reached < end) whole = Math.min(whole, reached);
    });
  }
  return whole;
}
