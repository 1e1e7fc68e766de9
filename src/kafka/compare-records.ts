import type { Admin, KafkaMessage } from 'kafkajs';
import { areAtEndOfLineage, copyStreamsByPosition } from '../log/audit/log-audit.js';
import { type PublicEvent, readIdsAt, readPublicEventsAt } from '../log/event-reader.js';
import { shardOf } from '../log/projections/shard.js';
import type { Postgres } from '../postgres/postgres.js';
import { makeClient, withTimeout } from './client.js';
import { isHeaderOf, isOfRelay, positionIn, publishedData, toMessage } from './cloud-event.js';
import type { KafkaSettings } from './kafka-settings.js';
import { PositionSet } from './position-set.js';
import { readTopics, type TopicRecords } from './read-topics.js';
import { type RelayProgress, RelayProgressStore } from './relay-progress.js';
import { type Cluster, ensureTopics, PUBLISHED_CATEGORIES, topicOf } from './topics.js';
import { withAdmin } from './with-admin.js';

const TOPICS_TIMEOUT_MS = 20_000;
/** Names the installation, which may be renamed; it is not part of the event. */
const SOURCE = 'ce_source';

export interface RecordComparison {
  readonly records: number;
  /** Every event up to this position has been published. */
  readonly position: number;
  /** Records of events that the database lost in a restore or failover. */
  readonly lost: number;
  /** Partitions whose oldest records Kafka has deleted. */
  readonly truncated: number;
}

/**
 * Compares every record of every topic with the log, and every published event of the log with the topics. Undefined if
 * nothing has been published.
 */
export async function compareRecords(
  settings: KafkaSettings,
  postgres: Postgres,
  report: (violation: string) => void,
  progress: (records: number) => void,
): Promise<RecordComparison | undefined> {
  const store = new RelayProgressStore(postgres.pool, settings.kafkaTopicPrefix);
  if ((await store.position()) === 0) return undefined;
  const kafka = makeClient(settings);
  const compare = async (admin: Admin): Promise<RecordComparison> => {
    const prefix = settings.kafkaTopicPrefix;
    const ensured = ensureTopics(admin, postgres.pool, settings);
    const cluster = await withTimeout(TOPICS_TIMEOUT_MS, 'Reading the topics', ensured);
    const relayed = await store.load(cluster.id);
    const comparison = new Comparison(postgres, prefix, cluster, relayed, report);
    const topics = PUBLISHED_CATEGORIES.map((category) => topicOf(prefix, category));
    const partitions = await readTopics(kafka, admin, topics, `${prefix}verify-`, async (records) => {
      await comparison.compare(records);
      progress(comparison.records);
    });
    const truncated = partitions.filter(({ isTruncated }) => isTruncated);
    await comparison.findMissing(new Set(truncated.map(({ topic, partition }) => `${topic} ${partition}`)));
    return {
      records: comparison.records,
      position: relayed.position,
      lost: comparison.lost,
      truncated: truncated.length,
    };
  };
  return withAdmin(kafka, settings, compare, { retry: { retries: 2 } });
}

/** Versions before 0.3 published every field: such a record is compared by the fields that are published now. */
function publishedDataIn({ value }: KafkaMessage, type: string): string | undefined {
  try {
    return publishedData(type, String(value));
  } catch {
    return undefined;
  }
}

class Comparison {
  records = 0;
  lost = 0;
  private readonly seen = new PositionSet();
  /** The lowest position of each partition. */
  private readonly begins = new Map<string, number>();
  /** The last record of each partition. */
  private readonly last = new Map<string, { readonly offset: number; readonly position: number }>();

  constructor(
    private readonly postgres: Postgres,
    private readonly prefix: string,
    private readonly cluster: Cluster,
    private readonly relayed: RelayProgress,
    private readonly report: (violation: string) => void,
  ) {}

  async compare({ topic, partition, messages: read }: TopicRecords): Promise<void> {
    const key = `${topic} ${partition}`;
    // The group may be rebalanced, and then reads from the beginning again.
    const { offset: compared = -1 } = this.last.get(key) ?? {};
    const messages = read.filter(({ offset }) => Number(offset) > compared);
    const events = new Map(
      (await readPublicEventsAt(this.postgres.pool, messages.filter(isOfRelay).map(positionIn))).map((event) => [
        event.position,
        event,
      ]),
    );
    const unknown: number[] = [];
    for (const message of messages) {
      this.records += 1;
      const position = positionIn(message);
      const where = `${topic} partition ${partition} offset ${message.offset}`;
      if (!isOfRelay(message)) {
        this.report(`${where} is not a record of the relay`);
        continue;
      }
      this.seen.add(position);
      if (position <= (this.last.get(key)?.position ?? 0))
        this.report(`the event at position ${position} is on ${where} again, or after a later one`);
      this.last.set(key, { offset: Number(message.offset), position });
      this.begins.set(key, Math.min(position, this.begins.get(key) ?? position));
      const event = events.get(position);
      if (!event) unknown.push(position);
      else {
        const difference = this.differenceOf(message, event, topic, partition);
        if (difference) this.report(`the event at position ${position} differs from ${where} in ${difference}`);
      }
    }
    if (unknown.length > 0) await this.explain(unknown, `${topic} partition ${partition}`);
  }

  /** Every published event of the log must be on its topic, unless Kafka has deleted the beginning of the partition. */
  async findMissing(truncated: ReadonlySet<string>): Promise<void> {
    const client = await this.postgres.connect('verify');
    try {
      await copyStreamsByPosition(client, this.relayed.position, (position, category, stream) => {
        const partitions = this.cluster.partitions.get(category);
        if (partitions === undefined || this.seen.has(position)) return;
        const topic = topicOf(this.prefix, category);
        const key = `${topic} ${shardOf(stream, partitions)}`;
        if (truncated.has(key) && position < (this.begins.get(key) ?? Number.POSITIVE_INFINITY)) return;
        this.report(`the event at position ${position} is not on ${topic} although it was published`);
      });
    } finally {
      await client.end();
    }
  }

  /** Names of the attributes that differ, without their values. */
  private differenceOf(message: KafkaMessage, event: PublicEvent, topic: string, partition: number): string {
    const expected = toMessage(event, '', partition);
    const names: string[] = [];
    if (String(message.key) !== expected.key) names.push('key');
    if (publishedDataIn(message, event.type) !== expected.value) names.push('data');
    for (const [name, value] of Object.entries(expected.headers ?? {}))
      if (name !== SOURCE && isHeaderOf(message, name) && String(message.headers?.[name]) !== value) names.push(name);
    const partitions = this.cluster.partitions.get(event.category) ?? 0;
    const isInPlace = topicOf(this.prefix, event.category) === topic && shardOf(event.stream, partitions) === partition;
    if (!isInPlace) names.push('topic or partition');
    return names.join(', ');
  }

  /** Retention removes events from the log, and a restored backup or a failover loses the newest ones. */
  private async explain(positions: readonly number[], where: string): Promise<void> {
    const { pool } = this.postgres;
    const ids = await readIdsAt(pool, positions);
    const missing = positions.filter((position) => ids.get(position) !== 'dropped');
    if (missing.length === 0) return;
    const isAtEnd = await areAtEndOfLineage(pool, missing);
    for (const [index, position] of missing.entries()) {
      if (isAtEnd[index] && position < this.relayed.lostBelow) this.lost += 1;
      else this.report(`the log has no event at position ${position}, which is on ${where}`);
    }
  }
}
