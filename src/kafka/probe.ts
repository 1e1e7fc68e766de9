import type { Pool } from 'pg';
import { countAfter } from '../log/event-reader.js';
import { Checkpoints } from './checkpoint.js';
import { type KafkaSettings, makeClient, within } from './client.js';
import { withAdmin } from './with-admin.js';

const ANSWERED_WITHIN_MS = 10_000;
const LAG_COUNTED_TO = 1_000_000;

/** A look at the brokers from outside the relay. Throws when they cannot be reached. */
export async function probeKafka(settings: KafkaSettings, pool: Pool): Promise<{ brokers: number; behind: number }> {
  const asked = withAdmin(makeClient(settings), settings, (admin) => admin.describeCluster(), {
    retry: { retries: 2 },
  });
  const { brokers } = await within(ANSWERED_WITHIN_MS, 'Asking the brokers', asked);
  const position = await new Checkpoints(pool, settings.kafkaTopicPrefix).position();
  return { brokers: brokers.length, behind: await countAfter(pool, position, LAG_COUNTED_TO) };
}
