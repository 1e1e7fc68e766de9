import type { Pool } from 'pg';
import { countAfter } from '../log/event-reader.js';
import { type KafkaSettings, makeClient, withTimeout } from './client.js';
import { RelayCheckpoints } from './relay-checkpoint.js';
import { withAdmin } from './with-admin.js';

const ANSWER_TIMEOUT_MS = 10_000;
const LAG_COUNTED_TO = 1_000_000;

/** Contacts the brokers independently of the relay. Throws if they cannot be reached. */
export async function probeKafka(settings: KafkaSettings, pool: Pool): Promise<{ brokers: number; behind: number }> {
  const described = withAdmin(makeClient(settings), settings, (admin) => admin.describeCluster(), {
    retry: { retries: 2 },
  });
  const { brokers } = await withTimeout(ANSWER_TIMEOUT_MS, 'Describing the cluster', described);
  const position = await new RelayCheckpoints(pool, settings.kafkaTopicPrefix).position();
  return { brokers: brokers.length, behind: await countAfter(pool, position, LAG_COUNTED_TO) };
}
