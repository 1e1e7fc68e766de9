import type { Admin } from 'kafkajs';
import { readIdsAt } from '../log/event-reader.js';
import type { Postgres } from '../postgres/postgres.js';
import { makeClient, withTimeout } from './client.js';
import type { KafkaSettings } from './kafka-settings.js';
import { readPartitionEnds } from './partition-ends.js';
import { RelayProgressStore } from './relay-progress.js';
import { foundIn, isOfThisLog, publishedTo } from './starting-point.js';
import { ensureTopics, topicOf } from './topics.js';
import { withAdmin } from './with-admin.js';

const TOPICS_TIMEOUT_MS = 20_000;

export interface TopicComparison {
  readonly partitions: number;
  /** Everything up to this position has been published. */
  readonly position: number;
  /** Differences between the topics and the relay's progress. */
  readonly violations: readonly string[];
}

/**
 * Checks that every partition ends at or after its last published position, and that its newest event is in the log at
 * that position. Returns undefined if nothing has been published.
 */
export async function compareTopics(settings: KafkaSettings, postgres: Postgres): Promise<TopicComparison | undefined> {
  const { kafkaTopicPrefix: prefix } = settings;
  const progress = new RelayProgressStore(postgres.pool, prefix);
  if ((await progress.position()) === 0) return undefined;
  const kafka = makeClient(settings);
  const compare = async (admin: Admin): Promise<TopicComparison> => {
    const ensured = ensureTopics(admin, postgres.pool, settings);
    const cluster = await withTimeout(TOPICS_TIMEOUT_MS, 'Reading the topics', ensured);
    const relayed = await progress.load(cluster.id);
    const ends = await readPartitionEnds(kafka, admin, prefix, cluster);
    const inLog = await readIdsAt(
      postgres.pool,
      ends.flatMap(({ last }) => (last ? [last.position] : [])),
    );
    const violations = ends.flatMap((end) => {
      const { category, partition, last } = end;
      const expected = publishedTo(relayed, end);
      const where = `${topicOf(prefix, category)} partition ${partition}`;
      if (foundIn(end, expected) < expected)
        return [`${where} ends at ${last?.position ?? 'nothing'}, not at ${expected}`];
      if (last && !isOfThisLog(last, inLog, relayed)) return [`${where} ends with an event that the log does not have`];
      return [];
    });
    return { partitions: ends.length, position: relayed.position, violations };
  };
  return withAdmin(kafka, settings, compare, { retry: { retries: 2 } });
}
