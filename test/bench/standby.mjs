// The standby part: the same appends without a standby, with an asynchronous and with a synchronous one, in interleaved rounds.
// Primary and standby share the machine, so the rates include what the standby itself needs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { ClusterDatabase } from '../../deploy/cluster/database.mjs';
import { missingPackages } from '../../deploy/cluster/programs.mjs';
import { watchServer } from './children.mjs';
import { ratios, spread, variantColumns } from './figures.mjs';
import { interleave, recordRounds } from './rounds.mjs';
import { APPENDS_IN_FLIGHT, appendVariant } from './variants.mjs';

const KINDS = {
  none: { what: 'no standby', nodes: 1, synchronous: false },
  asynchronous: { what: 'asynchronous standby', nodes: 2, synchronous: false },
  synchronous: { what: 'synchronous standby', nodes: 2, synchronous: true },
};
const IN_FLIGHT = [1, APPENDS_IN_FLIGHT];

export async function standbyRun(context) {
  const missing = missingPackages();
  if (missing.length > 0) {
    context.failures.push(`the standby part needs Debian packages: apt-get install ${missing.join(' ')}`);
    return [];
  }
  const databases = await context.part('the databases', () => startDatabases(context));
  if (!databases) return [];
  const variants = IN_FLIGHT.flatMap((inFlight) =>
    databases.map(([kind, database]) => variant(`${kind} @${inFlight}`, database, inFlight, context)),
  );
  const rounds = await context.part('the rounds', () =>
    interleave(variants, context.settings.rounds, context.progress),
  );
  if (!rounds) return [];
  recordRounds(rounds, context);
  return IN_FLIGHT.flatMap((inFlight) => rows(inFlight, rounds.samples));
}

async function startDatabases(context) {
  const started = [];
  for (const [kind, options] of Object.entries(KINDS)) {
    context.progress(`starting a database with ${options.what} …`);
    const cluster = await ClusterDatabase.start(join(context.directory, kind), options);
    context.cleanUp.push(() => cluster.stop());
    const primary = await cluster.primary();
    const postmaster = Number(readFileSync(primary.pidFile, 'utf8').split('\n')[0]);
    watchServer(postmaster);
    const { port } = primary;
    const client = { host: '127.0.0.1', port, user: 'postgres', password: cluster.password, database: 'postgres' };
    const database = { postmaster, url: cluster.url, client };
    // Migrates, and fills the caches.
    await variant(`preparing ${kind}`, database, APPENDS_IN_FLIGHT, context).run();
    started.push([kind, database]);
    context.postgresVersion = await query(database, 'SHOW server_version', ({ server_version }) => server_version);
  }
  return started;
}

/** An append variant whose samples also have the bytes that a standby was sent per conversion. */
function variant(id, database, inFlight, context) {
  const env = { APPEND: 'conversion', DATABASE_URL: database.url };
  const append = appendVariant(id, 'append-ours.mjs', database, env, context, inFlight);
  const run = async () => {
    const before = await readSent(database);
    const sample = await append.run();
    const after = await readSent(database);
    return { ...sample, sentBytes: (after.bytes - before.bytes) / (after.position - before.position) };
  };
  return { id, run };
}

/** NaN without a standby. */
function readSent(database) {
  const text = `SELECT (SELECT (sent_lsn - '0/0')::float8 FROM pg_stat_replication LIMIT 1) AS bytes,
                       (SELECT last_value::float8 FROM pg_sequences WHERE schemaname = 'cc' AND sequencename = 'event_position') AS position`;
  return query(database, text, ({ bytes, position }) => ({ bytes: bytes ?? Number.NaN, position: position ?? 0 }));
}

async function query({ client: options }, text, read) {
  const client = new pg.Client(options);
  await client.connect();
  const { rows } = await client.query(text);
  await client.end();
  return read(rows[0]);
}

function rows(inFlight, samples) {
  const none = samples[`none @${inFlight}`];
  return Object.entries(KINDS).flatMap(([kind, { what }]) => {
    const measured = samples[`${kind} @${inFlight}`];
    const name = `append of a conversion, ${inFlight} in flight, ${what}`;
    if (kind === 'none') return [{ what: name, figure: '1.00', ...variantColumns(measured) }];
    const ratio = (value) => spread(ratios(measured, none, value));
    const sent = spread(measured.map((sample) => sample && sample.sentBytes / 1_000));
    return [
      { what: `${name}: to none`, unit: 'ratio', value: ratio(({ rate }) => rate), ...variantColumns(measured) },
      { what: "↳ CPU of the primary's PostgreSQL", unit: 'ratio', value: ratio(({ cpuPostgres }) => cpuPostgres) },
      { what: '↳ p50', unit: 'ratio', value: ratio(({ p50 }) => p50) },
      { what: '↳ sent to the standby', unit: 'kB', value: sent },
    ];
  });
}
