// The seals part: the same appends with and without the hash chain, each in its own database, in interleaved rounds.
import { join } from 'node:path';
import { meets, ratioRow, ratios, SKIPPED, spread, variantColumns } from './figures.mjs';
import { createDatabase, databaseUrl, serverVersion, startTemporaryServer, withClient } from './postgres.mjs';
import { interleave, recordRounds } from './rounds.mjs';
import { APPENDS_IN_FLIGHT, appendVariant } from './variants.mjs';

/** One at a time is the dearest case: every event has a seal of its own. Only the other one has a target. */
const IN_FLIGHT = [1, APPENDS_IN_FLIGHT];

export async function sealsRun(context) {
  const { directory, settings, progress, part } = context;
  progress('preparing two databases …');
  const server = await part('the server', () => startServer(join(directory, 'seals'), context));
  if (!server) return [];
  const databases = await part('the databases', () => prepareDatabases(server, context));
  if (!databases) return [];
  const variants = IN_FLIGHT.flatMap((inFlight) =>
    databases.map((database) => walVariant(`${database} @${inFlight}`, server, database, inFlight, context)),
  );
  const rounds = await part('the rounds', () => interleave(variants, settings.rounds, progress));
  if (!rounds) return [];
  recordRounds(rounds, context);
  return IN_FLIGHT.flatMap((inFlight) =>
    rows(inFlight, rounds.samples[`unsealed @${inFlight}`], rounds.samples[`sealed @${inFlight}`]),
  );
}

async function startServer(dataDir, context) {
  const server = await startTemporaryServer(dataDir);
  context.cleanUp.push(server.stop);
  context.postgresVersion = await serverVersion(server);
  return server;
}

/** Both are migrated by a short run. Then one of them loses everything in `cc.append` that the chain needs. */
async function prepareDatabases(server, context) {
  const databases = ['unsealed', 'sealed'];
  for (const database of databases) {
    await createDatabase(server, database);
    const short = { ...context, settings: { warm: 0, seconds: 0.5 } };
    await walVariant(`preparing ${database}`, server, database, APPENDS_IN_FLIGHT, short).run();
  }
  await withClient(server, removeSeals, 'unsealed');
  return databases;
}

async function removeSeals(client) {
  const { rows } = await client.query(`SELECT pg_get_functiondef('cc.append'::regproc) AS source`);
  const [{ source }] = rows;
  const changes = [
    [/, seal AS \([\s\S]*?WHERE count > 0\n\s*\)/, ''],
    [/uuid_send\(coalesce\(i\.salt, gen_random_uuid\(\)\)\)/, `''::bytea`],
    // As before there were seals: the time of the newest event is read from the log.
    ['FROM cc.seals s ORDER BY s.last DESC LIMIT 1', 'FROM cc.seals s WHERE false'],
  ];
  const unsealed = changes.reduce((text, [from, to]) => {
    const changed = text.replace(from, () => to);
    if (changed === text) throw new Error(`cc.append has changed: ${from} is not in it`);
    return changed;
  }, source);
  await client.query(unsealed);
}

/** An append variant whose samples also have the WAL per event. */
function walVariant(id, server, database, inFlight, context) {
  const env = { APPEND: 'conversion', DATABASE_URL: databaseUrl(server, database) };
  const append = appendVariant(id, 'append-ours.mjs', server, env, context, inFlight);
  const run = async () => {
    const before = await readWal(server, database);
    const sample = await append.run();
    const after = await readWal(server, database);
    return { ...sample, walBytes: (after.bytes - before.bytes) / (after.position - before.position) };
  };
  return { id, run };
}

async function readWal(server, database) {
  const text = `SELECT (pg_current_wal_lsn() - '0/0')::float8 AS bytes, CASE WHEN to_regclass('cc.event_position') IS NULL THEN 0
                  ELSE (SELECT last_value FROM pg_sequences WHERE schemaname = 'cc' AND sequencename = 'event_position') END::float8 AS position`;
  const { rows } = await withClient(server, (client) => client.query(text), database);
  return rows[0];
}

function rows(inFlight, unsealed, sealed) {
  const isLoad = inFlight === APPENDS_IN_FLIGHT;
  const cpuTarget = isLoad ? { atMost: 1.1 } : undefined;
  const cpu = { by: 'cpu', target: cpuTarget };
  const cpuPostgres = spread(ratios(sealed, unsealed, (sample) => sample.cpuPostgres ?? Number.NaN));
  const wal = (samples) => spread(samples.flatMap((sample) => (sample ? [sample.walBytes / 1_000] : [])));
  const walTarget = isLoad ? { atMost: 1.75 } : undefined;
  const walRow = { what: '↳ its WAL', unit: 'kB', value: wal(sealed), target: walTarget };
  return [
    { what: `append of a conversion, ${inFlight} in flight, no seals`, figure: '1.00', ...variantColumns(unsealed) },
    { what: '↳ its WAL', unit: 'kB', value: wal(unsealed) },
    { what: `append of a conversion, ${inFlight} in flight, sealed`, unit: 'ratio', ...rateColumns(sealed, unsealed) },
    ratioRow('↳ its CPU, service + PostgreSQL: to no seals', sealed, unsealed, cpu),
    {
      ...{ what: '↳ of PostgreSQL alone', unit: 'ratio', value: cpuPostgres, target: cpuTarget },
      ...{ met: meets(cpuPostgres?.median, cpuTarget), ...(cpuPostgres ? {} : { figure: SKIPPED }) },
    },
    { ...walRow, met: meets(walRow.value?.median, walTarget) },
  ];
}

function rateColumns(sealed, unsealed) {
  return { value: spread(ratios(sealed, unsealed, (sample) => sample.rate)), ...variantColumns(sealed) };
}
