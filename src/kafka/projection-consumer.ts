import { setTimeout as sleep } from 'node:timers/promises';
import type { EachBatchPayload, KafkaMessage } from 'kafkajs';
import { messageOf } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';
import { readHead } from '../log/event-reader.js';
import { readJump, readServerLineage } from '../log/lineage.js';
import type { Projection } from '../log/projections/projection.js';
import type { ProjectionRunner } from '../log/projections/projection-runner.js';
import { PartitionPositions } from '../log/retention/partition-positions.js';
import type { Postgres } from '../postgres/postgres.js';
import { makeClient, withTimeout } from './client.js';
import { fromMessage, isOfRelay, positionIn } from './cloud-event.js';
import { ConsumerFold, FailedOver, type KnownHistory } from './consumer-fold.js';
import type { KafkaSettings } from './kafka-settings.js';
import { followLineageOf, OwnTopics } from './own-topics.js';
import { REFUSED_RETRY_MS } from './relay.js';
import { ensureTopics, PUBLISHED_CATEGORIES, RelayRefusedError, TOPIC_OF_CATEGORY, topicOf } from './topics.js';

const OPEN_TIMEOUT_MS = 30_000;
const LEAVE_TIMEOUT_MS = 5_000;
const BACK_OFF_FIRST_MS = 500;
const BACK_OFF_MAX_MS = 10_000;
const MOVE_EVERY_MS = 1_000;
const PARKED_CHECK_EVERY_MS = 5_000;
/** A consumer without a heartbeat for this long is replaced, even if kafkajs reports no error. */
const HEARTBEAT_TIMEOUT_MS = 60_000;

/**
 * Feeds one projection from Kafka. Every instance of the service is a member of the projection's consumer group, and Kafka
 * assigns each a share of the partitions. Committed offsets only avoid rereading; the authoritative progress is in the
 * database, in the same transaction as the rows.
 */
export class ProjectionConsumer {
  private readonly stopping = new AbortController();
  private readonly categories: readonly string[];
  private running: Promise<void> | undefined;
  /** The topics belong to another cell. */
  private refusal: RelayRefusedError | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly settings: KafkaSettings,
    private readonly projection: Projection,
    private readonly runner: Pick<ProjectionRunner, 'catchUp' | 'lags'>,
    private readonly logger: Logger,
  ) {
    this.categories = projection.categories ?? PUBLISHED_CATEGORIES;
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
        const history = await this.readHistory();
        // Catch up from the log first: it also has events that the topics no longer retain or that have another prefix.
        await this.runner.catchUp(this.projection.name);
        await this.consume(history, () => {
          backOffMs = BACK_OFF_FIRST_MS;
        });
      } catch (error) {
        this.refusal = error instanceof RelayRefusedError ? error : undefined;
        this.logger.debug('Restarting a consumer', { projection: this.projection.name, reason: messageOf(error) });
        await this.pause(this.refusal ? REFUSED_RETRY_MS : backOffMs);
        backOffMs = Math.min(2 * backOffMs, BACK_OFF_MAX_MS);
      }
    }
  }

  /** Read before the projection is caught up: what fails over later is noticed. */
  private async readHistory(): Promise<KnownHistory> {
    const { pool } = this.postgres;
    await followLineageOf(this.postgres, this.logger);
    const lineage = await readServerLineage(pool);
    const jump = await readJump(pool);
    const isLost = (position: number) => !!jump && position > jump.kept && position < jump.continuesAt;
    return { lineage, isLost };
  }

  /** Consumes until stopped. Throws when the consumer crashes, or the database failed over; the caller then starts over with a new client. */
  private async consume(history: KnownHistory, onJoined: () => void): Promise<void> {
    const fold = new ConsumerFold(this.postgres, this.projection, history, (line) => this.logger.error(line));
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
    const crashed = new Promise<never>((_, reject) => {
      consumer.on('consumer.crash', ({ payload }) => reject(payload.error));
    });
    crashed.catch(() => {});
    let lastHeartbeatMs = performance.now();
    consumer.on('consumer.heartbeat', () => {
      lastHeartbeatMs = performance.now();
    });
    try {
      await withTimeout(OPEN_TIMEOUT_MS, 'Connecting', Promise.all([admin.connect(), consumer.connect()]));
      const cluster = await withTimeout(
        OPEN_TIMEOUT_MS,
        'Creating the topics',
        ensureTopics(admin, this.postgres.pool, this.settings),
      );
      const own = new OwnTopics(kafka, admin, this.postgres, prefix, cluster, this.logger);
      await own.refuseForeign(this.refusal !== undefined);
      this.refusal = undefined;
      const topics = this.categories.map((category) => topicOf(prefix, category));
      await withTimeout(OPEN_TIMEOUT_MS, 'Subscribing', consumer.subscribe({ topics, fromBeginning: true }));
      const eachBatch = (payload: EachBatchPayload) => this.handleBatch(payload, cluster.partitions, own, fold);
      // Offsets are resolved manually, so a batch that was not folded is delivered again.
      await withTimeout(OPEN_TIMEOUT_MS, 'Joining', consumer.run({ eachBatchAutoResolve: false, eachBatch }));
      onJoined();
      while (!this.stopping.signal.aborted) {
        await Promise.race([crashed, this.pause(MOVE_EVERY_MS)]);
        if (this.refusal) throw this.refusal;
        if (performance.now() - lastHeartbeatMs > HEARTBEAT_TIMEOUT_MS)
          throw new Error(`The consumer sent no heartbeat for ${HEARTBEAT_TIMEOUT_MS / 1_000} s`);
        // A failure of the database is not fatal: the next round computes the position again.
        const lineage = await readServerLineage(this.postgres.pool).catch(() => history.lineage);
        if (lineage !== history.lineage) throw new FailedOver('The database was restored or failed over');
        await this.movePosition(cluster.id, history).catch(() => {});
      }
    } finally {
      admin.disconnect().catch(() => {});
      // Leave the group, so that the other members need not wait for the session timeout.
      await withTimeout(LEAVE_TIMEOUT_MS, 'Leaving', consumer.disconnect()).catch(() => {});
    }
  }

  private async handleBatch(
    payload: EachBatchPayload,
    partitions: ReadonlyMap<string, number>,
    own: OwnTopics,
    fold: ConsumerFold,
  ): Promise<void> {
    const { batch, resolveOffset, heartbeat } = payload;
    const newest = batch.messages.findLast(isOfRelay);
    if (newest && !(await this.isOwn(own, newest))) {
      // Neither folded nor committed: the group is left.
      payload.pause();
      return;
    }
    const name = batch.topic.slice(this.settings.kafkaTopicPrefix.length);
    const category = PUBLISHED_CATEGORIES.find((category) => TOPIC_OF_CATEGORY[category] === name) as string;
    const shard = { category, shards: partitions.get(category) as number, shard: batch.partition };
    const events = batch.messages.filter((message) => positionIn(message) > fold.position).map(fromMessage);
    if (events.length === 0 || (await fold.fold(shard, events))) {
      resolveOffset(batch.messages.at(-1)?.offset as string);
    } else {
      // The projection is parked. Check again later: it may have been rebuilt.
      const resume = payload.pause();
      setTimeout(resume, PARKED_CHECK_EVERY_MS).unref();
    }
    await heartbeat();
  }

  private async isOwn(own: OwnTopics, message: KafkaMessage): Promise<boolean> {
    try {
      await own.refuseForeignRecord(message);
      return true;
    } catch (error) {
      if (!(error instanceof RelayRefusedError)) throw error;
      this.refusal = error;
      return false;
    }
  }

  /**
   * When every partition is folded up to its last published position, everything up to the relay's position is folded.
   * Any member of the group can decide this, because all positions in partitions are in the database.
   */
  private async movePosition(clusterId: string, { isLost }: KnownHistory): Promise<void> {
    const { pool } = this.postgres;
    const { rows } = await pool.query<{ position: string; published: Record<string, number[]> }>(
      'SELECT position, published FROM cc.kafka_relay WHERE cluster = $1 AND prefix = $2',
      [clusterId, this.settings.kafkaTopicPrefix],
    );
    const relay = rows[0];
    if (!relay) return;
    const partitionPositions = await PartitionPositions.read(pool, this.projection.name);
    const folded = await pool.query<{ position: string }>('SELECT position FROM cc.projections WHERE name = $1', [
      this.projection.name,
    ]);
    const position = Number(folded.rows[0]?.position ?? 0);
    const reached = foldedUpTo(
      Number(relay.position),
      relay.published,
      this.categories,
      position,
      partitionPositions,
      isLost,
    );
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

/**
 * The position up to which every shard is folded: the relay's position, unless a shard lags behind its published events. `isLost`: a
 * record of an event that the log has lost is not folded.
 */
export function foldedUpTo(
  relayPosition: number,
  published: Readonly<Record<string, readonly number[]>>,
  categories: readonly string[],
  position: number,
  partitionPositions: Pick<PartitionPositions, 'of'>,
  isLost: (position: number) => boolean,
): number {
  let foldedTo = relayPosition;
  for (const category of categories) {
    const lastPositions = published[category] ?? [];
    lastPositions.forEach((lastPosition, shard) => {
      const reached = Math.max(position, partitionPositions.of({ category, shards: lastPositions.length, shard }));
      if (reached < lastPosition && !isLost(lastPosition)) foldedTo = Math.min(foldedTo, reached);
    });
  }
  return foldedTo;
}
