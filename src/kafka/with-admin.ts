import type { Admin, Kafka } from 'kafkajs';
import { withTimeout } from './client.js';
import { describeKafkaError } from './describe-kafka-error.js';
import type { KafkaSettings } from './kafka-settings.js';

const CONNECT_TIMEOUT_MS = 20_000;

/** Runs `work` with a connected admin client and disconnects it. Errors name the settings to check. */
export async function withAdmin<Result>(
  kafka: Kafka,
  settings: KafkaSettings,
  work: (admin: Admin) => Promise<Result>,
  options: Parameters<Kafka['admin']>[0] = {},
): Promise<Result> {
  const admin = kafka.admin(options);
  try {
    await withTimeout(CONNECT_TIMEOUT_MS, 'Connecting', admin.connect());
    return await work(admin);
  } catch (error) {
    throw describeKafkaError(error, settings);
  } finally {
    // Not awaited: the broker may be frozen.
    admin.disconnect().catch(() => {});
  }
}
