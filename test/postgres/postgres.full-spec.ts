import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { Client } from 'pg';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { MIGRATIONS } from '../../src/postgres/migrations/index.js';
import { Postgres } from '../../src/postgres/postgres.js';
import { createEmptyDatabase, databaseOf, openDatabase } from '../support/databases.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';

describe('opening PostgreSQL', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.stop());

  const asOwner = async (url: string, sql: string) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(sql);
    await client.end();
  };

  it('runs the migrations once when several instances start at the same time', async () => {
    const url = await createEmptyDatabase(server);
    const instances = await Promise.all([1, 2, 3, 4].map(() => openDatabase(url)));
    const { rows } = await (instances[0] as (typeof instances)[0]).pool.query(
      'SELECT name FROM cc.schema_migrations ORDER BY id',
    );
    expect(rows.map(({ name }) => name)).toEqual(MIGRATIONS.map((Migration) => new Migration().name));
    for (const instance of instances) await instance.close();
  });

  it('rejects a database with synchronous_commit off and names the setting', async () => {
    const url = await createEmptyDatabase(server);
    await asOwner(url, `ALTER DATABASE ${databaseOf(url)} SET synchronous_commit = off`);
    await expect(openDatabase(url)).rejects.toThrow(/synchronous_commit = off.*Set synchronous_commit = on/s);
  });

  it('logs in as a role that cannot regain the rights of the owner', async () => {
    const url = await createEmptyDatabase(server);
    const postgres = await openDatabase(url);
    const again = await openDatabase(url);
    for (const query of ['RESET ROLE', 'SET ROLE NONE', 'RESET SESSION AUTHORIZATION']) {
      for (const client of [await postgres.connect('test'), await again.connect('test')]) {
        await client.query(query);
        const { rows } = await client.query(
          `SELECT session_user::text AS login, rolsuper, rolcreaterole, has_table_privilege('cc.events', 'DELETE') AS may_delete
             FROM pg_roles WHERE rolname = current_user`,
        );
        expect(rows).toEqual([
          { login: expect.stringMatching(/^cc_service_/), rolsuper: false, rolcreaterole: false, may_delete: false },
        ]);
        await expect(client.query('SET ROLE postgres')).rejects.toThrow(/permission denied/);
        await expect(client.query('SELECT password FROM cc.service_login')).rejects.toThrow(/permission denied/);
        await client.end();
      }
    }
    await again.close();
    await postgres.close();
  });

  it('creates the login again where a restored backup lacks it', async () => {
    const url = await createEmptyDatabase(server);
    await (await openDatabase(url)).close();
    const login = `SELECT role FROM cc.service_login`;
    await asOwner(url, `DO $$ BEGIN EXECUTE (SELECT format('DROP ROLE %I', role) FROM cc.service_login); END $$`);
    const postgres = await openDatabase(url);
    const owner = await postgres.connectAsOwner('test');
    const { rows } = await postgres.pool.query('SELECT session_user::text AS role');
    expect(rows).toEqual((await owner.query(login)).rows);
    await owner.end();
    await postgres.close();
  });

  it('lets the role of the service move positions only as a change of the server requires', async () => {
    const postgres = await openDatabase(await createEmptyDatabase(server));
    for (const leap of ['1', '0', '-1000000000', '9000000000000000000', 'NULL']) {
      await expect(postgres.pool.query(`SELECT cc.follow_lineage(${leap})`)).rejects.toThrow(/accepts no other leap/);
    }
    for (const table of ['lineage', 'log_partitions', 'schema_compatibility']) {
      await expect(postgres.pool.query(`DELETE FROM cc.${table}`)).rejects.toThrow(/permission denied/);
    }
    await postgres.close();
  });

  it('works for a login that may not create roles, append-only by the trigger alone', async () => {
    const url = await createEmptyDatabase(server);
    const name = databaseOf(url);
    await asOwner(url, `CREATE ROLE plain_${name} LOGIN; ALTER DATABASE ${name} OWNER TO plain_${name}`);
    const postgres = await openDatabase(url.replace('postgres@', `plain_${name}@`));
    const log = new PostgresEventLog(postgres);
    const events = [{ type: 'thing.happened.v1', data: {} }] as const;
    const request = {
      category: 'thing',
      stream: uuidv7(),
      expected: 'new',
      site: 's',
      actor: 'system',
      events,
    } as const;
    expect(await log.append(request)).toMatchObject({ status: 'appended' });
    await expect(postgres.pool.query('DELETE FROM cc.events')).rejects.toThrow(/append-only/);
    await log.close();
    await postgres.close();
  });
});

it('every pool lets queries wait for a connection as long as it was told to', async () => {
  const server = await startTestServer();
  const options = { databaseUrl: server.url(), dataDir: tmpdir(), onMessage: () => {} };
  const postgres = await Postgres.open({ ...options, connectWithinMs: 20_000 });
  for (const pool of [postgres.pool, postgres.reserved]) expect(pool.options.connectionTimeoutMillis).toBe(20_000);
  await postgres.close();
  await server.stop();
});

it('opening PostgreSQL waits for a server that is restarting, and fails at once for one that answers', async () => {
  const server = await startTestServer();
  const databaseUrl = server.url();
  await server.kill9();
  const messages: string[] = [];
  let restarted = Promise.resolve();
  const onMessage = (line: string) => {
    messages.push(line);
    restarted = server.restart();
  };
  const postgres = await Postgres.open({ databaseUrl, dataDir: tmpdir(), onMessage, waitMs: 60_000 });
  await restarted;
  expect(messages).toEqual([expect.stringMatching(/^PostgreSQL cannot be reached: .* Trying again for 1m\.$/)]);
  await postgres.close();
  const missing = server.url('missing');
  const open = Postgres.open({ databaseUrl: missing, dataDir: tmpdir(), onMessage, waitMs: 600_000 });
  await expect(open).rejects.toThrow(/"missing" does not exist/);
  expect(messages).toHaveLength(1);
  await server.stop();
});

it.each(['fsync', 'full_page_writes'])('opening PostgreSQL rejects a server with %s off, by name', async (setting) => {
  const server = await startTestServer({ settings: { [setting]: 'off' } });
  await expect(openDatabase(server.url())).rejects.toThrow(new RegExp(`${setting} = off.*Set ${setting} = on`, 's'));
  await server.stop();
});

it('opening PostgreSQL reports a server that ends the connection in the same packet as its greeting', async () => {
  const message = (type: string, body: string) => {
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, Buffer.from(body, 'latin1')]);
  };
  // AuthenticationOk, ReadyForQuery, ErrorResponse 57P01: pg emits the error before `connect()` has resolved for its caller.
  const greeting = [
    message('R', '\0\0\0\0'),
    message('Z', 'I'),
    message('E', 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
  ];
  const server = createServer((socket) => {
    socket.once('data', () => socket.end(Buffer.concat(greeting))).on('error', () => {});
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await expect(openDatabase(`postgres://user@127.0.0.1:${port}/db`)).rejects.toThrow();
  await new Promise((closed) => server.close(closed));
});
