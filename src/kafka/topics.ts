import type { Admin, ITopicConfig } from 'kafkajs';
import type { Pool } from 'pg';
import { UserError } from '../kernel/errors.js';
import type { KafkaSettings } from './client.js';

/** Every category has a topic of its own; its streams are the keys. A category that is not named here stays inside. */
export const TOPIC_OF_CATEGORY: Readonly<Record<string, string>> = {
  conversion: 'conversions',
  visitor: 'visitors',
  site: 'sites',
  auth: 'auth',
  outbound: 'outbound',
};

export const PUBLISHED_CATEGORIES = Object.keys(TOPIC_OF_CATEGORY);

/** Something only an operator can mend: going on would put events in wrong places, or leave some out. */
export class RelayRefusal extends UserError {}

export interface Cluster {
  readonly id: string;
  /** Partitions of each category's topic. */
  readonly partitions: ReadonlyMap<string, number>;
}

export function topicOf(prefix: string, category: string): string {
  return `${prefix}${TOPIC_OF_CATEGORY[category]}`;
}

/** Makes the topics that are missing, and refuses to go on where a topic's partition count is not what it was. */
export async function ensureTopics(admin: Admin, pool: Pool, settings: KafkaSettings): Promise<Cluster> {
  const { clusterId, brokers } = await admin.describeCluster();
  const names = PUBLISHED_CATEGORIES.map((category) => topicOf(settings.kafkaTopicPrefix, category));
  const existing = new Set(await admin.listTopics());
  const missing = names.filter((name) => !existing.has(name));
  if (missing.length > 0) {
    const topics = missing.map((topic) => topicConfig(topic, brokers.length, settings));
    // Another instance may be making them too: what counts is what is there afterwards.
    await admin.createTopics({ topics, waitForLeaders: true, timeout: 10_000 });
  }
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
    // Retention counts from the publishing: a new cluster gets the whole history and keeps it as long as any other event.
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
    const now = counts.get(topic);
    if (now === partitions) continue;
    throw new RelayRefusal(
      `Topic ${topic} has ${now} partitions and was made with ${partitions}: with another count a stream's events would ` +
        'be in two partitions, out of order. Set KAFKA_TOPIC_PREFIX to a new one; its topics get the whole history.',
    );
  }
}
