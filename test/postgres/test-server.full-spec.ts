import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { hasDebianPostgres, startTestServer, type TestServer } from '../support/postgres-server.js';

describe('a test server', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer();
  });

  afterAll(() => server.stop());

  it('keeps fsync on, like the embedded server', async () => {
    expect(await query(server.url(), `SELECT current_setting('fsync') AS fsync`)).toEqual([{ fsync: 'on' }]);
  });

  it('has a URL that pg and TypeORM accept', async () => {
    await query(server.url(), 'CREATE DATABASE other');
    const currentDatabase = 'SELECT current_database() AS name';
    expect(await query(server.url('other'), currentDatabase)).toEqual([{ name: 'other' }]);

    const source = await new DataSource({ type: 'postgres', url: server.url('other') }).initialize();
    expect(await source.query(currentDatabase)).toEqual([{ name: 'other' }]);
    await source.destroy();
  });

  it('can be killed and restarted without losing committed rows', async () => {
    await query(server.url(), 'CREATE TABLE numbers AS SELECT 1 AS one');
    const { pid } = server;
    await server.kill9();
    expect(server.pid).toBe(0);
    await server.restart();
    expect(server.pid).not.toBe(pid);
    expect(await query(server.url(), 'SELECT one FROM numbers')).toEqual([{ one: 1 }]);
  });
});

const withDebian15 = hasDebianPostgres(15) ? it : it.skip;
if (!hasDebianPostgres(15)) console.warn("SKIPPED: Debian's PostgreSQL 15 (install the package postgresql-15).");

withDebian15("can be Debian's PostgreSQL 15, with settings of the test", async () => {
  const server = await startTestServer({ major: 15, settings: { fsync: 'off' } });
  const [row] = await query(server.url(), `SELECT current_setting('fsync') AS fsync, version()`);
  expect(row).toEqual({ fsync: 'off', version: expect.stringContaining('PostgreSQL 15.') });
  await server.stop();
});

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
