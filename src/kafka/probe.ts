import type { Pool } from 'pg';
import { countAfter } from '../log/event-reader.js';
import { isFollowed } from '../log/lineage.js';
import { readTimeAfter } from '../log/stored-time.js';
import type { Postgres } from '../postgres/postgres.js';
import { makeClient, withTimeout } from './client.js';
import type { KafkaSettings } from './kafka-settings.js';
import { refuseForeignTopics } from './own-topics.js';
import { RelayProgressStore } from './relay-progress.js';
import { findTopics, RelayRefusedError } from './topics.js';
import { withAdmin } from './with-admin.js';

const ANSWER_TIMEOUT_MS = 10_000;
const LAG_COUNTED_TO = 1_000_000;
/** A relay that publishes is behind by less than a second, and takes over from another one within seconds. */
const LATE_AFTER_MS = 30_000;

/** Contacts the brokers independently of the relay. Throws if they cannot be reached. */
export async function probeKafka(settings: KafkaSettings, pool: Pool): Promise<{ brokers: number; behind: number }> {
  const described = withAdmin(makeClient(settings), settings, (admin) => admin.describeCluster(), {
    retry: { retries: 2 },
  });
  const { brokers } = await withTimeout(ANSWER_TIMEOUT_MS, 'Describing the cluster', described);
  const position = await new RelayProgressStore(pool, settings.kafkaTopicPrefix).position();
  return { brokers: brokers.length, behind: await countAfter(pool, position, LAG_COUNTED_TO) };
}

/** Why the relay refuses to publish to its topics, whether it runs or not. Undefined if it does not, or publishes. */
export async function findRefusal(settings: KafkaSettings, postgres: Postgres): Promise<string | undefined> {
  if (!(await isLate(settings, postgres))) return undefined;
  // After a failover the service has to advance the log first: only then can lost events be told from foreign ones.
  if (!(await isFollowed(postgres.pool))) return undefined;
  const kafka = makeClient(settings);
  try {
    await withAdmin(kafka, settings, async (admin) => {
      const cluster = await findTopics(admin, postgres.pool, settings);
      if (cluster) await refuseForeignTopics(kafka, admin, postgres, settings.kafkaTopicPrefix, cluster);
    });
    return undefined;
  } catch (error) {
    if (error instanceof RelayRefusedError) return error.message;
    throw error;
  }
}

/** Reading the topics takes seconds, because it needs a consumer group: not worth it while events are published. */
async function isLate(settings: KafkaSettings, { pool, clock }: Postgres): Promise<boolean> {
  const position = await new RelayProgressStore(pool, settings.kafkaTopicPrefix).position();
  const next = await readTimeAfter(pool, position);
  return next !== undefined && (position === 0 || clock.nowMs() - next.getTime() > LATE_AFTER_MS);
}
