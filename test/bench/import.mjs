// The import part: a CSV file imported by the command line, compared with appending conversions; then a large file whose
// import is killed three times.

import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runChild, startChild } from './children.mjs';
import { hasCounters, treeCpuSeconds } from './counters.mjs';
import { ratioRow, singleRow, variantColumns } from './figures.mjs';
import { createDatabase, serverVersion, startTemporaryServer, withClient } from './postgres.mjs';
import { interleave, recordRounds } from './rounds.mjs';
import { APPENDS_IN_FLIGHT, appendVariant } from './variants.mjs';

const CLI = new URL('../../dist/cli.js', import.meta.url).pathname;
const DATABASE = 'import';
const KILLS = 3;
const thousands = (count) => count.toLocaleString('en-US');

export async function importRun(context) {
  const { directory, settings, progress, part } = context;
  const server = await part('the server', () => startServer(join(directory, 'server'), context));
  if (!server) return [];
  const env = await part('the databases', () => prepare(server, context));
  if (!env) return [];
  progress('writing the files …');
  const file = join(directory, 'conversions.csv');
  await writeExport(file, settings.importRows);
  const append = appendVariant('append', 'append-ours.mjs', server, env.append, context);
  let round = 0;
  const variants = [
    append,
    { id: 'import', run: () => measureImport(server, env.import, file, `s${++round}.example`, settings.importRows) },
  ];
  const rounds = await part('the rounds', () => interleave(variants, settings.rounds, progress));
  const rows = rounds ? rateRows(rounds, context) : [];
  return [...rows, ...((await part('the large file', () => killedRows(server, env.import, context))) ?? [])];
}

async function startServer(dataDir, context) {
  const server = await startTemporaryServer(dataDir);
  context.cleanUp.push(server.stop);
  context.postgresVersion = await serverVersion(server);
  return server;
}

/** Every round imports into a site of its own: a second import of the same file would store nothing. */
async function prepare(server, { directory, settings }) {
  const secret = { SECRET_KEY: 'ab'.repeat(32), DATA_DIR: join(directory, 'data') };
  const env = {
    append: { APPEND: 'conversion', DATABASE_URL: await createDatabase(server, 'append') },
    import: { ...secret, DATABASE_URL: await createDatabase(server, DATABASE) },
  };
  const sites = [...Array.from({ length: settings.rounds }, (_, round) => `s${round + 1}.example`), 'large.example'];
  for (const site of sites)
    await runChild('sites add', process.execPath, [CLI, 'sites', 'add', site], { env: env.import });
  return env;
}

const importArguments = (file, site) => [CLI, 'conversions', 'import', file, '--site', site, '--json'];

/** From the start of the process to its end. */
async function measureImport(server, env, file, site, rows) {
  const [cpu, started] = [hasCounters && treeCpuSeconds(server.postmaster), performance.now()];
  const child = startChild('the import', process.execPath, importArguments(file, site), { env });
  const { code } = await child.exited;
  const seconds = (performance.now() - started) / 1_000;
  const counts = code === 0 ? JSON.parse(child.output) : undefined;
  if (counts?.accepted !== rows) throw new Error(`imported ${child.output} of ${rows} rows: ${child.stderrTail}`);
  const cpuPostgres = hasCounters ? ((treeCpuSeconds(server.postmaster) - cpu) / rows) * 1e6 : undefined;
  return { rate: rows / seconds, cpuPostgres, errors: 0 };
}

function rateRows(rounds, context) {
  recordRounds(rounds, context);
  const { append, import: imported } = rounds.samples;
  return [
    { what: `append of a conversion, ${APPENDS_IN_FLIGHT} in flight`, ...variantColumns(append) },
    ratioRow(
      `import of a CSV file of ${thousands(context.settings.importRows)} rows, from start to end of the process: to the append`,
      imported,
      append,
      { target: { atLeast: 0.8 }, columns: variantColumns(imported) },
    ),
  ];
}

/** 5 % of the rows repeat an earlier one, 1 % have no valid address. */
async function killedRows(server, env, { directory, settings, progress }) {
  const [file, rows] = [join(directory, 'large.csv'), settings.largeRows];
  await writeExport(file, rows, { repeatedEvery: 20, badEvery: 100 });
  const expected = rows - rows / 20 - rows / 100;
  let peak = 0;
  let finished;
  for (let run = 0; run <= KILLS; run += 1) {
    const killAt = run < KILLS ? (expected * (run + 1)) / (KILLS + 1) : Number.POSITIVE_INFINITY;
    const child = startChild('the import', process.execPath, importArguments(file, 'large.example'), { env });
    finished = await watched(child, server, killAt, (stored, megabytes) => {
      peak = Math.max(peak, megabytes);
      progress(
        `large file, run ${run + 1} of ${KILLS + 1}: ${thousands(stored)} of ${thousands(expected)} conversions …`,
      );
    });
  }
  const stored = await storedConversions(server);
  const { accepted, deduplicated, rejected } = finished;
  if (accepted + deduplicated + rejected !== rows || rejected !== rows / 100)
    throw new Error(`the last run counted ${JSON.stringify(finished)} of ${rows} rows`);
  const what = `${thousands(rows)} rows, 5 % duplicates, 1 % bad, killed ${KILLS} times`;
  return [
    singleRow(
      `missing or repeated in the log, ${what} (${thousands(stored)} stored)`,
      Math.abs(stored - expected),
      'count',
      { atMost: 0 },
    ),
    singleRow('↳ largest RSS of the import', hasCounters ? peak : undefined, 'MB', { atMost: 200 }),
  ];
}

/** Resolves with the counts when the process ends, and with undefined when it was killed. */
async function watched(child, server, killAt, onProgress) {
  let outcome;
  child.exited.then((exit) => {
    outcome = exit;
  });
  while (!outcome) {
    await sleep(250);
    const stored = await storedConversions(server);
    if (!outcome && hasCounters) onProgress(stored, peakMegabytes(child.pid));
    if (stored >= killAt && !outcome) child.kill('SIGKILL');
  }
  if (outcome.signal === 'SIGKILL') return undefined;
  if (outcome.code !== 0) throw new Error(`the import failed: ${child.stderrTail}`);
  return JSON.parse(child.output);
}

function peakMegabytes(pid) {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? 0 : (Number(kilobytes) * 1024) / 1e6;
  } catch {
    return 0; // It has just ended.
  }
}

/** Claims of the site: one per conversion. */
async function storedConversions(server) {
  const text = `SELECT count(*)::float8 AS count FROM cc.dedup WHERE site = 'large.example'`;
  const { rows } = await withClient(server, (client) => client.query(text), DATABASE);
  return rows[0].count;
}

/** An export in the format of a German Excel, with the fields of the other measurements. */
async function writeExport(file, rows, { repeatedEvery = 0, badEvery = 0 } = {}) {
  const out = createWriteStream(file);
  out.write('\ufeffEmail;Event;Value;Currency;Order ID;First name;Last name;Phone;Occurred at\r\n');
  for (let row = 1; row <= rows; row += 1) {
    const order = repeatedEvery && row % repeatedEvery === repeatedEvery - 1 ? row - 10 : row;
    const email = badEvery && row % badEvery === badEvery / 2 ? 'no address' : `jane.doe${order}@example.com`;
    const line = `${email};purchase;129,90;EUR;ORD-${order};Jane;"Doe";+49 30 ${10_000_000 + order};01.03.2026 11:15\r\n`;
    if (!out.write(line)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
}
