// The scan part: what finding owed deliveries costs PostgreSQL per event of the log.
import { join } from 'node:path';
import { hasCounters, treeCpuSeconds } from './counters.mjs';
import { singleRow, spread } from './figures.mjs';
import { fillDeliveries } from './fill-log.mjs';
import { databaseUrl, serverVersion, startTemporaryServer, withClient } from './postgres.mjs';

const PLATFORMS = ['meta', 'segment', 'reddit'];
/** Without an outcome: one in so many conversions. */
const UNSETTLED_EVERY = 1_000;
const thousands = (count) => count.toLocaleString('en-US');

export async function scanRun(context) {
  const { directory, settings, progress, part } = context;
  const server = await part('the server', () => startTemporaryServer(join(directory, 'scan')));
  if (!server) return [];
  context.cleanUp.push(server.stop);
  context.postgresVersion = await serverVersion(server);
  const log = await part('the log', () => openLog(server));
  if (!log) return [];
  const events = await part('the events', () =>
    withClient(server, (client) =>
      fillDeliveries(
        client,
        { events: settings.events, platforms: PLATFORMS, unsettledEvery: UNSETTLED_EVERY },
        (done) => progress(`filling: ${thousands(done)} of ${thousands(settings.events)} events …`),
      ),
    ),
  );
  const scans = [];
  for (let round = 0; round < settings.rounds && events; round += 1) {
    progress(`scan ${round + 1} of ${settings.rounds} …`);
    scans.push(await part(`scan ${round + 1}`, () => scan(server, log, events)));
  }
  await log.close();
  const of = (field) => spread(scans.filter(Boolean).map((one) => one[field]))?.median;
  const size = `${thousands(settings.events)} events`;
  return [
    { what: `the scan for owed deliveries, ${size}`, rate: of('rate') },
    singleRow(`CPU of PostgreSQL per event, ${size}`, of('postgres'), 'µs', { atMost: 4 }),
    singleRow('CPU of the service per event', of('own'), 'µs'),
  ];
}

async function openLog(server) {
  const { Postgres } = await import('../../dist/postgres/postgres.js');
  const { PostgresEventLog } = await import('../../dist/log/postgres-event-log.js');
  const url = databaseUrl(server, server.database);
  const postgres = await Postgres.open({ databaseUrl: url, dataDir: '', onMessage: () => {} });
  const log = new PostgresEventLog(postgres);
  const close = async () => {
    await log.close();
    await postgres.close();
  };
  return { log, close };
}

async function scan(server, { log }, { first, last, unsettled: expected }) {
  const { UnsettledConversions } = await import('../../dist/delivery/owed/owed.js');
  const { readUnsettled } = await import('../../dist/delivery/owed/read-unsettled.js');
  const unsettled = new UnsettledConversions(first - 1, () => 0);
  const before = hasCounters ? treeCpuSeconds(server.postmaster) : undefined;
  const ownBefore = process.cpuUsage();
  const startedMs = performance.now();
  await readUnsettled(log, unsettled, last, () => true);
  const seconds = (performance.now() - startedMs) / 1_000;
  const own = process.cpuUsage(ownBefore);
  const after = hasCounters ? treeCpuSeconds(server.postmaster) : undefined;
  const found = [...unsettled.owed(1)].length;
  if (found !== expected) throw new Error(`found ${found} owed deliveries instead of ${expected}`);
  const events = last - first + 1;
  return {
    rate: events / seconds,
    postgres: before === undefined ? undefined : ((after - before) / events) * 1e6,
    own: (own.user + own.system) / events,
  };
}
