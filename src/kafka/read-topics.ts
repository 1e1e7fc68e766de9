import type { Admin, Consumer, Kafka, KafkaMessage } from 'kafkajs';
import { withTemporaryConsumer } from './temporary-consumer.js';

/** Without any record for this long, the brokers are considered unreachable. */
const IDLE_TIMEOUT_MS = 60_000;

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
  const readToEnds = (consumer: Consumer) =>
    new Promise<void>((resolve, reject) => {
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
  await withTemporaryConsumer(kafka, admin, groupPrefix, topics, readToEnds);
  return partitions;
}
