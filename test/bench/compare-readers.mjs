// The comparison of two builds, continued: people with a visit, the tag's calls and the Kafka relay.
import { join } from 'node:path';
import { startBrokers } from '../../dist/kafka-broker/broker.js';
import { pinService } from './cores.mjs';
import { cpuSeconds, hasCounters, treeCpuSeconds } from './counters.mjs';
import { meets, ratioRow, ratios, spread, variantColumns } from './figures.mjs';
import { untilPublished } from './kafka.mjs';
import { interleave, recordRounds } from './rounds.mjs';
import { startService, storedConversions } from './service.mjs';
import { fillInbound, httpVariant, inboundTarget } from './variants.mjs';
import { startVisited, visitTargets } from './visit-rates.mjs';

const CONNECTIONS = 256;
const RELAY_CONNECTIONS = 64;

/** @param builds checkouts by `old` and `new` */
export async function visitComparison(builds, context) {
  const { directory, progress, settings } = context;
  const variants = [];
  for (const [build, root] of Object.entries(builds)) {
    progress(`starting the ${build} build with people who have visited …`);
    const service = await startVisited(join(directory, `${build}-visits`), root);
    context.cleanUp.push(() => service.stop());
    pinService(service);
    await fillInbound(service, settings.warmUp / 5, context);
    for (const [id, target] of Object.entries(visitTargets(service)))
      variants.push(httpVariant(`${build}, ${id}`, target, CONNECTIONS, context));
  }
  const result = await interleave(variants, settings.rounds, progress);
  recordRounds(result, context);
  const of = (id) => result.samples[id] ?? [];
  const measured = (id) =>
    ['old', 'new'].map((build) => ({ what: `${build}: ${id}`, ...variantColumns(of(`${build}, ${id}`)) }));
  return [
    ...measured('identified'),
    ...measured('unknown'),
    addedRow('↳ CPU that a visit adds, new / old', of, ['identified', 'unknown'], 0.7),
    ...measured('collect'),
    ratioRow('↳ CPU of /__cc/collect, new / old', of('new, collect'), of('old, collect'), {
      by: 'cpu',
      target: { atMost: 0.75 },
    }),
  ];
}

export async function relayComparison(builds, context) {
  const { directory, progress, settings, cleanUp } = context;
  progress('starting a broker …');
  const cluster = await startBrokers({ dataDir: join(directory, 'kafka'), log: progress });
  cleanUp.push(() => cluster.stop());
  const variants = [];
  for (const [build, root] of Object.entries(builds))
    for (const kind of ['unpublished', 'published']) {
      const isPublished = kind === 'published';
      const kafka = isPublished ? { KAFKA_BROKERS: cluster.brokers, KAFKA_TOPIC_PREFIX: `${build}.` } : {};
      const service = await startService(join(directory, `${build}-${kind}`), kafka, root);
      cleanUp.push(() => service.stop());
      pinService(service);
      await fillInbound(service, settings.warmUp / 5, context);
      variants.push(wholeRun(`${build}, ${kind}`, service, isPublished, context));
    }
  const result = await interleave(variants, settings.rounds, progress);
  recordRounds(result, context);
  const of = (id) => result.samples[id] ?? [];
  return [addedRow('CPU that the Kafka relay adds to a conversion, new / old', of, ['published', 'unpublished'], 0.75)];
}

/** With the CPU until the last conversion is published, for all conversions that were stored. */
function wholeRun(id, service, isPublished, context) {
  const { run } = httpVariant(id, inboundTarget(service), RELAY_CONNECTIONS, context);
  if (!hasCounters) return { id, run };
  const read = async () => {
    if (isPublished) await untilPublished(service);
    const [server, postgres] = [cpuSeconds(service.pid), treeCpuSeconds(service.server.postmaster)];
    return { server, postgres, stored: await storedConversions(service) };
  };
  return {
    id,
    async run() {
      const before = await read();
      const sample = await run();
      const after = await read();
      const spent = (part) => ((after[part] - before[part]) / (after.stored - before.stored)) * 1e6;
      return { ...sample, cpuServer: spent('server'), cpuPostgres: spent('postgres') };
    },
  };
}

/** What the first variant costs more than the second, new / old. */
export function addedRow(what, of, [variant, base], atMost) {
  const cpu = (sample) => (sample ? sample.cpuServer + sample.cpuPostgres : Number.NaN);
  const added = (build) =>
    of(`${build}, ${variant}`).map((sample, round) => ({ value: cpu(sample) - cpu(of(`${build}, ${base}`)[round]) }));
  const value = spread(ratios(added('new'), added('old'), (each) => each.value));
  const target = { atMost };
  return { what, unit: 'ratio', value, target, met: meets(value?.median, target) };
}
