// Reads all events from the topics of Clean Conversions and prints one line per event. Requires the package kafkajs, and
// nothing else of this project; docs/kafka.md describes the contract.
//
//   node docs/read-topics.mjs [brokers] [topic prefix]       Stop: Ctrl-C
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { Kafka, logLevel } from 'kafkajs';

// kafkajs 2.2.4 sets timers with a negative delay while no request is pending, which Node 24 warns about (kafkajs#1751).
const { prototype: queue } = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js');
const { scheduleCheckPendingRequests: schedule } = queue;
queue.scheduleCheckPendingRequests = function scheduleIfPending() {
  if (this.pending.length > 0) schedule.call(this);
};

const [brokers = '127.0.0.1:9092', prefix = 'cc.'] = process.argv.slice(2);
const topics = ['conversions', 'visitors', 'sites', 'auth', 'inbound', 'outbound', 'users', 'log'].map(
  (name) => `${prefix}${name}`,
);
const kafka = new Kafka({ clientId: 'reader', brokers: brokers.split(','), logLevel: logLevel.NOTHING });
// With a fixed group id, Kafka remembers the position between runs.
const consumer = kafka.consumer({ groupId: `reader-${randomUUID()}` });

// The reader rule: an event whose position is not above the last one of its partition is a duplicate.
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
      actor: header('ce_actor'),
      data: JSON.parse(message.value.toString()),
    };
    process.stdout.write(`${JSON.stringify(event)}\n`);
  },
});
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => consumer.disconnect().then(() => process.exit(0)));
