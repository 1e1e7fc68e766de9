import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { Client } from 'pg';
import type { Settings } from '../../src/kernel/settings.js';
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
  return server.url(await createFrom(server, 'template1'));
}

/** Names of databases with the current schema. */
const templates = new WeakMap<TestServer, Promise<string>>();

/** The same with the current schema. For suites with many databases: a copy takes less time than the migrations. */
export async function createMigratedDatabase(server: TestServer): Promise<string> {
  let template = templates.get(server);
  if (!template) {
    template = createTemplate(server);
    templates.set(server, template);
  }
  return server.url(await createFrom(server, await template));
}

async function createTemplate(server: TestServer): Promise<string> {
  const name = await createFrom(server, 'template1');
  const postgres = await openDatabase(server.url(name));
  await postgres.close();
  return name;
}

async function createFrom(server: TestServer, template: string): Promise<string> {
  const name = `t${randomBytes(6).toString('hex')}`;
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  await client.end();
  return name;
}

export function openDatabase(databaseUrl: string, standby?: Settings['standby']): Promise<Postgres> {
  return Postgres.open({ databaseUrl, standby, dataDir: tmpdir(), onMessage: () => {} });
}
