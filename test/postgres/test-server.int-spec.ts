import { jest } from '@jest/globals';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { hasDebianPostgres, startTestServer, type TestServer } from '../support/postgres-server.js';

jest.setTimeout(60_000);

describe('a test server', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer();
  });

  afterAll(() => server.stop(), 60_000);

  it('is as careful as the real one', async () => {
    expect(await ask(server.url(), `SELECT current_setting('fsync') AS fsync`)).toEqual([{ fsync: 'on' }]);
  });

  it('has an address that pg and TypeORM understand', async () => {
    await ask(server.url(), 'CREATE DATABASE other');
    const whichOne = 'SELECT current_database() AS name';
    expect(await ask(server.url('other'), whichOne)).toEqual([{ name: 'other' }]);

    const source = await new DataSource({ type: 'postgres', url: server.url('other') }).initialize();
    expect(await source.query(whichOne)).toEqual([{ name: 'other' }]);
    await source.destroy();
  });

  it('can be killed and brought back', async () => {
    await ask(server.url(), 'CREATE TABLE kept AS SELECT 1 AS one');
    const { pid } = server;
    await server.kill9();
    expect(server.pid).toBe(0);
    await server.restart();
    expect(server.pid).not.toBe(pid);
    expect(await ask(server.url(), 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
  });
});

const withDebian15 = hasDebianPostgres(15) ? it : it.skip;
if (!hasDebianPostgres(15)) console.warn("Debian's PostgreSQL 15 is not installed: it is NOT tested.");

withDebian15("may be Debian's PostgreSQL 15, with settings of the test's own", async () => {
  const server = await startTestServer({ major: 15, settings: { fsync: 'off' } });
  const [row] = await ask(server.url(), `SELECT current_setting('fsync') AS fsync, version()`);
  expect(row).toEqual({ fsync: 'off', version: expect.stringContaining('PostgreSQL 15.') });
  await server.stop();
});

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
