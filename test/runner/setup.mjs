// Prepares a run (Jest's globalSetup): a folder for everything that specs write, a process that removes it however the run ends,
// and one PostgreSQL with a migrated template, from which each spec clones a database of its own.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MEMORY = '/dev/shm';
/** Databases and write-ahead log of a run need about half of it. */
const ROOM_BYTES = 4 * 2 ** 30;

export default async function setUp() {
  // Another project of the same run has done it.
  if (process.env.CC_TEST_POSTGRES) return;
  const folder = mkdtempSync(join(hasRoom(MEMORY) ? MEMORY : tmpdir(), 'cc-run-'));
  // If root runs the tests, another user runs PostgreSQL and must be able to enter the folder.
  chmodSync(folder, 0o755);
  globalThis.ccKeeper = keep(folder);
  process.env.TMPDIR = folder;
  process.env.CC_TEST_POSTGRES = await startPostgres(folder);
}

function hasRoom(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= ROOM_BYTES;
  } catch {
    return false;
  }
}

function keep(folder) {
  const script = fileURLToPath(new URL('./keeper.mjs', import.meta.url));
  const keeper = spawn(process.execPath, [script, folder], { stdio: ['pipe', 'inherit', 'inherit'], detached: true });
  keeper.unref();
  keeper.stdin.unref();
  return keeper;
}

async function startPostgres(dataDir) {
  // The build exists: npm runs prepare.mjs first.
  const { prepareCluster } = await import('../../dist/postgres/cluster.js');
  const { holdServer } = await import('../../dist/postgres/embedded-server.js');
  const { Postgres } = await import('../../dist/postgres/postgres.js');
  const { binariesIn, findBinaries } = await import('../../dist/postgres/postgres-binaries.js');
  // Debian's PostgreSQL of a version, or the embedded one.
  const major = process.env.CC_TEST_POSTGRES_MAJOR;
  const find = (user, log) => (major ? binariesIn(`/usr/lib/postgresql/${major}/bin`, user) : findBinaries(user, log));
  const cluster = await prepareCluster({ dataDir, onMessage: () => {}, find });
  const settings = { ...cluster.settings, max_connections: '300' };
  const holder = await holdServer({ ...cluster, settings }, () => {});
  await holder.query('CREATE DATABASE template_cc');
  await holder.end();
  const databaseUrl = `postgres://postgres@/template_cc?host=${encodeURIComponent(cluster.socketDir)}`;
  const postgres = await Postgres.open({ databaseUrl, standby: undefined, dataDir, onMessage: () => {} });
  await postgres.close();
  return cluster.socketDir;
}
