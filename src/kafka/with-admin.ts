import type { Admin, Kafka } from 'kafkajs';
import { type KafkaSettings, within } from './client.js';
import { explained } from './explained.js';

const CONNECTED_WITHIN_MS = 20_000;

/** Does something over an administrator's connection, and lets go of it. What fails is said in words that lead on. */
export async function withAdmin<Result>(
  kafka: Kafka,
  settings: KafkaSettings,
  work: (admin: Admin) => Promise<Result>,
  options: Parameters<Kafka['admin']>[0] = {},
): Promise<Result> {
  const admin = kafka.admin(options);
  try {
    await within(CONNECTED_WITHIN_MS, 'Connecting', admin.connect());
    return await work(admin);
  } catch (error) {
    throw explained(error, settings);
  } finally {
    // Not waited for: the broker at the other end may be frozen.
    admin.disconnect().catch(() => {});
  }
}
