// One measurement of publishing, in a separate process so that its CPU is known: node relay-rate.mjs <fill|relay|kafkajs>
//   fill     appends conversions to the log;  relay  publishes them as the service does
//   kafkajs  sends the same messages, read beforehand, with a plain idempotent kafkajs producer
import kafkajs from 'kafkajs';
import { toMessage } from '../../dist/kafka/cloud-event.js';
import { ensureTopics, topicOf } from '../../dist/kafka/topics.js';
import { Logger } from '../../dist/kernel/logger.js';
import { readSettings } from '../../dist/kernel/settings/settings.js';
import { uuidv7 } from '../../dist/kernel/uuid.js';
import { readPublicEvents } from '../../dist/log/event-reader.js';
import { PostgresEventLog } from '../../dist/log/postgres-event-log.js';
import { Postgres } from '../../dist/postgres/postgres.js';
import { conversionData } from './append-loop.mjs';

const [mode] = process.argv.slice(2);
const BATCH = Number(process.env.BATCH);
const settings = readSettings({ ...process.env, DATABASE_URL: '', SECRET_KEY: '' });
const postgres = await Postgres.open({ databaseUrl: process.env.DATABASE_URL, dataDir: '', onMessage: () => {} });
const result = await { fill, relay, kafkajs: plainKafkajs }[mode]();
await postgres.close();
console.log(JSON.stringify(result));
process.exit(0);

async function fill() {
  const log = new PostgresEventLog(postgres);
  const append = () => {
    const stream = uuidv7();
    const events = [{ type: 'conversion.received.v1', data: conversionData(stream) }];
    return log.append({ category: 'conversion', stream, expected: 'new', site: 'localhost', actor: 'system', events });
  };
  for (let left = Number(process.env.EVENTS); left > 0; left -= BATCH) {
    await Promise.all(Array.from({ length: Math.min(BATCH, left) }, append));
  }
  await log.close();
  return {};
}

async function relay() {
  // Imported here only: it replaces kafkajs's record encoder, which the `kafkajs` mode must not use.
  const { openRelaySession } = await import('../../dist/kafka/open-session.js');
  const session = await openRelaySession(postgres, settings, new Logger('silent'));
  return timed(async () => {
    let events = 0;
    for (let page = -1; page !== 0; events += page) page = await session.publishPage(BATCH);
    return events;
  });
}

async function plainKafkajs() {
  const kafka = new kafkajs.Kafka({ brokers: settings.kafkaBrokers, logLevel: kafkajs.logLevel.ERROR });
  const admin = kafka.admin();
  await admin.connect();
  await ensureTopics(admin, postgres.pool, settings);
  const messages = (await readPublicEvents(postgres.pool, 0, 10_000_000)).map((event) => {
    const { partition, ...message } = toMessage(event, settings.cell, 0);
    return message;
  });
  const createPartitioner = kafkajs.Partitioners.DefaultPartitioner;
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1, createPartitioner });
  await producer.connect();
  const topic = topicOf(settings.kafkaTopicPrefix, 'conversion');
  const compression = kafkajs.CompressionTypes.GZIP;
  return timed(async () => {
    for (let at = 0; at < messages.length; at += BATCH) {
      await producer.send({ topic, acks: -1, compression, messages: messages.slice(at, at + BATCH) });
    }
    return messages.length;
  });
}

/** Returns the result in the format of the load generator. */
async function timed(work) {
  const began = performance.now();
  const before = process.cpuUsage();
  const requests = await work();
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - began) / 1_000;
  return { requests, seconds, rate: requests / seconds, failures: 0, cpuSeconds: (user + system) / 1e6 };
}
