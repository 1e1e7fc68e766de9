import type { Admin } from 'kafkajs';
import { readIdsAt } from '../log/event-reader.js';
import type { Postgres } from '../postgres/postgres.js';
import { Checkpoints } from './checkpoint.js';
import { type KafkaSettings, makeClient, within } from './client.js';
import { readEnds } from './topic-ends.js';
import { ensureTopics, topicOf } from './topics.js';
import { withAdmin } from './with-admin.js';

const ASKED_WITHIN_MS = 20_000;

export interface TopicsCompared {
  readonly partitions: number;
  /** Up to which everything has been published. */
  readonly position: number;
  /** What is not as the relay's own books say. */
  readonly wrong: readonly string[];
}

/**
 * Whether every partition holds what the relay says that it was given: it ends there or later, and with an event that the
 * log has at that position. Undefined while nothing has been published.
 */
export async function compareTopics(settings: KafkaSettings, postgres: Postgres): Promise<TopicsCompared | undefined> {
  const { kafkaTopicPrefix: prefix } = settings;
  const checkpoints = new Checkpoints(postgres.pool, prefix);
  if ((await checkpoints.position()) === 0) return undefined;
  const kafka = makeClient(settings);
  const compare = async (admin: Admin): Promise<TopicsCompared> => {
    const cluster = await within(ASKED_WITHIN_MS, 'Asking for topics', ensureTopics(admin, postgres.pool, settings));
    const { position, published } = await checkpoints.load(cluster.id);
    const ends = await readEnds(kafka, admin, prefix, cluster);
    const ids = await readIdsAt(
      postgres.pool,
      ends.flatMap(({ last }) => (last ? [last.position] : [])),
    );
    const wrong = ends.flatMap(({ category, partition, last }) => {
      const given = published[category]?.[partition] ?? 0;
      const where = `${topicOf(prefix, category)} partition ${partition}`;
      if ((last?.position ?? 0) < given) return [`${where} ends at ${last?.position ?? 'nothing'}, not at ${given}`];
      const id = last && ids.get(last.position);
      if (last && id !== 'dropped' && id !== last.id) return [`${where} ends with an event that the log does not have`];
      return [];
    });
    return { partitions: ends.length, position, wrong };
  };
  return withAdmin(kafka, settings, compare, { retry: { retries: 2 } });
}
