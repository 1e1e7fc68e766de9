import type { Kafka, Message } from 'kafkajs';
import { makeClient, withTimeout } from '../kafka/client.js';
import type { KafkaSettings } from '../kafka/kafka-settings.js';
import { readTopics } from '../kafka/read-topics.js';
import { CHECKPOINT_TYPE, checkpointTopic, topicConfig } from '../kafka/topics.js';
import { withAdmin } from '../kafka/with-admin.js';
import { UserError } from '../kernel/errors.js';
import { findTokens } from '../kernel/jws.js';
import { derivedUuid } from '../kernel/uuid.js';
import { readCheckpoint } from './checkpoint.js';

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
    const messages = tokens.map((token) => toMessage(token, settings.cell));
    const sent = producer.send({ topic: checkpointTopic(settings.kafkaTopicPrefix), acks: -1, messages });
    await withTimeout(SEND_TIMEOUT_MS, 'Publishing', sent);
  } finally {
    // Not awaited: the broker may be frozen.
    producer.disconnect().catch(() => {});
  }
}

/** A CloudEvent in binary mode, like the events on the other topics. The value stays the signed text. */
export function toMessage(token: string, cell: string): Message {
  const checkpoint = readCheckpoint(token);
  if (!checkpoint) throw new Error('Not a checkpoint');
  const headers = {
    'content-type': 'application/jose',
    ce_specversion: '1.0',
    // The same for the same bytes, however often they are published.
    ce_id: derivedUuid(`checkpoint ${token}`),
    ce_type: CHECKPOINT_TYPE,
    ce_source: `/clean-conversions/${cell}`,
    ce_time: checkpoint.time,
    ce_sequence: String(checkpoint.position),
  };
  return { key: cell, value: token, headers };
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
