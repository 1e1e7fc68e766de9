import { CompressionTypes, type Kafka, type Producer } from 'kafkajs';
import { UserError } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';
import type { StoredEvent } from '../log/event.js';
import { shardOf } from '../log/projections/shard.js';
import { makeClient, withTimeout } from './client.js';
import { toMessage } from './cloud-event.js';
import type { KafkaSettings } from './kafka-settings.js';
import { checkpointTopic, PUBLISHED_CATEGORIES, topicConfig, topicOf } from './topics.js';
import { withAdmin } from './with-admin.js';

const OPEN_TIMEOUT_MS = 20_000;
const SEND_TIMEOUT_MS = 30_000;

/**
 * Publishes selected events to a topic of the caller's choice, in the format of the relay's topics and in the given order.
 * At least once: after a failure the caller publishes again with a new publisher, and readers skip duplicates by position.
 * The relay's own topics are rejected, because a second producer would break their order.
 */
export class TopicPublisher {
  private constructor(
    private readonly producer: Producer,
    private readonly topic: string,
    private readonly partitions: number,
    private readonly cell: string,
  ) {}

  /** Creates the topic with the usual configuration if it does not exist. */
  static async open(settings: KafkaSettings, topic: string, logger?: Logger): Promise<TopicPublisher> {
    const prefix = settings.kafkaTopicPrefix;
    if (PUBLISHED_CATEGORIES.some((category) => topicOf(prefix, category) === topic)) {
      throw new UserError(
        `Topic ${topic} belongs to the service and already contains these events. Choose another topic.`,
      );
    }
    if (topic === checkpointTopic(prefix))
      throw new UserError(`Topic ${topic} belongs to the service: it contains checkpoints. Choose another topic.`);
    const kafka = makeClient(settings, logger);
    const partitions = await withTimeout(OPEN_TIMEOUT_MS, 'Creating the topic', ensureTopic(kafka, settings, topic));
    const producer = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition as number,
    });
    await withTimeout(OPEN_TIMEOUT_MS, 'Connecting', producer.connect());
    return new TopicPublisher(producer, topic, partitions, settings.cell);
  }

  async publish(events: readonly StoredEvent[]): Promise<void> {
    const byPartition = new Map<number, StoredEvent[]>();
    for (const event of events) {
      const partition = shardOf(event.stream, this.partitions);
      const partitionEvents = byPartition.get(partition);
      if (partitionEvents) partitionEvents.push(event);
      else byPartition.set(partition, [event]);
    }
    // One partition per send. All sends settle before an error is thrown, so that none is still in progress afterwards.
    const results = await withTimeout(
      SEND_TIMEOUT_MS,
      'Publishing',
      Promise.allSettled(
        [...byPartition].map(([partition, partitionEvents]) => {
          const messages = partitionEvents.map((event) => toMessage(publicForm(event), this.cell, partition));
          return this.producer.send({ topic: this.topic, acks: -1, compression: CompressionTypes.GZIP, messages });
        }),
      ),
    );
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async close(): Promise<void> {
    await this.producer.disconnect();
  }
}

async function ensureTopic(kafka: Kafka, settings: KafkaSettings, topic: string): Promise<number> {
  return withAdmin(kafka, settings, async (admin) => {
    if (!(await admin.listTopics()).includes(topic)) {
      const { brokers } = await admin.describeCluster();
      await admin.createTopics({ topics: [topicConfig(topic, brokers.length, settings)], waitForLeaders: true });
    }
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.length as number;
  });
}

function publicForm(event: StoredEvent) {
  const category = event.stream.slice(0, event.stream.indexOf('-'));
  return { ...event, category, data: JSON.stringify(event.data) };
}
