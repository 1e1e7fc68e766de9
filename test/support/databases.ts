import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { Client } from 'pg';
import type { Settings } from '../../src/kernel/settings/settings.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import type { RecentEvents } from '../../src/log/recent-events.js';
import { Postgres } from '../../src/postgres/postgres.js';
import { type TestServer, urlOf } from './postgres-server.js';

/** A server on which databases are created. */
export type DatabaseServer = Pick<TestServer, 'host' | 'url'>;

/**
 * The server of the run, which all spec files share (test/runner/setup.mjs). A spec that kills, freezes, restarts or configures
 * a server starts its own.
 */
export const sharedServer: DatabaseServer = {
  get host() {
    return sharedHost();
  },
  url: (database) => urlOf({ socketDir: sharedHost() }, database),
};

/** Creates an empty database and returns its URL. */
export async function createEmptyDatabase(server: DatabaseServer = sharedServer): Promise<string> {
  return server.url(await createFrom(server, 'template1'));
}

/** Names of databases with the current schema. */
const templates = new WeakMap<DatabaseServer, Promise<string>>();

/** Creates a database with the current schema and returns its URL. A copy takes a fraction of the time of the migrations. */
export async function createDatabase(server: DatabaseServer = sharedServer): Promise<string> {
  let template = templates.get(server);
  if (!template) {
    template = server === sharedServer ? Promise.resolve('template_cc') : createTemplate(server);
    templates.set(server, template);
  }
  return server.url(await createFrom(server, await template));
}

/** Copies a database, to which nothing may be connected, and returns the URL of the copy. */
export async function copyDatabase(databaseUrl: string): Promise<string> {
  return sharedServer.url(await createFrom(sharedServer, databaseOf(databaseUrl)));
}

/** The URL has no host (it names a socket folder), so `URL` cannot parse it. */
export function databaseOf(databaseUrl: string): string {
  return /\/(\w+)\?/.exec(databaseUrl)?.[1] as string;
}

async function createTemplate(server: DatabaseServer): Promise<string> {
  const name = await createFrom(server, 'template1');
  const postgres = await openDatabase(server.url(name));
  await postgres.close();
  return name;
}

/** Databases on the shared server that the files of this worker have created, by the file. */
const created = new Map<string, string[]>();

async function createFrom(server: DatabaseServer, template: string): Promise<string> {
  const name = `t${randomBytes(6).toString('hex')}`;
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  if (server === sharedServer) await dropThoseOfOtherFiles(client, name);
  // Copies files instead of writing them to the write-ahead log, which is kept in memory.
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  await client.end();
  return name;
}

/** They have ended, and a run has hundreds of databases. */
async function dropThoseOfOtherFiles(client: Client, next: string): Promise<void> {
  const file = expect.getState().testPath as string;
  for (const [other, names] of created) {
    if (other === file) continue;
    for (const name of names) await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    created.delete(other);
  }
  created.set(file, [...(created.get(file) ?? []), next]);
}

/** A log in a database of its own, for all tests of a file. */
export async function useLog(recent?: RecentEvents) {
  const databaseUrl = await createDatabase();
  const postgres = await openDatabase(databaseUrl);
  const log = new PostgresEventLog(postgres, {}, recent);
  afterAll(async () => {
    await log.close();
    await postgres.close();
  });
  return { databaseUrl, postgres, log };
}

export function openDatabase(databaseUrl: string, standby?: Settings['standby']): Promise<Postgres> {
  return Postgres.open({ databaseUrl, standby, dataDir: tmpdir(), onMessage: () => {} });
}

function sharedHost(): string {
  const host = process.env['CC_TEST_POSTGRES'];
  if (!host)
    throw new Error('This spec uses the server of the run: put it into a project with the setup of test/runner.');
  return host;
}
