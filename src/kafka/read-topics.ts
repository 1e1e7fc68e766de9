import { randomUUID } from 'node:crypto';
import type { Admin, Kafka, KafkaMessage } from 'kafkajs';
import { withTimeout } from './client.js';

/** Without any record for this long, the brokers are considered unreachable. */
const IDLE_TIMEOUT_MS = 60_000;
/** Clean-up is awaited because the caller may disconnect or exit afterwards. Kafka deletes empty groups after a week. */
const CLEAN_UP_TIMEOUT_MS = 3_000;

export interface TopicRecords {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly KafkaMessage[];
}

export interface ReadPartition {
  readonly topic: string;
  readonly partition: number;
  /** Records were deleted from the beginning of the partition, by retention or by hand. */
  readonly isTruncated: boolean;
}

/** Reads every committed record of the topics, from the beginning to the end at the time of the call, one batch at a time. */
export async function readTopics(
  kafka: Kafka,
  admin: Admin,
  topics: readonly string[],
  groupPrefix: string,
  each: (records: TopicRecords) => Promise<void>,
): Promise<ReadPartition[]> {
  const partitions: ReadPartition[] = [];
  /** The last stable offset of each partition that is not read yet. */
  const ends = new Map<string, number>();
  for (const topic of topics) {
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
      partitions.push({ topic, partition, isTruncated: Number(low) > 0 });
      if (Number(high) > Number(low)) ends.set(`${topic} ${partition}`, Number(high));
    }
  }
  if (ends.size === 0) return partitions;
  const groupId = `${groupPrefix}${randomUUID()}`;
  // kafkajs can only read as a member of a group, so a temporary group is used and deleted.
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100, retry: { retries: 0 } });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      const idle = setTimeout(() => reject(new Error('Reading the topics timed out')), IDLE_TIMEOUT_MS);
      const finish = (error?: Error) => {
        clearTimeout(idle);
        if (error) reject(error);
        else resolve();
      };
      consumer.on('consumer.crash', ({ payload }) => finish(payload.error));
      // This event also covers offset ranges without visible records, for which `eachBatch` is not called.
      consumer.on('consumer.end_batch_process', ({ payload }) => {
        idle.refresh();
        const key = `${payload.topic} ${payload.partition}`;
        if (Number(payload.lastOffset) >= (ends.get(key) ?? 0) - 1) ends.delete(key);
        if (ends.size === 0) finish();
      });
      const eachBatch = async ({ batch }: { batch: TopicRecords & { isEmpty(): boolean } }) => {
        const end = ends.get(`${batch.topic} ${batch.partition}`) ?? 0;
        const messages = batch.messages.filter(({ offset }) => Number(offset) < end);
        if (messages.length > 0) await each({ topic: batch.topic, partition: batch.partition, messages });
      };
      consumer.run({ autoCommit: false, eachBatch }).catch(finish);
    });
    return partitions;
  } finally {
    // In this order: a group with members cannot be deleted.
    const cleanUp = consumer.disconnect().then(() => admin.deleteGroups([groupId]));
    await withTimeout(CLEAN_UP_TIMEOUT_MS, 'Deleting the group', cleanUp).catch(() => {});
  }
}
