import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Admin, type EachBatchPayload, Kafka, type KafkaConfig, type KafkaMessage, logLevel } from 'kafkajs';
// Also fixes the request queue of the kafkajs that the client below uses.
import '../../src/kafka/client.js';
import { type BrokerCluster, type ClusterOptions, startBrokers } from '../../src/kafka-broker/broker.js';
import { temporaryFolder } from './folders.js';

export interface TestBrokers extends BrokerCluster {
  readonly kafka: Kafka;
  remove(): Promise<void>;
}

/** Starts brokers with a temporary data folder, and a client that may read everything. */
export async function startTestBrokers(
  nodes = 1,
  options: Pick<ClusterOptions, 'properties' | 'formatArgs'> = {},
  client: Pick<KafkaConfig, 'ssl' | 'sasl'> = {},
): Promise<TestBrokers> {
  const dataDir = temporaryFolder('cc-kafka-');
  // One random id in 64 begins with a dash, which Kafka's tool could parse as an option.
  writeFileSync(join(dataDir, 'cluster-id'), `-${randomBytes(16).toString('base64url').slice(1)}`);
  const cluster = await startBrokers({ dataDir, nodes, ...options });
  return {
    ...cluster,
    kafka: clientOf(cluster.brokers, client),
    remove: async () => {
      await cluster.stop();
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The broker of a run, and a client that may read everything. */
export type SharedBroker = Pick<TestBrokers, 'brokers' | 'kafka'>;

/**
 * The first spec of a run that needs a broker starts it; it stops with the run. Topics of a spec have a prefix of its own. A spec
 * that kills, freezes or configures a broker starts its own.
 */
export async function sharedBroker(): Promise<SharedBroker> {
  const dataDir = join(tmpdir(), 'shared-kafka');
  const address = join(dataDir, 'address');
  if (isFirst(dataDir)) writeFileSync(address, (await startBrokers({ dataDir })).brokers);
  await waitUntil(
    () => existsSync(address) && readFileSync(address, 'utf8') !== '',
    () => 'no broker',
    300_000,
  );
  const brokers = readFileSync(address, 'utf8');
  return { brokers, kafka: clientOf(brokers) };
}

function clientOf(brokers: string, options: Pick<KafkaConfig, 'ssl' | 'sasl'> = {}): Kafka {
  return new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING, retry: { retries: 20 }, ...options });
}

/** Whether this process has created the folder. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

export async function withAdmin<Result>(kafka: Kafka, work: (admin: Admin) => Promise<Result>): Promise<Result> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Deletes all records of a topic, as Kafka does when they are old. */
export function deleteRecords(kafka: Kafka, topic: string): Promise<void> {
  return withAdmin(kafka, async (admin) => {
    const ends = await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({
      topic,
      partitions: ends.map(({ partition, high }) => ({ partition, offset: high })),
    });
  });
}

/** A record as seen by a reader that relies on the documented contract only. */
export interface ReadRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly value: string;
  readonly headers: Record<string, string>;
  readonly position: number;
}

/** Reads the topics from the beginning to their end at the time of the call. */
export async function readTopics(
  kafka: Kafka,
  topics: readonly string[],
  isolation: 'committed' | 'uncommitted' = 'committed',
): Promise<ReadRecord[]> {
  const remaining = new Map<string, number>();
  await withAdmin(kafka, async (admin) => {
    for (const topic of topics)
      for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
        if (Number(high) > Number(low)) remaining.set(`${topic} ${partition}`, Number(high));
  });
  const records: ReadRecord[] = [];
  if (remaining.size === 0) return records;
  const consumer = kafka.consumer({
    groupId: `reader-${randomUUID()}`,
    readUncommitted: isolation === 'uncommitted',
    maxWaitTimeInMs: 50,
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [...topics], fromBeginning: true });
  consumer.on('consumer.end_batch_process', ({ payload }) => {
    const key = `${payload.topic} ${payload.partition}`;
    if (Number(payload.lastOffset) >= (remaining.get(key) ?? 0) - 1) remaining.delete(key);
  });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }: EachBatchPayload) => {
      for (const message of batch.messages) records.push(toRecord(batch.topic, batch.partition, message));
    },
  });
  await waitUntil(() => remaining.size === 0);
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

/** The reader rule: drop a record whose position is not above the last one of its partition. */
export function applyReaderRule(records: readonly ReadRecord[]): ReadRecord[] {
  const last = new Map<string, number>();
  return records.filter(({ topic, partition, position }) => {
    const key = `${topic} ${partition}`;
    if (position <= (last.get(key) ?? 0)) return false;
    last.set(key, position);
    return true;
  });
}

/** Compares the records that a reader received with the positions that were expected. */
export function countViolations(records: readonly ReadRecord[], expected: readonly number[]) {
  const counts = new Map<number, number>();
  const last = new Map<string, number>();
  let outOfOrder = 0;
  for (const { topic, partition, position } of records) {
    const key = `${topic} ${partition}`;
    if (position <= (last.get(key) ?? 0)) outOfOrder += 1;
    last.set(key, position);
    counts.set(position, (counts.get(position) ?? 0) + 1);
  }
  const expectedSet = new Set(expected);
  return {
    missing: expected.filter((position) => !counts.has(position)).length,
    repeated: [...counts.values()].reduce((sum, count) => sum + count - 1, 0),
    unexpected: [...counts.keys()].filter((position) => !expectedSet.has(position)).length,
    outOfOrder,
  };
}

export const NO_VIOLATIONS = { missing: 0, repeated: 0, unexpected: 0, outOfOrder: 0 };

export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  describe: () => string = () => 'condition not met',
  timeoutMs = 60_000,
): Promise<void> {
  for (const startedMs = performance.now(); !(await condition()); await sleep(50)) {
    if (performance.now() - startedMs > timeoutMs) throw new Error(`${describe()} (after ${timeoutMs / 1_000} s)`);
  }
}
