// Rates, CPU and latencies of every variant, in interleaved rounds, and the rows of the table they make.
import { join } from 'node:path';
import { LEFT_OUT, ratioRow, singleRow, variantColumns } from './figures.mjs';
import { installPeers } from './peers.mjs';
import { PGBENCH_CLIENTS } from './pgbench.mjs';
import { makeDatabase, serverVersion, startThrowAwayServer } from './postgres.mjs';
import { interleave, takeDown } from './rounds.mjs';
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

/** @returns samples by variant id, and why a peer is missing, by its name, in `without` */
export async function measureRates(service, context) {
  const { settings, progress, part } = context;
  const without = {};
  const variants = await makeVariants(service, without, context);
  const result = await part('the rounds', () => interleave(variants, settings.rounds, progress));
  if (!result) return { samples: {}, without };
  takeDown(result, context);
  return { samples: result.samples, without };
}

export function rateRows({ samples, without }) {
  const of = (id) => samples[id] ?? [];
  return [
    ...CONNECTIONS.flatMap((connections) =>
      httpRows(connections, of(`echo @${connections}`), of(`inbound @${connections}`), of(`naive @${connections}`)),
    ),
    ...appendRows(of('append ours'), of('append conversion'), of('append emmett'), of('append pgbench'), without),
  ];
}

// ---- what is measured, in the same order in every round; what cannot be started fails alone ----

async function makeVariants(service, without, context) {
  const { progress, part } = context;
  progress('starting the echo, the naive design and two throw-away servers …');
  const targets = {
    echo: await part('the echo', startEcho),
    inbound: service && inboundTarget(service),
    naive: await part('the naive design', async () => startNaive(await throwAwayServer('naive', context))),
  };
  const http = (connections) =>
    Object.entries(targets).map(
      ([name, target]) => target && httpVariant(`${name} @${connections}`, target, connections, context),
    );
  const append = await part('the append-only figures', () => appendVariants(without, context));
  return [...http(CONNECTIONS[0]), ...(append ?? []), ...http(CONNECTIONS[1])].filter(Boolean);
}

/** A server of their own: pgbench needs more connections than the naive design's pool would leave it. */
async function appendVariants(without, context) {
  const server = await throwAwayServer('append', context);
  const variant = async (name, script, env = {}) => {
    const DATABASE_URL = await makeDatabase(server, name);
    return appendVariant(`append ${name}`, script, server, { ...env, DATABASE_URL }, context);
  };
  const peers = await peersOr(without, context);
  const pgbench = await pgbenchVariant('append pgbench', server, context);
  if (!pgbench) without.pgbench = 'pgbench is left out: there is none in PATH or /usr/lib/postgresql';
  context.notes.push(...Object.values(without));
  return [
    await variant('ours', 'append-ours.mjs'),
    await variant('conversion', 'append-ours.mjs', { APPEND: 'conversion' }),
    peers && (await variant('emmett', 'append-emmett.mjs', { PEERS_DIR: peers })),
    pgbench,
  ].filter(Boolean);
}

async function peersOr(without, { progress }) {
  progress('installing the peer to compare with (first run only) …');
  try {
    return await installPeers();
  } catch (error) {
    progress(error.message);
    without.emmett = 'emmett-postgresql is left out: it could not be installed from the npm registry';
    return undefined;
  }
}

export async function throwAwayServer(name, context) {
  const server = await startThrowAwayServer(join(context.directory, name));
  context.cleanUp.push(() => server.stop());
  context.postgresVersion ??= await serverVersion(server);
  return server;
}

// ---- the rows ----

function httpRows(connections, echo, inbound, naive) {
  const at = `${connections} connections`;
  const toEcho = (what, own, target) => ratioRow(what, own, echo, { target, columns: variantColumns(own) });
  return [
    { what: `(a) raw node:http echo, ${at}`, figure: echo.some(Boolean) ? '1.00' : undefined, ...variantColumns(echo) },
    toEcho(`(b) inbound, durable, ${at}: to the echo`, inbound, { atLeast: INBOUND_TARGET[connections] }),
    ratioRow('↳ its CPU, service + PostgreSQL: to the echo', inbound, echo, { by: 'cpu', target: { atMost: 3.5 } }),
    singleRow('↳ its errors', variantColumns(inbound).errors, 'count', { atMost: 0 }),
    toEcho(`(c) naive design, ${at}: to the echo`, naive),
    ratioRow('↳ (b) inbound: to the naive design', inbound, naive, { target: { atLeast: 4 } }),
  ];
}

/** The targets compare like with like: the same document, one event. What a whole conversion costs stands beside it. */
function appendRows(ours, conversion, emmett, pgbench, without) {
  const leftOut = (reason) => (reason ? { figure: LEFT_OUT } : {});
  const row = (what, own, reason) => ({ what, ...variantColumns(own), ...leftOut(reason) });
  const compared = (what, own, others, reason, target) => ({
    ...ratioRow(what, own, others, { target }),
    ...leftOut(reason),
  });
  const inFlight = `${APPENDS_IN_FLIGHT} in flight`;
  return [
    row(`append to our log, one event, ${inFlight}`, ours),
    row(`append to our log, a conversion with claim and personal row, ${inFlight}`, conversion),
    row(`append to (d) emmett-postgresql, one event, ${inFlight}`, emmett, without.emmett),
    row(`append by pgbench -c ${PGBENCH_CLIENTS}, one row a commit`, pgbench, without.pgbench),
    compared('↳ our log, one event: to emmett-postgresql', ours, emmett, without.emmett, { atLeast: 5 }),
    compared('↳ our log, one event: to pgbench', ours, pgbench, without.pgbench, { atLeast: 1.2 }),
    compared('↳ our log, a conversion: to pgbench', conversion, pgbench, without.pgbench),
  ];
}
