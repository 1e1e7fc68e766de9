// The Kafka part: how fast and at what cost the relay publishes, and what it takes from inbound on the same machine.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startBrokers } from '../../dist/kafka-broker/broker.js';
import { runChild } from './children.mjs';
import { ratioRow, singleRow, spread, variantColumns } from './figures.mjs';
import { measure } from './measure.mjs';
import { makeDatabase, withClient } from './postgres.mjs';
import { throwAwayServer } from './rates.mjs';
import { interleave, takeDown } from './rounds.mjs';
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
  context.facts.push('one broker, 6 partitions, gzip; it shares the machine, and its CPU is in no figure');
  return [
    ...((await part('the relay’s rate', () => relayRows(cluster, context))) ?? []),
    ...((await part('inbound beside the relay', () => inboundRows(cluster, context))) ?? []),
  ];
}

async function relayRows(cluster, context) {
  const { settings, progress } = context;
  const server = await throwAwayServer('published', context);
  const DATABASE_URL = await makeDatabase(server, 'published');
  const env = { DATABASE_URL, KAFKA_BROKERS: cluster.brokers, EVENTS: String(settings.published) };
  progress('filling a log …');
  await runChild('filling a log', process.execPath, [RELAY_RATE, 'fill'], { env: { ...env, BATCH: '1000' } });
  let topics = 0;
  const variant = (mode, batch) => ({
    id: `${mode}, ${batch} a batch`,
    // Topics of its own for each stretch: the relay begins with the whole history.
    run: () => {
      topics += 1;
      const own = { ...env, BATCH: String(batch), KAFKA_TOPIC_PREFIX: `bench${topics}.` };
      return measure(`${mode}, ${batch} a batch`, process.execPath, [RELAY_RATE, mode], { env: own });
    },
  });
  const variants = BATCHES.flatMap((batch) => [variant('kafkajs', batch), variant('relay', batch)]);
  const result = await interleave(variants, settings.rounds, progress);
  takeDown(result, context);
  const of = (mode, batch) => result.samples[`${mode}, ${batch} a batch`] ?? [];
  const cpu = (samples) => spread(samples.filter(Boolean).map(({ cpuServer }) => cpuServer))?.median;
  return BATCHES.flatMap((batch) => {
    const [own, alone] = [of('relay', batch), of('kafkajs', batch)];
    const isTarget = batch === 2_000;
    return [
      { what: `kafkajs alone, idempotent, ${batch} a batch`, figure: '1.00', ...variantColumns(alone) },
      ratioRow(`relay, from the log, ${batch} a batch: to kafkajs alone`, own, alone, {
        ...(isTarget && { target: { atLeast: 0.6 } }),
        columns: variantColumns(own),
      }),
      singleRow('↳ its CPU an event, µs', cpu(own), 'count', isTarget ? { atMost: 60 } : undefined),
    ];
  });
}

async function inboundRows(cluster, context) {
  const { directory, progress, settings } = context;
  progress('starting two services …');
  const without = await startService(join(directory, 'without-kafka'));
  const beside = await startService(join(directory, 'with-kafka'), { KAFKA_BROKERS: cluster.brokers });
  const http = (id, service) => httpVariant(id, inboundTarget(service), CONNECTIONS, context);
  const off = http('inbound, no Kafka', without);
  const on = http('inbound, published', beside);
  // What is left over is published before anybody else is measured.
  const drained = async (sample) => {
    await untilPublished(beside);
    return sample;
  };
  const variants = [off, { id: on.id, run: async () => drained(await on.run()) }];
  const result = await interleave(variants, settings.rounds, progress);
  takeDown(result, context);
  const of = ({ id }) => result.samples[id] ?? [];
  return [
    { what: `inbound, no Kafka, ${CONNECTIONS} connections`, figure: '1.00', ...variantColumns(of(off)) },
    ratioRow('inbound, published by the relay: to that', of(on), of(off), {
      target: { atLeast: 0.65 },
      columns: variantColumns(of(on)),
    }),
    ratioRow('↳ CPU of service and PostgreSQL a conversion: to that', of(on), of(off), { by: 'cpu' }),
  ];
}

async function untilPublished(service) {
  const patience = performance.now() + DRAINED_WITHIN_MS;
  for (;;) {
    const { rows } = await withClient(service.server, (client) =>
      client.query(
        'SELECT (SELECT max(position) FROM cc.kafka_relay) >= (SELECT max(position) FROM cc.events) AS done',
      ),
    );
    if (rows[0].done) return;
    if (performance.now() > patience) throw new Error('what was received was not published in time');
    await sleep(200);
  }
}
