import { CompressionTypes, type Kafka, type Producer, type Transaction } from 'kafkajs';
import type { Group } from './batch.js';
import { within } from './client.js';
import { topicOf } from './topics.js';

const OPENED_WITHIN_MS = 20_000;
const SENT_WITHIN_MS = 20_000;
/** How long Kafka itself waits for one that has died inside a transaction and has no successor. */
const TRANSACTION_TIMEOUT_MS = 15_000;

/**
 * The only one that can publish. All instances use the same transactional id, and Kafka lets the newest of them in and
 * nobody else: one that was frozen and wakes up finds its transactions refused, whatever it believes about its lease.
 *
 * After any rejection it is thrown away, without an abort and without a second try: kafkajs would give a sequence number
 * again that the broker may have used, and the broker would then take other messages for those it has.
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
      // Every message names its partition.
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition as number,
    });
    const opened = new FencedProducer(producer, prefix, undefined);
    try {
      await within(OPENED_WITHIN_MS, 'Connecting', producer.connect());
      // Only this call fences: connecting asks for a producer id without the transactional one.
      opened.transaction = await within(OPENED_WITHIN_MS, 'Fencing', producer.transaction());
      return opened;
    } catch (error) {
      opened.drop();
      throw error;
    }
  }

  /** All of it is visible afterwards, in order; or it throws, and only the topics themselves can tell what is there. */
  async publish(groups: readonly Group[]): Promise<void> {
    await within(SENT_WITHIN_MS, 'Publishing', this.inTransaction(groups, 'commit'));
  }

  /** Sends and takes back. Whatever hung in these partitions from before is ended with it. */
  async sweep(groups: readonly Group[]): Promise<void> {
    await within(SENT_WITHIN_MS, 'Sweeping', this.inTransaction(groups, 'abort'));
  }

  drop(): void {
    // Not waited for: the broker at the other end may be frozen.
    this.producer.disconnect().catch(() => {});
  }

  private async inTransaction(groups: readonly Group[], end: 'commit' | 'abort'): Promise<void> {
    const transaction = this.transaction ?? (await this.producer.transaction());
    this.transaction = undefined;
    // One partition per send: over several, kafkajs has left partitions out and sent others twice when a broker failed.
    const sent = await Promise.allSettled(
      groups.map(({ category, messages }) =>
        transaction.send({
          topic: topicOf(this.prefix, category),
          acks: -1,
          compression: CompressionTypes.GZIP,
          messages,
        }),
      ),
    );
    sent.forEach((outcome, at) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      const [answer, ...others] = outcome.value;
      if (others.length > 0 || answer?.partition !== groups[at]?.partition || answer?.errorCode !== 0) {
        throw new Error('The broker answered for another partition than the one that was sent to');
      }
    });
    await transaction[end]();
  }
}
