// Reads all events from the topics of Clean Conversions and prints one line per event. Requires the package kafkajs and
// stream-order.mjs, and nothing else of this project; docs/kafka.md describes the contract.
//
//   node docs/read-topics.mjs [brokers] [topic prefix of each cell …]       Stop: Ctrl-C
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { Kafka, logLevel } from 'kafkajs';
import { StreamOrder } from './stream-order.mjs';

// kafkajs 2.2.4 sets timers with a negative delay while no request is pending, which Node 24 warns about (kafkajs#1751).
const { prototype: queue } = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js');
const { scheduleCheckPendingRequests: schedule } = queue;
queue.scheduleCheckPendingRequests = function scheduleIfPending() {
  if (this.pending.length > 0) schedule.call(this);
};

const NAMES = ['conversions', 'visitors', 'sites', 'auth', 'inbound', 'outbound', 'users', 'log'];
/** How long an event waits for an earlier one of its stream that is not on the topics: its cell may publish it later. */
const WAIT_MS = 60_000;

const [brokers = '127.0.0.1:9092', ...given] = process.argv.slice(2);
const prefixes = given.length > 0 ? given : ['cc.'];
const topics = prefixes.flatMap((prefix) => NAMES.map((name) => `${prefix}${name}`));
const kafka = new Kafka({ clientId: 'reader', brokers: brokers.split(','), logLevel: logLevel.NOTHING });
// With a fixed group id, Kafka remembers the position between runs.
const consumer = kafka.consumer({ groupId: `reader-${randomUUID()}` });

// The reader rule: an event whose position is not above the last one of its partition is a duplicate.
const last = new Map();
const isNew = (partition, position) => position > (last.get(partition) ?? 0) && last.set(partition, position);
// Under one prefix, a partition has the events of a stream in order.
const order = prefixes.length > 1 ? new StreamOrder() : { add: (event) => [event], waiting: [] };

const prefixOf = (topic) => prefixes.find((prefix) => NAMES.some((name) => topic === `${prefix}${name}`));
const print = (events) => process.stdout.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));

// The last offset that was read of each partition, also where it has no visible record.
const read = new Map();
consumer.on('consumer.end_batch_process', ({ payload }) =>
  read.set(`${payload.topic}/${payload.partition}`, Number(payload.lastOffset)),
);

await consumer.connect();
await consumer.subscribe({ topics, fromBeginning: true });
await consumer.run({
  eachMessage: async ({ topic, partition, message }) => {
    const header = (name) => message.headers[name]?.toString();
    const position = Number(header('cc_position'));
    if (!isNew(`${topic}/${partition}`, position)) return;
    const event = {
      ...(prefixes.length > 1 && { prefix: prefixOf(topic) }),
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
    print(order.add(event));
  },
});

// An event without its predecessor waits until the topics have been read to where they ended after it was read. If Kafka has
// deleted records, the predecessor is most likely one of them; otherwise its cell may not have published it yet.
const admin = kafka.admin();
const fetchEnds = async () => {
  const offsets = [];
  for (const topic of topics)
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
      offsets.push({ key: `${topic}/${partition}`, low: Number(low), high: Number(high) });
  return offsets;
};
const isReadTo = (ends) => ends.every(({ key, low, high }) => low === high || (read.get(key) ?? -1) >= high - 1);
async function releaseWaiting() {
  const starting = order.waiting.filter(({ ends }) => !ends);
  if (starting.length > 0) {
    const [ends, since] = [await fetchEnds(), performance.now()];
    for (const stream of starting) Object.assign(stream, { ends, since });
  }
  for (const stream of order.waiting.filter(({ ends }) => ends && isReadTo(ends))) {
    const isTruncated = stream.ends.some(({ low }) => low > 0);
    if (isTruncated || performance.now() - stream.since > WAIT_MS) print(order.release(stream));
  }
}
if (prefixes.length > 1) {
  await admin.connect();
  // If the brokers do not answer, the next round asks again.
  const check = () =>
    releaseWaiting()
      .catch(() => {})
      .finally(() => setTimeout(check, 1_000).unref());
  void check();
}

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => Promise.all([consumer.disconnect(), admin.disconnect()]).then(() => process.exit(0)));
