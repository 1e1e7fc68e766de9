// The large-log part: two services, one on a filled log and one on an empty log, in interleaved rounds.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ratioRow, variantColumns } from './figures.mjs';
import { fillLog } from './fill-log.mjs';
import { databaseUrl, serverVersion, withClient } from './postgres.mjs';
import { interleave } from './rounds.mjs';
import { startService } from './service.mjs';
import { APPENDS_IN_FLIGHT, appendVariant, fillInbound, httpVariant, inboundTarget } from './variants.mjs';

const CONNECTIONS = [64, 256];
const QUIET_MS = 3_000;
/** A whole conversion: its dedup claim and personal row are what a large log spreads over many pages. */
const CONVERSION = { APPEND: 'conversion' };
const thousands = (count) => count.toLocaleString('en-US');

export async function largeLogRun(context) {
  const { directory, settings, progress, part } = context;
  const full = await part('the filled log', () => startFilled(join(directory, 'full'), context));
  const empty = await part('the empty log', () => startService(join(directory, 'empty')));
  if (!full || !empty) return [];
  progress('warming up both …');
  for (const service of [empty, full]) {
    await part('the warm-up', () => fillInbound(service, settings.warmUp, context));
  }
  context.postgresVersion = await serverVersion(empty.server);
  const both = (name, make) => [make(`${name}, empty log`, empty), make(`${name}, full log`, full)];
  const append = (id, { server }) =>
    appendVariant(
      id,
      'append-ours.mjs',
      server,
      { ...CONVERSION, DATABASE_URL: databaseUrl(server, server.database) },
      context,
    );
  const inbound = (connections) => (id, service) => httpVariant(id, inboundTarget(service), connections, context);
  const variants = [
    ...both(`inbound @${CONNECTIONS[0]}`, inbound(CONNECTIONS[0])),
    ...both('append', append),
    ...both(`inbound @${CONNECTIONS[1]}`, inbound(CONNECTIONS[1])),
  ];
  const rounds = await part('the rounds', () => interleave(variants, settings.rounds, progress));
  context.notes.push(...rounds.roundErrors);
  context.failures.push(...rounds.failures);
  const { samples } = rounds;
  context.samples = samples;
  const compared = (what, name) =>
    comparison(what, samples[`${name}, empty log`], samples[`${name}, full log`], settings);
  return [
    ...CONNECTIONS.flatMap((connections) => compared(`inbound, ${connections} connections`, `inbound @${connections}`)),
    ...compared(`append of a conversion, ${APPENDS_IN_FLIGHT} in flight`, 'append'),
  ];
}

async function startFilled(dataDir, { settings, progress }) {
  const service = await startService(dataDir);
  await withClient(service.server, async (client) => {
    await fillLog(client, settings, (done) =>
      progress(`filling: ${thousands(done)} of ${thousands(settings.events)} events …`),
    );
    progress('waiting for the projections …');
    await untilQuiet(client);
  });
  return service;
}

/** Waits until the projections have caught up: their work would otherwise be part of the measurement. */
export async function untilQuiet(client) {
  const read = async () =>
    JSON.stringify((await client.query('SELECT name, position FROM cc.projections ORDER BY 1')).rows);
  for (let before; ; ) {
    const now = await read();
    if (now === before) return;
    before = now;
    await sleep(QUIET_MS);
  }
}

function comparison(what, empty, full, { events, claims }) {
  return [
    { what: `${what}, empty log`, ...variantColumns(empty) },
    ratioRow(
      `${what}, ${thousands(events)} events, ${thousands(claims)} live dedup claims: ratio to the empty log`,
      full,
      empty,
      {
        target: { atLeast: 0.9 },
        columns: variantColumns(full),
      },
    ),
  ];
}
