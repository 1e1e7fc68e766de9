// The Kafka part: the rate and CPU cost of the relay, and how much it slows inbound down on the same machine.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startBrokers } from '../../dist/kafka-broker/broker.js';
import { runChild } from './children.mjs';
import { ratioRow, singleRow, spread, variantColumns } from './figures.mjs';
import { measure } from './measure.mjs';
import { createDatabase, withClient } from './postgres.mjs';
import { temporaryServer } from './rates.mjs';
import { interleave, recordRounds } from './rounds.mjs';
import { startService } from './service.mjs';
import { httpVariant, inboundTarget } from './variants.mjs';

const RELAY_RATE = fileURLToPath(new URL('./relay-rate.mjs', import.meta.url));
const BATCHES = [500, 2_000];
const CONNECTIONS = 64;
const DRAINED_WITHIN_MS = 60_000;

export async function kafkaRun(context) {
  const { directory, progress, part, cleanUp } = context;
  progress('starting a broker …');
  const cluster = await part('the broker', () => startBrokers({ dataDir: join(directory, 'kafka'), log: progress }));
  if (!cluster) return [];
  cleanUp.push(() => cluster.stop());
  context.facts.push('one broker, 6 partitions, gzip; it shares the machine and its CPU is in no figure');
  return [
    ...((await part('the rate of the relay', () => relayRows(cluster, context))) ?? []),
    ...((await part('inbound with the relay', () => inboundRows(cluster, context))) ?? []),
  ];
}

async function relayRows(cluster, context) {
  const { settings, progress } = context;
  const server = await temporaryServer('published', context);
  const DATABASE_URL = await createDatabase(server, 'published');
  const env = { DATABASE_URL, KAFKA_BROKERS: cluster.brokers, EVENTS: String(settings.published) };
  progress('filling a log …');
  await runChild('filling a log', process.execPath, [RELAY_RATE, 'fill'], { env: { ...env, BATCH: '1000' } });
  let topics = 0;
  const variant = (mode, batch) => ({
    id: `${mode}, ${batch} per batch`,
    // New topics for each measurement, so that the relay publishes the whole log again.
    run: () => {
      topics += 1;
      const own = { ...env, BATCH: String(batch), KAFKA_TOPIC_PREFIX: `bench${topics}.` };
      return measure(`${mode}, ${batch} per batch`, process.execPath, [RELAY_RATE, mode], { env: own });
    },
  });
  const variants = BATCHES.flatMap((batch) => [variant('kafkajs', batch), variant('relay', batch)]);
  const result = await interleave(variants, settings.rounds, progress);
  recordRounds(result, context);
  const of = (mode, batch) => result.samples[`${mode}, ${batch} per batch`] ?? [];
  const cpu = (samples) => spread(samples.filter(Boolean).map(({ cpuServer }) => cpuServer))?.median;
  return BATCHES.flatMap((batch) => {
    const [relay, kafkajs] = [of('relay', batch), of('kafkajs', batch)];
    const isTarget = batch === 2_000;
    return [
      { what: `plain kafkajs, idempotent, ${batch} per batch`, figure: '1.00', ...variantColumns(kafkajs) },
      ratioRow(`relay, from the log, ${batch} per batch: ratio to plain kafkajs`, relay, kafkajs, {
        ...(isTarget && { target: { atLeast: 0.6 } }),
        columns: variantColumns(relay),
      }),
      singleRow('↳ CPU per event, µs', cpu(relay), 'count', isTarget ? { atMost: 60 } : undefined),
    ];
  });
}

async function inboundRows(cluster, context) {
  const { directory, progress, settings } = context;
  progress('starting two services …');
  const withoutKafka = await startService(join(directory, 'without-kafka'));
  const withKafka = await startService(join(directory, 'with-kafka'), { KAFKA_BROKERS: cluster.brokers });
  const http = (id, service) => httpVariant(id, inboundTarget(service), CONNECTIONS, context);
  const off = http('inbound, no Kafka', withoutKafka);
  const on = http('inbound, published', withKafka);
  // The rest is published before the next variant is measured.
  const drained = async (sample) => {
    await untilPublished(withKafka);
    return sample;
  };
  const variants = [off, { id: on.id, run: async () => drained(await on.run()) }];
  const result = await interleave(variants, settings.rounds, progress);
  recordRounds(result, context);
  const of = ({ id }) => result.samples[id] ?? [];
  return [
    { what: `inbound, no Kafka, ${CONNECTIONS} connections`, figure: '1.00', ...variantColumns(of(off)) },
    ratioRow('inbound, published by the relay: ratio to no Kafka', of(on), of(off), {
      target: { atLeast: 0.65 },
      columns: variantColumns(of(on)),
    }),
    ratioRow('↳ CPU of service + PostgreSQL per conversion: ratio to no Kafka', of(on), of(off), { by: 'cpu' }),
  ];
}

/** Resolves when everything in its log is published. */
export async function untilPublished(service) {
  const deadline = performance.now() + DRAINED_WITHIN_MS;
  for (;;) {
    const { rows } = await withClient(service.server, (client) =>
      client.query(
        'SELECT (SELECT max(position) FROM cc.kafka_relay) >= (SELECT max(position) FROM cc.events) AS done',
      ),
    );
    if (rows[0].done) return;
    if (performance.now() > deadline) throw new Error('the received conversions were not published in time');
    await sleep(200);
  }
}
