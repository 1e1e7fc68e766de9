import type { Admin, ITopicConfig } from 'kafkajs';
import type { Pool } from 'pg';
import { UserError } from '../kernel/errors.js';
import type { KafkaSettings } from './kafka-settings.js';

/** One topic per category, keyed by stream. A category that is not listed is not published. */
export const TOPIC_OF_CATEGORY: Readonly<Record<string, string>> = {
  conversion: 'conversions',
  visitor: 'visitors',
  site: 'sites',
  auth: 'auth',
  inbound: 'inbound',
  outbound: 'outbound',
  user: 'users',
  log: 'log',
};

export const PUBLISHED_CATEGORIES = Object.keys(TOPIC_OF_CATEGORY);

/** Publishing would misplace or skip events. Only an operator can fix the cause. */
export class RelayRefusedError extends UserError {}

export interface Cluster {
  readonly id: string;
  /** Partition count of each category's topic. */
  readonly partitions: ReadonlyMap<string, number>;
}

export function topicOf(prefix: string, category: string): string {
  return `${prefix}${TOPIC_OF_CATEGORY[category]}`;
}

/** The type of a signed checkpoint as a CloudEvent. It is no event of the log. */
export const CHECKPOINT_TYPE = 'log.checkpoint.v1';

/** The topic of signed checkpoints. The relay does not write to it. */
export function checkpointTopic(prefix: string): string {
  return `${prefix}checkpoints`;
}

/** Creates missing topics. Throws if the partition count of an existing topic has changed. */
export async function ensureTopics(admin: Admin, pool: Pool, settings: KafkaSettings): Promise<Cluster> {
  const { clusterId, brokers } = await admin.describeCluster();
  const names = PUBLISHED_CATEGORIES.map((category) => topicOf(settings.kafkaTopicPrefix, category));
  const existing = new Set(await admin.listTopics());
  const missing = names.filter((name) => !existing.has(name));
  if (missing.length > 0) {
    const topics = missing.map((topic) => topicConfig(topic, brokers.length, settings));
    // Another instance may create them at the same time, so the metadata is read afterwards.
    await admin.createTopics({ topics, waitForLeaders: true, timeout: 10_000 });
  }
  return describeTopics(admin, pool, settings, clusterId);
}

/** Undefined if one of the topics does not exist. Throws as `ensureTopics` does, and creates nothing. */
export async function findTopics(admin: Admin, pool: Pool, settings: KafkaSettings): Promise<Cluster | undefined> {
  const { clusterId } = await admin.describeCluster();
  const existing = new Set(await admin.listTopics());
  const names = PUBLISHED_CATEGORIES.map((category) => topicOf(settings.kafkaTopicPrefix, category));
  return names.every((name) => existing.has(name)) ? describeTopics(admin, pool, settings, clusterId) : undefined;
}

async function describeTopics(admin: Admin, pool: Pool, settings: KafkaSettings, clusterId: string): Promise<Cluster> {
  const names = PUBLISHED_CATEGORIES.map((category) => topicOf(settings.kafkaTopicPrefix, category));
  const { topics } = await admin.fetchTopicMetadata({ topics: names });
  const counts = new Map(topics.map(({ name, partitions }) => [name, partitions.length]));
  await refuseChangedCounts(pool, clusterId, counts);
  return {
    id: clusterId,
    partitions: new Map(
      PUBLISHED_CATEGORIES.map((category) => [
        category,
        counts.get(topicOf(settings.kafkaTopicPrefix, category)) as number,
      ]),
    ),
  };
}

export function topicConfig(topic: string, brokers: number, settings: KafkaSettings): ITopicConfig {
  const replicationFactor = Math.min(3, brokers);
  const config = {
    'retention.ms': String(settings.kafkaRetentionMs),
    'min.insync.replicas': replicationFactor === 3 ? '2' : '1',
    // Retention starts at publishing. A new cluster receives the whole history and must not delete it as expired.
    'message.timestamp.type': 'LogAppendTime',
  };
  return {
    topic,
    numPartitions: settings.kafkaPartitions,
    replicationFactor,
    configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
  };
}

async function refuseChangedCounts(pool: Pool, clusterId: string, counts: Map<string, number>): Promise<void> {
  await pool.query(
    `INSERT INTO cc.kafka_topics (cluster, topic, partitions) SELECT $1, * FROM unnest($2::text[], $3::integer[])
     ON CONFLICT DO NOTHING`,
    [clusterId, [...counts.keys()], [...counts.values()]],
  );
  const { rows } = await pool.query<{ topic: string; partitions: number }>(
    'SELECT topic, partitions FROM cc.kafka_topics WHERE cluster = $1 AND topic = ANY ($2)',
    [clusterId, [...counts.keys()]],
  );
  for (const { topic, partitions } of rows) {
    const count = counts.get(topic);
    if (count === partitions) continue;
    throw new RelayRefusedError(
      `Topic ${topic} has ${count} partitions but was created with ${partitions}: the events of one stream would be spread ` +
        'over two partitions, out of order. Set KAFKA_TOPIC_PREFIX to a new prefix; its topics receive the whole history.',
    );
  }
}
