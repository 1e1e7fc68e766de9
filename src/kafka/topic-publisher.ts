import { CompressionTypes, type Kafka, type Producer } from 'kafkajs';
import { UserError } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';
import type { StoredEvent } from '../log/event.js';
import { shardOf } from '../log/shard.js';
import { type KafkaSettings, makeClient, within } from './client.js';
import { toMessage } from './cloud-event.js';
import { PUBLISHED_CATEGORIES, topicConfig, topicOf } from './topics.js';
import { withAdmin } from './with-admin.js';

const OPENED_WITHIN_MS = 20_000;
const SENT_WITHIN_MS = 30_000;

/**
 * Publishes events that somebody chose to a topic that somebody named, in the form of all topics and in the order given.
 * At least once: what fails is for the caller to publish again, with a new publisher; a reader drops what it has seen by
 * its position. The relay's own topics are refused, since a second voice there would break their order.
 */
export class TopicPublisher {
  private constructor(
    private readonly producer: Producer,
    private readonly topic: string,
    private readonly partitions: number,
    private readonly cell: string,
  ) {}

  /** Makes the topic, like the others, where there is none. */
  static async open(settings: KafkaSettings, topic: string, logger?: Logger): Promise<TopicPublisher> {
    if (PUBLISHED_CATEGORIES.some((category) => topicOf(settings.kafkaTopicPrefix, category) === topic)) {
      throw new UserError(`Topic ${topic} is the service's own and holds these events already. Name another one.`);
    }
    const kafka = makeClient(settings, logger);
    const partitions = await within(OPENED_WITHIN_MS, 'Making the topic', ensureTopic(kafka, settings, topic));
    const producer = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition as number,
    });
    await within(OPENED_WITHIN_MS, 'Connecting', producer.connect());
    return new TopicPublisher(producer, topic, partitions, settings.cell);
  }

  async publish(events: readonly StoredEvent[]): Promise<void> {
    const groups = new Map<number, StoredEvent[]>();
    for (const event of events) {
      const partition = shardOf(event.stream, this.partitions);
      const group = groups.get(partition);
      if (group) group.push(event);
      else groups.set(partition, [event]);
    }
    // One partition per send, and all of them answered before anybody hears of a failure: none is left under way.
    const sent = await within(
      SENT_WITHIN_MS,
      'Publishing',
      Promise.allSettled(
        [...groups].map(([partition, group]) => {
          const messages = group.map((event) => toMessage(publicForm(event), this.cell, partition));
          return this.producer.send({ topic: this.topic, acks: -1, compression: CompressionTypes.GZIP, messages });
        }),
      ),
    );
    for (const outcome of sent) if (outcome.status === 'rejected') throw outcome.reason;
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
