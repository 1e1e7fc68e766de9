// A Kafka broker that cells share, and what is on its topics.
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Kafka, logLevel } from 'kafkajs';
import { fromBuild } from './root.mjs';

const READER = fileURLToPath(new URL('../../../docs/read-topics.mjs', import.meta.url));
const POLL_MS = 500;

export async function startBroker(directory) {
  const { startBrokers } = await fromBuild('kafka-broker/broker.js');
  const dataDir = join(directory, 'kafka');
  mkdirSync(dataDir);
  // One random id in 64 begins with a dash, which Kafka's tool could parse as an option.
  writeFileSync(join(dataDir, 'cluster-id'), `-${randomBytes(16).toString('base64url').slice(1)}`);
  return startBrokers({ dataDir });
}

/** Ids of the events that docs/read-topics.mjs prints, until all expected ones are among them. */
export async function readWithReader(brokers, prefixes, expected, withinMs) {
  const reader = spawn(process.execPath, [READER, brokers, ...prefixes], { stdio: ['ignore', 'pipe', 'ignore'] });
  const closed = once(reader, 'close');
  const ids = [];
  const missing = new Set(expected);
  let rest = '';
  reader.stdout.on('data', (chunk) => {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const { id } = JSON.parse(line);
      ids.push(id);
      missing.delete(id);
    }
  });
  const deadlineMs = performance.now() + withinMs;
  while (missing.size > 0 && performance.now() < deadlineMs) await sleep(POLL_MS);
  reader.kill('SIGTERM');
  await closed;
  return ids;
}

/** Ids of all committed records under the prefixes, by the reader rule: one whose position is not above the last of its partition is left out. */
export async function readRecords(brokers, prefixes) {
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const topics = (await admin.listTopics()).filter((topic) => prefixes.some((prefix) => topic.startsWith(prefix)));
  const remaining = new Map();
  for (const topic of topics)
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
      if (Number(high) > Number(low)) remaining.set(`${topic}/${partition}`, Number(high));
  await admin.disconnect();
  const consumer = kafka.consumer({ groupId: `drill-${randomUUID()}`, maxWaitTimeInMs: 50 });
  const [ids, last] = [[], new Map()];
  consumer.on('consumer.end_batch_process', ({ payload }) => {
    const key = `${payload.topic}/${payload.partition}`;
    if (Number(payload.lastOffset) >= (remaining.get(key) ?? 0) - 1) remaining.delete(key);
  });
  await consumer.connect();
  await consumer.subscribe({ topics, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch: { topic, partition, messages } }) => {
      for (const { headers } of messages) {
        // Signed checkpoints of the log have a topic, too, and no position.
        if (headers.cc_position === undefined) continue;
        const position = Number(headers.cc_position);
        if (position <= (last.get(`${topic}/${partition}`) ?? 0)) continue;
        last.set(`${topic}/${partition}`, position);
        ids.push(String(headers.ce_id));
      }
    },
  });
  while (remaining.size > 0) await sleep(POLL_MS);
  await consumer.disconnect();
  return ids;
}
