import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type EachBatchPayload, Kafka, type KafkaConfig, type KafkaMessage, logLevel } from 'kafkajs';
import { type BrokerCluster, type ClusterOptions, startBrokers } from '../../src/kafka-broker/broker.js';

export interface TestBrokers extends BrokerCluster {
  readonly kafka: Kafka;
  remove(): Promise<void>;
}

/** Real brokers with their data in a folder of their own, and a client that may read everything. */
export async function startTestBrokers(
  nodes = 1,
  options: Pick<ClusterOptions, 'properties' | 'formatArgs'> = {},
  client: Pick<KafkaConfig, 'ssl' | 'sasl'> = {},
): Promise<TestBrokers> {
  const dataDir = mkdtempSync(join(tmpdir(), 'cc-kafka-'));
  // As one in 64 is by chance: it looks like an option.
  writeFileSync(join(dataDir, 'cluster-id'), `-${randomBytes(16).toString('base64url').slice(1)}`);
  const cluster = await startBrokers({ dataDir, nodes, ...options });
  const kafka = new Kafka({
    brokers: cluster.brokers.split(','),
    logLevel: logLevel.NOTHING,
    retry: { retries: 20 },
    ...client,
  });
  return {
    ...cluster,
    kafka,
    remove: async () => {
      await cluster.stop();
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A record as a reader that knows only the documented contract sees it. */
export interface ReadRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly value: string;
  readonly headers: Record<string, string>;
  readonly position: number;
}

/** Reads everything there is in these topics, to the end as it is when asked. */
export async function readTopics(
  kafka: Kafka,
  topics: readonly string[],
  isolation: 'committed' | 'uncommitted' = 'committed',
): Promise<ReadRecord[]> {
  const admin = kafka.admin();
  await admin.connect();
  const left = new Map<string, number>();
  for (const topic of topics) {
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
      if (Number(high) > Number(low)) left.set(`${topic} ${partition}`, Number(high));
    }
  }
  await admin.disconnect();
  const records: ReadRecord[] = [];
  if (left.size === 0) return records;
  const consumer = kafka.consumer({
    groupId: `reader-${Math.random()}`,
    readUncommitted: isolation === 'uncommitted',
    maxWaitTimeInMs: 50,
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [...topics], fromBeginning: true });
  consumer.on('consumer.end_batch_process', ({ payload }) => {
    const key = `${payload.topic} ${payload.partition}`;
    if (Number(payload.lastOffset) >= (left.get(key) ?? 0) - 1) left.delete(key);
  });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }: EachBatchPayload) => {
      for (const message of batch.messages) records.push(toRecord(batch.topic, batch.partition, message));
    },
  });
  await until(() => left.size === 0);
  await consumer.disconnect();
  return records;
}

function toRecord(topic: string, partition: number, message: KafkaMessage): ReadRecord {
  const headers = Object.fromEntries(
    Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]),
  );
  return {
    topic,
    partition,
    offset: Number(message.offset),
    key: String(message.key),
    value: String(message.value),
    headers,
    position: Number(headers['cc_position']),
  };
}

/** The rule of every reader: drop what is not above the last position of its partition. */
export function afterTheReadersRule(records: readonly ReadRecord[]): ReadRecord[] {
  const last = new Map<string, number>();
  return records.filter(({ topic, partition, position }) => {
    const key = `${topic} ${partition}`;
    if (position <= (last.get(key) ?? 0)) return false;
    last.set(key, position);
    return true;
  });
}

/** What is wrong with what a reader got, measured against the positions that were due. */
export function judge(records: readonly ReadRecord[], due: readonly number[]) {
  const times = new Map<number, number>();
  const last = new Map<string, number>();
  let stepsBack = 0;
  for (const { topic, partition, position } of records) {
    const key = `${topic} ${partition}`;
    if (position <= (last.get(key) ?? 0)) stepsBack += 1;
    last.set(key, position);
    times.set(position, (times.get(position) ?? 0) + 1);
  }
  const expected = new Set(due);
  return {
    missing: due.filter((position) => !times.has(position)).length,
    repeated: [...times.values()].reduce((sum, count) => sum + count - 1, 0),
    foreign: [...times.keys()].filter((position) => !expected.has(position)).length,
    stepsBack,
  };
}

export const NOTHING_WRONG = { missing: 0, repeated: 0, foreign: 0, stepsBack: 0 };

export async function until(
  holds: () => boolean | Promise<boolean>,
  what: () => string = () => 'it did not come true',
  withinMs = 60_000,
): Promise<void> {
  for (const began = performance.now(); !(await holds()); await sleep(50)) {
    if (performance.now() - began > withinMs) throw new Error(`${what()} within ${withinMs / 1_000} s`);
  }
}
