import { randomUUID } from 'node:crypto';
import type { Admin, Consumer, Kafka } from 'kafkajs';
import { withTimeout } from './client.js';

/** Clean-up is awaited because the caller may disconnect or exit afterwards. Kafka deletes empty groups after a week. */
const CLEAN_UP_TIMEOUT_MS = 3_000;

/** Reads topics from their beginning. kafkajs can only read as a member of a group, so a temporary group is used and deleted. */
export async function withTemporaryConsumer(
  kafka: Kafka,
  admin: Admin,
  groupPrefix: string,
  topics: readonly string[],
  read: (consumer: Consumer) => Promise<void>,
): Promise<void> {
  const groupId = `${groupPrefix}${randomUUID()}`;
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100, retry: { retries: 0 } });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    await read(consumer);
  } finally {
    // In this order: a group with members cannot be deleted.
    const cleanUp = consumer.disconnect().then(() => admin.deleteGroups([groupId]));
    await withTimeout(CLEAN_UP_TIMEOUT_MS, 'Deleting the group', cleanUp).catch(() => {});
  }
}
