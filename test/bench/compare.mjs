// The comparison: this build and another version in interleaved rounds, with the CPU of PostgreSQL by role.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { otherBuild } from './checkout.mjs';
import { addedRow, relayComparison, visitComparison } from './compare-readers.mjs';
import { connect } from './connections.mjs';
import { leaveServiceCore, pinService } from './cores.mjs';
import { cpuSeconds, hasCounters } from './counters.mjs';
import { meets, ratioRow, ratios, spread, variantColumns } from './figures.mjs';
import { SIX, THREE } from './platform-rates.mjs';
import { serverVersion, withClient } from './postgres.mjs';
import { interleave, recordRounds } from './rounds.mjs';
import { startSandbox } from './sandbox.mjs';
import { ROOT, startService } from './service.mjs';
import { fillInbound, httpVariant, inboundTarget, startEcho } from './variants.mjs';

const CONNECTIONS = [64, 256];
const PLATFORMS = { 3: THREE, 6: SIX };
/** Projections write what they have read up to half a second later. */
const READERS_MS = 1_000;

export async function compareRun(context) {
  const { part, progress, facts } = context;
  const other = await part('the other build', () => otherBuild(context.against, context));
  if (!other) return [];
  facts.push(
    leaveServiceCore()
      ? 'each service on the first core, PostgreSQL, the sandbox and the generator on the others'
      : 'no pinned cores',
  );
  progress('starting the services …');
  const builds = { old: other, new: ROOT };
  const services = await part('the services', () => startAll(builds, context));
  if (!services) return [];
  const result = await part('the rounds', () => rounds(services, context));
  return [
    ...(result ? compareRows(result.samples) : []),
    ...((await part('visits', () => visitComparison(builds, context))) ?? []),
    ...((await part('the Kafka relay', () => relayComparison(builds, context))) ?? []),
  ];
}

/** By build and number of platforms, as in `new 3`. */
async function startAll(builds, context) {
  const sandbox = await startSandbox();
  const services = { echo: await startEcho(), sandbox };
  for (const [build, root] of Object.entries(builds))
    for (const count of [0, ...Object.keys(PLATFORMS)]) {
      const service = await startService(join(context.directory, `${build}-${count}`), {}, root);
      context.cleanUp.push(() => service.stop());
      pinService(service);
      await connect(service, PLATFORMS[count] ?? [], sandbox.url, root);
      await fillInbound(service, context.settings.warmUp / 5, context);
      services[`${build} ${count}`] = service;
    }
  context.postgresVersion = await serverVersion(services['new 0'].server);
  return services;
}

async function rounds(services, context) {
  const { settings, progress } = context;
  const variants = [httpVariant('echo', services.echo, CONNECTIONS[0], context)];
  for (const connections of CONNECTIONS)
    for (const build of ['old', 'new']) variants.push(byRole(build, services[`${build} 0`], connections, context));
  for (const count of Object.keys(PLATFORMS))
    for (const build of ['old', 'new']) {
      const target = { ...inboundTarget(services[`${build} ${count}`]), sandbox: services.sandbox };
      const expect = `"${PLATFORMS[count][0]}":{"ok":true`;
      variants.push(httpVariant(`${build}, ${count} platforms`, { ...target, expect }, CONNECTIONS.at(-1), context));
    }
  const result = await interleave(variants, settings.rounds, progress);
  recordRounds(result, context);
  return result;
}

/** With `cpuOthers`: the CPU of PostgreSQL's processes other than the one that appends. */
function byRole(build, service, connections, context) {
  const { id, run } = httpVariant(`${build}, ${connections}`, inboundTarget(service), connections, context);
  if (!hasCounters) return { id, run };
  return {
    id,
    async run() {
      const before = await backends(service);
      const sample = await run();
      await sleep(READERS_MS);
      const after = await backends(service);
      const spent = { append: 0, others: 0 };
      for (const [pid, { role, seconds }] of after) spent[role] += seconds - (before.get(pid)?.seconds ?? 0);
      return { ...sample, cpuOthers: (sample.cpuPostgres * spent.others) / (spent.append + spent.others) };
    },
  };
}

async function backends({ server }) {
  const { rows } = await withClient(server, (client) =>
    client.query(
      `SELECT pid, application_name ~ 'append' AS appends FROM pg_stat_activity WHERE pid <> pg_backend_pid()`,
    ),
  );
  return new Map(
    rows.flatMap(({ pid, appends }) => {
      try {
        return [[pid, { role: appends ? 'append' : 'others', seconds: cpuSeconds(pid) }]];
      } catch {
        return [];
      }
    }),
  );
}

function compareRows(samples) {
  const of = (id) => samples[id] ?? [];
  const rows = [{ what: 'raw node:http echo', figure: '1.00', ...variantColumns(of('echo')) }];
  const compared = (what, id, options) => ratioRow(what, of(`new, ${id}`), of(`old, ${id}`), options);
  for (const connections of CONNECTIONS) {
    rows.push({ what: `old: inbound, ${connections} connections`, ...variantColumns(of(`old, ${connections}`)) });
    rows.push({ what: `new: inbound, ${connections} connections`, ...variantColumns(of(`new, ${connections}`)) });
    rows.push(compared('↳ CPU, new / old', connections, { by: 'cpu', target: { atMost: 0.7 } }));
    rows.push(valueRow("↳ of PostgreSQL's processes other than the append's", samples, connections, 'cpuOthers', 0.3));
    rows.push(valueRow('↳ of the service', samples, connections, 'cpuServer'));
    const target = connections === CONNECTIONS.at(-1) ? { atLeast: 1.35 } : undefined;
    rows.push(compared('↳ rate, new / old', connections, { target }));
  }
  for (const count of Object.keys(PLATFORMS)) {
    const id = `${count} platforms`;
    rows.push({ what: `old: inbound, ${id}`, ...variantColumns(of(`old, ${id}`)) });
    rows.push({ what: `new: inbound, ${id}`, ...variantColumns(of(`new, ${id}`)) });
    rows.push(addedRow('↳ CPU that each platform adds, new / old', of, [id, CONNECTIONS.at(-1)], 0.65));
    rows.push(compared('↳ rate, new / old', id, count === '3' ? { target: { atLeast: 1.35 } } : {}));
  }
  return rows;
}

function valueRow(what, samples, id, value, atMost) {
  const all = spread(ratios(samples[`new, ${id}`] ?? [], samples[`old, ${id}`] ?? [], (sample) => sample[value]));
  const target = atMost === undefined ? undefined : { atMost };
  return { what: `${what}, new / old`, unit: 'ratio', value: all, target, met: meets(all?.median, target) };
}
