import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { jest } from '@jest/globals';
import type { PoolClient } from 'pg';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, databaseOf } from '../support/databases.js';
import { thing } from '../support/event-log.contract.js';
import { startTestServer, type TestServer, type TestStandby } from '../support/postgres-server.js';
import { eventually } from '../support/waiting.js';

/** How a query or a connection ends on a server that is frozen: it is closed, or was too slow before. */
const LEFT = /Connection terminated|timeout expired|Query read timeout/;
const hostOf = ({ host }: { host: string }) => encodeURIComponent(host);
/** The port is part of the socket's name. */
const urlOf = (database: string, ...hosts: { host: string }[]) =>
  `postgres://postgres@${hosts.map((one) => `${hostOf(one)}:5432`).join(',')}/${database}?target_session_attrs=read-write`;

describe('a database with a standby', () => {
  let server: TestServer;
  let standby: TestStandby;
  let database: string;
  let postgres: Postgres;
  let log: PostgresEventLog;
  const messages: string[] = [];

  const open = (...hosts: { host: string }[]) =>
    Postgres.open({
      databaseUrl: urlOf(database, ...hosts),
      dataDir: tmpdir(),
      onMessage: (line) => messages.push(line),
    });
  const connectedTo = async () => {
    const client = (await postgres.pool.connect()) as PoolClient & { host: string };
    client.release();
    return client.host;
  };

  beforeEach(async () => {
    server = await startTestServer();
    database = databaseOf(await createDatabase(server));
    standby = await server.addStandby();
    messages.length = 0;
    postgres = await open(standby, server);
    log = new PostgresEventLog(postgres, { onMessage: (line) => messages.push(line) });
    await log.append(thing());
  });
  afterEach(async () => {
    server.thaw();
    await log.close();
    await postgres.close();
    await standby.stop();
    await server.stop();
  });

  it('is written on its primary, wherever it is in the list', async () => {
    expect(await connectedTo()).toBe(server.host);
    const client = await postgres.connect('test');
    expect(inspect(client, { depth: 3 })).not.toMatch(/postgres:\/\//);
    await client.end();
    const other = await open(server, standby);
    expect(other.noPrimary).toBeUndefined();
    await other.close();
  });

  it('is refused when only the standby is named', async () => {
    await expect(open(standby)).rejects.toThrow(/is a standby, which accepts no writes/);
  });

  it('is reported as unavailable while there is no primary, and continues on the promoted standby', async () => {
    await server.kill9();
    // On a busy machine the standby may be slow to answer, too.
    const expected = 'the database has no primary: 1 of its servers are standbys, 1 do not answer';
    await eventually(async () => {
      await postgres.pool.query('SELECT 1').catch(() => {});
      return postgres.noPrimary;
    }, expected);
    await eventually(
      () => open(server, standby).then(String, (error: Error) => error.message),
      (message) => /no server accepts writes: .*ECONNREFUSED.*is a standby|is a standby.*ENOENT/.test(message),
    );
    const append = () => log.append(thing()).catch(() => undefined);
    const appending = append();
    await standby.promote();
    // On a busy machine an append may give up before there is a primary.
    await appending;
    await eventually(append, (outcome) => outcome?.status === 'appended' && outcome.position >= 1_000_000_000);
    expect(await log.refusal()).toBeUndefined();
    expect(messages).toEqual(
      expect.arrayContaining([
        `The primary of the database is now ${standby.host}:5432, before it was ${server.host}:5432.`,
        expect.stringContaining('positions continue at 1000000000'),
      ]),
    );
  });

  it('leaves a frozen primary, and does not return to it when it answers again', async () => {
    // Open connections, of the pool and the reserved pool, with a query that would wait for 30 s.
    await postgres.reserved.query('SELECT 1');
    // So that the next connection need not search for the primary.
    await (await postgres.connect('test')).end();
    server.freeze();
    const waiting = postgres.reserved.query('SELECT 1').catch((error: Error) => error.message);
    // The kernel accepts a connection that the frozen server would serve later.
    const opening = postgres.connect('test').catch((error: Error) => error.message);
    await standby.promote();
    // From then on a connection searches again.
    await sleep(1_100);
    const another = () => postgres.connect('test').then((client) => client.end());
    await eventually(() => another().then(Boolean, String), false);
    expect(await waiting).toMatch(LEFT);
    server.thaw();
    expect(await opening).toMatch(LEFT);
    expect(await log.append(thing())).toMatchObject({ status: 'appended', position: 1_000_000_000 });
    const newest = await open(server, standby);
    const { rows } = await newest.pool.query('SELECT max(position)::float8 AS head FROM cc.events');
    expect(rows).toEqual([{ head: 1_000_000_000 }]);
    await newest.close();
    expect(await connectedTo()).toBe(standby.host);
  });

  it('does not return to an earlier primary for 30 s, and then takes it for a restored one', async () => {
    const another = () =>
      postgres.connect('test').then(
        async (client) => {
          const { host } = client as typeof client & { host: string };
          await client.end();
          return host;
        },
        (error: Error) => error.message,
      );
    await standby.promote();
    await eventually(another, standby.host);
    const beforeMs = performance.now();
    await standby.stop();
    const replaced = /is a primary that another one has replaced/;
    await eventually(another, (found) => replaced.test(found));
    expect(postgres.noPrimary).toContain('1 accept writes on an earlier timeline than another one did');
    const refusedMs = performance.now();
    const now = jest.spyOn(performance, 'now').mockReturnValue(beforeMs + 29_000);
    try {
      // On a busy machine a server may be slow to answer. Not by time, which stands still.
      const anotherOf = async (isExpected: (found: string) => boolean) => {
        for (let tries = 1; ; tries += 1) {
          const found = await another();
          if (isExpected(found) || tries === 20) return found;
        }
      };
      expect(await anotherOf((found) => replaced.test(found))).toMatch(replaced);
      now.mockReturnValue(refusedMs + 30_001);
      expect(await anotherOf((found) => found === server.host)).toBe(server.host);
    } finally {
      now.mockRestore();
    }
  });

  it('opens another connection after an error about a read-only transaction', async () => {
    const client = await postgres.pool.connect();
    await client.query('SET default_transaction_read_only = on');
    const write = client.query(`UPDATE cc.projections SET reason = NULL WHERE name = 'none'`);
    await expect(write).rejects.toMatchObject({ code: '25006' });
    await client.query('ROLLBACK').catch(() => {});
    client.release();
    for (let used = 0; used < 10; used += 1) {
      const { rows } = await postgres.pool.query('SHOW default_transaction_read_only');
      expect(rows).toEqual([{ default_transaction_read_only: 'off' }]);
    }
  });
});
