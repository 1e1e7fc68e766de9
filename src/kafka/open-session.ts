import type { Admin, Kafka } from 'kafkajs';
import { counted } from '../kernel/counted.js';
import type { Logger } from '../kernel/logger.js';
import { readPublicEvents } from '../log/event-reader.js';
import { readJump } from '../log/lineage.js';
import { RecentEvents } from '../log/recent-events.js';
import type { Postgres } from '../postgres/postgres.js';
import { makeBatch, type PartitionBatch } from './batch.js';
import { makeClient, withTimeout } from './client.js';
import { FencedProducer } from './fenced-producer.js';
import type { KafkaSettings } from './kafka-settings.js';
import { compareEnds, followLineageOf, refuseForeignTopics } from './own-topics.js';
import { type PartitionEnd, readPartitionEnds } from './partition-ends.js';
import { type RelayProgress, RelayProgressStore } from './relay-progress.js';
import { RelaySession } from './relay-session.js';
import { type IdsInLog, type StartingPoint, startingPoint } from './starting-point.js';
import { type Cluster, ensureTopics, RelayRefusedError, topicOf } from './topics.js';
import { withAdmin } from './with-admin.js';

const TOPICS_TIMEOUT_MS = 20_000;
const ABORTS_MAX = 5;
const ABORT_PAGE_EVENTS = 2_000;

/**
 * A start, a take-over and a restart after a failure are the same: new client, fence, read the topics, compare, continue. Before
 * this log has published to the topics, and after a refusal, it compares first: fencing would interrupt their owner.
 */
export async function openRelaySession(
  postgres: Postgres,
  settings: KafkaSettings,
  logger: Logger,
  recent = new RecentEvents(),
  wasRefused = false,
): Promise<RelaySession> {
  const kafka = makeClient(settings, logger);
  return withAdmin(kafka, settings, async (admin) => {
    const ensured = ensureTopics(admin, postgres.pool, settings);
    const cluster = await withTimeout(TOPICS_TIMEOUT_MS, 'Creating the topics', ensured);
    const prefix = settings.kafkaTopicPrefix;
    await followLineageOf(postgres, logger);
    // What this process appended before may have been lost in a failover: it is read from the database.
    recent.clear();
    const { lineageStart } = await new RelayProgressStore(postgres.pool, prefix).load(cluster.id);
    if (lineageStart === null || wasRefused) await refuseForeignTopics(kafka, admin, postgres, prefix, cluster);
    const producer = await FencedProducer.open(kafka, prefix);
    try {
      // Only after fencing: an earlier producer can no longer append.
      return await new SessionOpener(postgres, settings, logger, kafka, admin, cluster, producer).open(recent);
    } catch (error) {
      producer.disconnect();
      throw error;
    }
  });
}

class SessionOpener {
  private readonly prefix: string;
  private readonly progress: RelayProgressStore;

  constructor(
    private readonly postgres: Postgres,
    private readonly settings: KafkaSettings,
    private readonly logger: Logger,
    private readonly kafka: Kafka,
    private readonly admin: Admin,
    private readonly cluster: Cluster,
    private readonly producer: FencedProducer,
  ) {
    this.prefix = settings.kafkaTopicPrefix;
    this.progress = new RelayProgressStore(postgres.pool, this.prefix);
  }

  async open(recent: RecentEvents): Promise<RelaySession> {
    const { postgres, producer, progress, cluster } = this;
    const relayed = await progress.load(cluster.id);
    await progress.moveHold(relayed.position);
    const found = await this.readSettledEnds(relayed);
    await this.compareWithLog(relayed, found);
    const start = startingPoint(relayed, found, cluster);
    // Before that position, if a topic has lost events: they are published again.
    if (start.after < relayed.position) await progress.moveHold(start.after);
    return new RelaySession(postgres, recent, producer, progress, cluster.id, this.settings.cell, start);
  }

  /** A hanging transaction ends when this producer runs another one on the same partitions. Then the ends are final. */
  private async readSettledEnds(relayed: RelayProgress): Promise<PartitionEnd[]> {
    for (let aborts = 0; ; aborts += 1) {
      const found = await readPartitionEnds(this.kafka, this.admin, this.prefix, this.cluster);
      const hanging = found.filter((one) => one.hasHangingTransaction);
      if (hanging.length === 0) return found;
      if (aborts === ABORTS_MAX) {
        throw new RelayRefusedError(
          `${counted(hanging.length, 'partition has', 'partitions have')} a hanging transaction that could not be aborted. Find it with Kafka's tool ` +
            '"kafka-transactions.sh find-hanging" and abort it.',
        );
      }
      this.logger.warn('Aborting a hanging transaction on the broker; its events are published again', {
        partitions: hanging.length,
      });
      await this.producer.abortHanging(await this.nextEvents(hanging, startingPoint(relayed, found, this.cluster)));
    }
  }

  /** The next event of each partition, so that `read_uncommitted` readers see only events of the log. */
  private async nextEvents(hanging: readonly PartitionEnd[], start: StartingPoint): Promise<PartitionBatch[]> {
    const partitions = new Set(hanging.map(({ category, partition }) => `${category} ${partition}`));
    const next: PartitionBatch[] = [];
    for (let after = start.after; partitions.size > 0; ) {
      const events = await readPublicEvents(this.postgres.pool, after, ABORT_PAGE_EVENTS);
      if (events.length === 0) break;
      const { partitionBatches, until } = makeBatch(events, after, start.published, this.settings.cell);
      for (const batch of partitionBatches) {
        if (partitions.delete(`${batch.category} ${batch.partition}`))
          next.push({ ...batch, messages: batch.messages.slice(0, 1) });
      }
      after = until;
    }
    return next;
  }

  private async compareWithLog(relayed: RelayProgress, found: readonly PartitionEnd[]): Promise<void> {
    const { pool } = this.postgres;
    await followLineageOf(this.postgres, this.logger);
    const { lineage, inLog, lostBelow } = await compareEnds(this.postgres, relayed, found, this.prefix);
    if (lostBelow > relayed.lostBelow) {
      this.logger.warn(
        'Kafka contains events that this database lost in a restore or failover: those with a position after `kept` and before `continuesAt`',
        { ...(await readJump(pool)), records: describeLost(found, inLog, this.prefix) },
      );
    }
    await this.progress.adoptLineage(this.cluster.id, lineage, lostBelow);
  }
}

/** Names the newest event of each partition where that event is lost. */
function describeLost(found: readonly PartitionEnd[], inLog: IdsInLog, prefix: string): string {
  const lost = found.flatMap(({ category, partition, last }) =>
    last && !inLog.has(last.position)
      ? [`${topicOf(prefix, category)}/${partition} up to event ${last.id} at position ${last.position}`]
      : [],
  );
  return lost.join(', ');
}
