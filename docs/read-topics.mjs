// Reads every event from Clean Conversions' topics and prints one line each. Needs the package kafkajs and nothing else of
// this project; docs/kafka.md tells the contract it is written against.
//
//   node docs/read-topics.mjs [brokers] [topic prefix]       Ctrl-C stops it
import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';

const [brokers = '127.0.0.1:9092', prefix = 'cc.'] = process.argv.slice(2);
const topics = ['conversions', 'visitors', 'sites', 'auth', 'outbound'].map((name) => `${prefix}${name}`);
const kafka = new Kafka({ clientId: 'reader', brokers: brokers.split(','), logLevel: logLevel.NOTHING });
// A name of your own, kept from run to run, makes Kafka remember how far you have read.
const consumer = kafka.consumer({ groupId: `reader-${randomUUID()}` });

// The one rule: what is not above the last position of its partition has been seen before.
const last = new Map();
const isNew = (partition, position) => position > (last.get(partition) ?? 0) && last.set(partition, position);

await consumer.connect();
await consumer.subscribe({ topics, fromBeginning: true });
await consumer.run({
  eachMessage: async ({ topic, partition, message }) => {
    const header = (name) => message.headers[name]?.toString();
    const position = Number(header('cc_position'));
    if (!isNew(`${topic}/${partition}`, position)) return;
    const event = {
      position,
      id: header('ce_id'),
      type: header('ce_type'),
      stream: message.key.toString(),
      version: Number(header('cc_version')),
      site: header('cc_site'),
      time: header('ce_time'),
      data: JSON.parse(message.value.toString()),
    };
    process.stdout.write(`${JSON.stringify(event)}\n`);
  },
});
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => consumer.disconnect().then(() => process.exit(0)));
