// Rates, CPU and latencies of every variant, in interleaved rounds, and the table rows made of them.
import { join } from 'node:path';
import { ratioRow, SKIPPED, singleRow, variantColumns } from './figures.mjs';
import { installPeers } from './peers.mjs';
import { PGBENCH_CLIENTS } from './pgbench.mjs';
import { createDatabase, serverVersion, startTemporaryServer } from './postgres.mjs';
import { interleave, recordRounds } from './rounds.mjs';
import {
  APPENDS_IN_FLIGHT,
  appendVariant,
  httpVariant,
  inboundTarget,
  pgbenchVariant,
  startEcho,
  startNaive,
} from './variants.mjs';

const CONNECTIONS = [64, 256];
const INBOUND_TARGET = { 64: 0.35, 256: 0.42 };

/** @returns samples by variant id, and in `missing` by name why a peer was not measured */
export async function measureRates(service, context) {
  const { settings, progress, part } = context;
  const missing = {};
  const variants = await makeVariants(service, missing, context);
  const result = await part('the rounds', () => interleave(variants, settings.rounds, progress));
  if (!result) return { samples: {}, missing };
  recordRounds(result, context);
  return { samples: result.samples, missing };
}

export function rateRows({ samples, missing }) {
  const of = (id) => samples[id] ?? [];
  return [
    ...CONNECTIONS.flatMap((connections) =>
      httpRows(connections, of(`echo @${connections}`), of(`inbound @${connections}`), of(`naive @${connections}`)),
    ),
    ...appendRows(of('append event'), of('append conversion'), of('append emmett'), of('append pgbench'), missing),
  ];
}

// ---- variants, in the order of every round; one that cannot be started does not stop the others ----

async function makeVariants(service, missing, context) {
  const { progress, part } = context;
  progress('starting the echo, the naive design and two PostgreSQL servers …');
  const targets = {
    echo: await part('the echo', startEcho),
    inbound: service && inboundTarget(service),
    naive: await part('the naive design', async () => startNaive(await temporaryServer('naive', context))),
  };
  const http = (connections) =>
    Object.entries(targets).map(
      ([name, target]) => target && httpVariant(`${name} @${connections}`, target, connections, context),
    );
  const append = await part('the append-only figures', () => appendVariants(missing, context));
  return [...http(CONNECTIONS[0]), ...(append ?? []), ...http(CONNECTIONS[1])].filter(Boolean);
}

/** On a separate server: the naive design's pool leaves too few connections for pgbench. */
async function appendVariants(missing, context) {
  const server = await temporaryServer('append', context);
  const variant = async (name, script, env = {}) => {
    const DATABASE_URL = await createDatabase(server, name);
    return appendVariant(`append ${name}`, script, server, { ...env, DATABASE_URL }, context);
  };
  const peers = await peersOrNote(missing, context);
  const pgbench = await pgbenchVariant('append pgbench', server, context);
  if (!pgbench) missing.pgbench = 'pgbench skipped: not found in PATH or /usr/lib/postgresql';
  context.notes.push(...Object.values(missing));
  return [
    await variant('event', 'append-ours.mjs'),
    await variant('conversion', 'append-ours.mjs', { APPEND: 'conversion' }),
    peers && (await variant('emmett', 'append-emmett.mjs', { PEERS_DIR: peers })),
    pgbench,
  ].filter(Boolean);
}

async function peersOrNote(missing, { progress }) {
  progress('installing the peer for comparison (first run only) …');
  try {
    return await installPeers();
  } catch (error) {
    progress(error.message);
    missing.emmett = 'emmett-postgresql skipped: it could not be installed from the npm registry';
    return undefined;
  }
}

export async function temporaryServer(name, context) {
  const server = await startTemporaryServer(join(context.directory, name));
  context.cleanUp.push(() => server.stop());
  context.postgresVersion ??= await serverVersion(server);
  return server;
}

// ---- rows ----

function httpRows(connections, echo, inbound, naive) {
  const at = `${connections} connections`;
  const toEcho = (what, own, target) => ratioRow(what, own, echo, { target, columns: variantColumns(own) });
  return [
    { what: `(a) raw node:http echo, ${at}`, figure: echo.some(Boolean) ? '1.00' : undefined, ...variantColumns(echo) },
    toEcho(`(b) inbound, durable, ${at}: ratio to the echo`, inbound, { atLeast: INBOUND_TARGET[connections] }),
    ratioRow('↳ CPU of service + PostgreSQL: ratio to the echo', inbound, echo, { by: 'cpu', target: { atMost: 3.5 } }),
    singleRow('↳ errors', variantColumns(inbound).errors, 'count', { atMost: 0 }),
    toEcho(`(c) naive design, ${at}: ratio to the echo`, naive),
    ratioRow('↳ (b) inbound: ratio to the naive design', inbound, naive, { target: { atLeast: 4 } }),
  ];
}

/** The targets compare appends of the same document, one event each. The cost of a whole conversion is listed as well. */
function appendRows(ours, conversion, emmett, pgbench, missing) {
  const skipped = (reason) => (reason ? { figure: SKIPPED } : {});
  const row = (what, own, reason) => ({ what, ...variantColumns(own), ...skipped(reason) });
  const compared = (what, own, others, reason, target) => ({
    ...ratioRow(what, own, others, { target }),
    ...skipped(reason),
  });
  const inFlight = `${APPENDS_IN_FLIGHT} in flight`;
  return [
    row(`append to the event log, one event, ${inFlight}`, ours),
    row(`append to the event log, a conversion with dedup claim and personal data, ${inFlight}`, conversion),
    row(`append to (d) emmett-postgresql, one event, ${inFlight}`, emmett, missing.emmett),
    row(`append by pgbench -c ${PGBENCH_CLIENTS}, one row per commit`, pgbench, missing.pgbench),
    compared('↳ event log, one event: ratio to emmett-postgresql', ours, emmett, missing.emmett, { atLeast: 5 }),
    compared('↳ event log, one event: ratio to pgbench', ours, pgbench, missing.pgbench, { atLeast: 1.2 }),
    compared('↳ event log, a conversion: ratio to pgbench', conversion, pgbench, missing.pgbench),
  ];
}
