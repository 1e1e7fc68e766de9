import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { Client } from 'pg';
import { Postgres } from '../../src/postgres/postgres.js';
import { hasDebianPostgres, type TestServer } from './postgres-server.js';

/** The embedded server, and PostgreSQL 15 if Debian's package is installed; warns if it is not. */
export function serversUnderTest(): { name: string; major?: number }[] {
  const servers: { name: string; major?: number }[] = [{ name: 'the embedded PostgreSQL' }];
  if (hasDebianPostgres(15)) servers.push({ name: 'PostgreSQL 15', major: 15 });
  else console.warn('SKIPPED: the same tests on PostgreSQL 15 (install the package postgresql-15 to run them).');
  return servers;
}

/** Creates an empty database on a test server and returns its URL. */
export async function createDatabase(server: TestServer): Promise<string> {
  const name = `t${randomBytes(6).toString('hex')}`;
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return server.url(name);
}

export function openDatabase(databaseUrl: string): Promise<Postgres> {
  return Postgres.open({ databaseUrl, dataDir: tmpdir(), onMessage: () => {} });
}
