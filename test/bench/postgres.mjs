// PostgreSQL servers: the throw-away ones that the naive design and the append-only figures run on, and a look into the
// one that a service under test has started.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { letGoOfServer, watchServer } from './children.mjs';

/**
 * The product's own launcher makes the throw-away server, so binaries and settings are the same by construction.
 * @returns `{ host, port, user, postmaster, stop }`
 */
export async function startThrowAwayServer(dataDir) {
  const { acquireEmbeddedServer } = await import('../../dist/postgres/embedded-server.js');
  const embedded = await acquireEmbeddedServer({ dataDir, onMessage: () => {} });
  const server = findServer(dataDir);
  const stop = async () => {
    await embedded.release();
    letGoOfServer(server.postmaster);
  };
  return { ...server, stop };
}

/** The server that runs on a data directory, as its lock file tells: pid, port and socket folder. */
export function findServer(dataDir) {
  const lines = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
  const postmaster = Number(lines[0]);
  watchServer(postmaster);
  return { postmaster, port: Number(lines[3]), host: lines[4], user: 'postgres', database: 'postgres' };
}

/** Everyone connects over the unix socket: a TCP connection costs more, and the figures would compare that. */
export function databaseUrl({ host, port, user }, database) {
  return `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
}

export async function makeDatabase(server, name) {
  await withClient(server, (client) => client.query(`CREATE DATABASE ${name}`));
  return databaseUrl(server, name);
}

export async function serverVersion(server) {
  const { rows } = await withClient(server, (client) => client.query('SHOW server_version'));
  return rows[0].server_version.split(' ')[0];
}

export async function withClient(server, work, database = server.database) {
  const client = new pg.Client({ host: server.host, port: server.port, user: server.user, database });
  // A server that goes away is told by the next query; unheard, the event would end this process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
