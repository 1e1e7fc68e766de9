// PostgreSQL servers: temporary ones for the naive design and the append measurements, and access to the one that a
// service under test has started.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { unwatchServer, watchServer } from './children.mjs';

/**
 * Started by the product's launcher, so that binaries and settings equal those of the service.
 * @returns `{ host, port, user, postmaster, stop }`
 */
export async function startTemporaryServer(dataDir) {
  const { acquireEmbeddedServer } = await import('../../dist/postgres/embedded-server.js');
  const embedded = await acquireEmbeddedServer({ dataDir, onMessage: () => {} });
  const server = findServer(dataDir);
  const stop = async () => {
    await embedded.release();
    unwatchServer(server.postmaster);
  };
  return { ...server, stop };
}

/** The server that runs on a data directory: pid, port and socket folder from its lock file. */
export function findServer(dataDir) {
  const lines = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
  const postmaster = Number(lines[0]);
  watchServer(postmaster);
  return { postmaster, port: Number(lines[3]), host: lines[4], user: 'postgres', database: 'postgres' };
}

/** Every variant connects over the Unix socket: TCP costs more and would distort the comparison. */
export function databaseUrl({ host, port, user }, database) {
  return `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
}

export async function createDatabase(server, name) {
  await withClient(server, (client) => client.query(`CREATE DATABASE ${name}`));
  return databaseUrl(server, name);
}

export async function serverVersion(server) {
  const { rows } = await withClient(server, (client) => client.query('SHOW server_version'));
  return rows[0].server_version.split(' ')[0];
}

export async function withClient(server, work, database = server.database) {
  const client = new pg.Client({ host: server.host, port: server.port, user: server.user, database });
  // The next query reports a lost server. Without a listener the error event would end this process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
