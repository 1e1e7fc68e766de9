import type { Kafka } from 'kafkajs';
import { makeClient, withTimeout } from '../kafka/client.js';
import type { KafkaSettings } from '../kafka/kafka-settings.js';
import { readTopics } from '../kafka/read-topics.js';
import { checkpointTopic, topicConfig } from '../kafka/topics.js';
import { withAdmin } from '../kafka/with-admin.js';
import { UserError } from '../kernel/errors.js';
import { findTokens } from '../kernel/jws.js';

const OPEN_TIMEOUT_MS = 20_000;
const SEND_TIMEOUT_MS = 20_000;

/**
 * Publishes checkpoints to their topic, with the cell as the key. At least once: after a failure the same checkpoints are
 * published again, and a reader can tell by their bytes that they are the same.
 */
export async function publishCheckpoints(settings: KafkaSettings, tokens: readonly string[]): Promise<void> {
  const kafka = makeClient(settings);
  await withTimeout(OPEN_TIMEOUT_MS, 'Creating the topic', ensureTopic(kafka, settings));
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1, allowAutoTopicCreation: false });
  try {
    await withTimeout(OPEN_TIMEOUT_MS, 'Connecting', producer.connect());
    const messages = tokens.map((value) => ({
      key: settings.cell,
      value,
      headers: { 'content-type': 'application/jose' },
    }));
    const sent = producer.send({ topic: checkpointTopic(settings.kafkaTopicPrefix), acks: -1, messages });
    await withTimeout(SEND_TIMEOUT_MS, 'Publishing', sent);
  } finally {
    // Not awaited: the broker may be frozen.
    producer.disconnect().catch(() => {});
  }
}

/** Every checkpoint on a topic, in the order of its records. */
export async function readCheckpointTopic(settings: KafkaSettings, topic: string): Promise<string[]> {
  const kafka = makeClient(settings);
  return withAdmin(kafka, settings, async (admin) => {
    if (!(await admin.listTopics()).includes(topic))
      throw new UserError(
        `There is no file and no topic ${topic}. Give a file with checkpoints, or the name of a topic.`,
      );
    const tokens: string[] = [];
    await readTopics(kafka, admin, [topic], `${settings.kafkaTopicPrefix}verify-`, async ({ messages }) => {
      for (const { value } of messages) tokens.push(...findTokens(String(value)));
    });
    return tokens;
  });
}

async function ensureTopic(kafka: Kafka, settings: KafkaSettings): Promise<void> {
  await withAdmin(kafka, settings, async (admin) => {
    const topic = checkpointTopic(settings.kafkaTopicPrefix);
    if ((await admin.listTopics()).includes(topic)) return;
    const { brokers } = await admin.describeCluster();
    const config = topicConfig(topic, brokers.length, settings);
    // Kept forever: a checkpoint is evidence for as long as the log is kept, and has a few hundred bytes.
    const configEntries = config.configEntries?.map((entry) =>
      entry.name === 'retention.ms' ? { ...entry, value: '-1' } : entry,
    );
    await admin.createTopics({
      topics: [{ ...config, numPartitions: 1, ...(configEntries && { configEntries }) }],
      waitForLeaders: true,
    });
  });
}
