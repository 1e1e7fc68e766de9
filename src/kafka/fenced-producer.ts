import { CompressionTypes, type Kafka, type Producer, type Transaction } from 'kafkajs';
import type { PartitionBatch } from './batch.js';
import { withTimeout } from './client.js';
import { topicOf } from './topics.js';

const OPEN_TIMEOUT_MS = 20_000;
const SEND_TIMEOUT_MS = 20_000;
/** Kafka aborts the transaction of a producer that crashed and has no successor after this time. */
const TRANSACTION_TIMEOUT_MS = 15_000;

/**
 * The only producer that can publish. All instances use the same transactional id, and Kafka accepts only the newest one:
 * the transactions of an instance that was frozen are rejected, even if it still considers its lease valid.
 *
 * After any rejection the producer is discarded, without an abort and without a retry: kafkajs would reuse a sequence
 * number that the broker may have seen, and the broker would drop the new messages as duplicates.
 */
export class FencedProducer {
  private constructor(
    private readonly producer: Producer,
    private readonly prefix: string,
    private transaction: Transaction | undefined,
  ) {}

  static async open(kafka: Kafka, prefix: string): Promise<FencedProducer> {
    const producer = kafka.producer({
      transactionalId: `${prefix}relay`,
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      transactionTimeout: TRANSACTION_TIMEOUT_MS,
      // Every message has an explicit partition.
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition as number,
    });
    const fenced = new FencedProducer(producer, prefix, undefined);
    try {
      await withTimeout(OPEN_TIMEOUT_MS, 'Connecting', producer.connect());
      // Only this call fences: `connect` requests a producer id without the transactional id.
      fenced.transaction = await withTimeout(OPEN_TIMEOUT_MS, 'Fencing', producer.transaction());
      return fenced;
    } catch (error) {
      fenced.disconnect();
      throw error;
    }
  }

  /** On success all messages are visible, in order. After an error only the topics show which messages were stored. */
  async publish(batches: readonly PartitionBatch[]): Promise<void> {
    await withTimeout(SEND_TIMEOUT_MS, 'Publishing', this.inTransaction(batches, 'commit'));
  }

  /** Sends the messages and aborts. Kafka then also ends hanging transactions in these partitions. */
  async abortHanging(batches: readonly PartitionBatch[]): Promise<void> {
    await withTimeout(SEND_TIMEOUT_MS, 'Aborting a hanging transaction', this.inTransaction(batches, 'abort'));
  }

  disconnect(): void {
    // Not awaited: the broker may be frozen.
    this.producer.disconnect().catch(() => {});
  }

  private async inTransaction(batches: readonly PartitionBatch[], end: 'commit' | 'abort'): Promise<void> {
    const transaction = this.transaction ?? (await this.producer.transaction());
    this.transaction = undefined;
    // One partition per send: with several, kafkajs lost some partitions and sent others twice when a broker failed.
    const results = await Promise.allSettled(
      batches.map(({ category, messages }) =>
        transaction.send({
          topic: topicOf(this.prefix, category),
          acks: -1,
          compression: CompressionTypes.GZIP,
          messages,
        }),
      ),
    );
    results.forEach((result, at) => {
      if (result.status === 'rejected') throw result.reason;
      const [answer, ...others] = result.value;
      if (others.length > 0 || answer?.partition !== batches[at]?.partition || answer?.errorCode !== 0) {
        throw new Error('The broker answered for another partition than the request was sent to');
      }
    });
    await transaction[end]();
  }
}
