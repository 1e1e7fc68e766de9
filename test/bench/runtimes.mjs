// What accepting a conversion costs under several versions of Node, in interleaved rounds, with the echo of the Node that
// runs the benchmark as the unit.
import { join } from 'node:path';
import { installNode } from '../install-node.mjs';
import { leaveServiceCore, pinService } from './cores.mjs';
import { ratioRow, variantColumns } from './figures.mjs';
import { leftOutPeers } from './peer-sources.mjs';
import { serverVersion } from './postgres.mjs';
import { interleave, recordRounds } from './rounds.mjs';
import { ROOT, startService } from './service.mjs';
import { fillInbound, httpVariant, inboundTarget, startEcho } from './variants.mjs';

const CONNECTIONS = [64, 256];

/** @param context `nodes`: further versions of Node, as in `['24', '26']`; `peers`: whether relays of others are wanted */
export async function runtimesRun(context) {
  const { part, progress, facts, notes } = context;
  const runtimes = findRuntimes(context);
  if (context.peers) notes.push(...((await part('the peers', () => leftOutPeers(context))) ?? []));
  facts.push(
    leaveServiceCore()
      ? 'the service and the echo on the first core, PostgreSQL and the generator on the others'
      : 'no pinned cores',
  );
  progress('starting the services …');
  const targets = await part('the services', () => startAll(runtimes, context));
  if (!targets) return [];
  const variants = CONNECTIONS.flatMap((connections) =>
    targets.map(({ id, target }) => httpVariant(`${id} @${connections}`, target, connections, context)),
  );
  const result = await part('the rounds', () => interleave(variants, context.settings.rounds, progress));
  if (!result) return [];
  recordRounds(result, context);
  return CONNECTIONS.flatMap((connections) => runtimeRows(runtimes, connections, result.samples));
}

/** This Node first. */
function findRuntimes({ nodes, notes, progress }) {
  const runtimes = [{ version: process.versions.node.split('.', 1)[0], node: process.execPath }];
  for (const version of new Set(nodes)) {
    if (version === runtimes[0].version) continue;
    progress(`installing Node ${version} (first run only) …`);
    const node = installNode(version);
    if (node) runtimes.push({ version, node });
    else notes.push(`Node ${version} was left out: it could not be installed from the npm registry`);
  }
  return runtimes;
}

async function startAll(runtimes, context) {
  const targets = [];
  for (const { version, node } of runtimes) {
    const echo = await startEcho(node);
    pinService(echo);
    targets.push({ id: `echo ${version}`, target: echo });
    const service = await startService(join(context.directory, `node-${version}`), {}, ROOT, node);
    context.cleanUp.push(() => service.stop());
    pinService(service);
    await fillInbound(service, context.settings.warmUp / 5, context);
    context.postgresVersion ??= await serverVersion(service.server);
    targets.push({ id: `inbound ${version}`, target: inboundTarget(service) });
  }
  return targets;
}

/** @returns the rows of the echo and of the service per runtime; the first one's echo is the unit of all */
export function runtimeRows(runtimes, connections, samples) {
  const of = (kind, { version }) => samples[`${kind} ${version} @${connections}`] ?? [];
  const [first] = runtimes;
  const unit = of('echo', first);
  const row = (what, own) => ratioRow(what, own, unit, { columns: variantColumns(own) });
  return runtimes.flatMap((runtime) => {
    const at = `Node ${runtime.version}, ${connections} connections: rate, ratio to the echo`;
    const inbound = of('inbound', runtime);
    const rows = [
      row(`raw node:http echo, ${at}`, of('echo', runtime)),
      row(`inbound, durable, ${at}`, inbound),
      ratioRow('↳ CPU of service + PostgreSQL, in echoes', inbound, unit, { by: 'cpu' }),
    ];
    if (runtime === first) return rows;
    const toFirst = `↳ CPU of service + PostgreSQL: ratio to Node ${first.version}`;
    return [...rows, ratioRow(toFirst, inbound, of('inbound', first), { by: 'cpu' })];
  });
}
