import { tmpdir } from 'node:os';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import type { DoctorDependencies } from '../../src/app/doctor/check.js';
import { standbyReads } from '../../src/app/doctor/standby-reads-check.js';
import { withReadClient } from '../../src/history/with-client.js';
import { copyOut } from '../../src/log/copy.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { readLagging } from '../../src/log/read-lagging.js';
import { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, databaseOf } from '../support/databases.js';
import { thing } from '../support/event-log.contract.js';
import { startTestServer, type TestServer, type TestStandby } from '../support/postgres-server.js';
import { eventually } from '../support/waiting.js';

const HOUR_MS = 3_600_000;
const NOT_ITS_STANDBY = 'the standby does not replicate from the primary';

describe('reads that may lag', () => {
  let server: TestServer;
  let standby: TestStandby;
  let database: string;
  let postgres: Postgres;
  let log: PostgresEventLog;
  const opened: Postgres[] = [];
  const messages: string[] = [];

  /** A spec that is slow must not find the standby too far behind. */
  const open = async (maxLagMs = HOUR_MS, url = standby.url(database)) => {
    const found = await Postgres.open({
      databaseUrl: server.url(database),
      standby: { url, maxLagMs },
      dataDir: tmpdir(),
      onMessage: (line) => messages.push(line),
    });
    opened.push(found);
    return found;
  };
  const append = async () => {
    const outcome = await log.append(thing());
    if (outcome.status !== 'appended') throw new Error(outcome.status);
    return outcome.position;
  };
  const isStandby = `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS "readOnly"`;
  const read = (from = postgres) =>
    readLagging(from, async (reads, client) => {
      const events = (await reads.read({})).map(({ position }) => position);
      return { events, ...(await client.query<{ standby: boolean; readOnly: string }>(isStandby)).rows[0] };
    });

  const refusalOf = async (from: Postgres) => {
    expect((await read(from)).standby).toBe(false);
    return from.standby?.refusal;
  };
  /** A standby that is slow to answer is left alone for a while. */
  const readStandby = () =>
    eventually(
      () => read(),
      ({ standby: isOnStandby }) => isOnStandby === true,
    );

  beforeAll(async () => {
    server = await startTestServer();
    database = databaseOf(await createDatabase(server));
    standby = await server.addStandby();
  });
  beforeEach(async () => {
    messages.length = 0;
    postgres = await open();
    log = new PostgresEventLog(postgres);
    await append();
  });
  afterEach(async () => {
    standby.thaw();
    await log.close();
    for (const one of opened.splice(0)) await one.close();
  });
  afterAll(async () => {
    await standby?.stop();
    await server?.stop();
  });

  it('are answered by the standby, without gaps', async () => {
    const { readOnly } = await readStandby();
    expect(readOnly).toBe('on');
    const appended = (await log.read()).map(({ position }) => position);
    for (let round = 0; round < 30; round += 1) {
      appended.push(await append());
      const { events, asOf } = await read();
      expect(events).toEqual(appended.slice(0, events.length));
      // The standby goes on replaying between the two queries.
      const until = (positions: number[]) => positions.filter((position) => position <= asOf.position);
      expect(until(events)).toEqual(until(appended));
    }
    await eventually(readStandby, ({ asOf }) => asOf.position === appended.at(-1));
  });

  it('say as of which position, when the standby is behind', async () => {
    const last = await append();
    await eventually(readStandby, ({ asOf }) => asOf.position === last);
    await standby.pause();
    try {
      const position = await append();
      const { events, asOf } = await readStandby();
      expect([asOf.position, events.at(-1)]).toEqual([last, last]);
      const { rows } = await postgres.pool.query('SELECT time FROM cc.events WHERE position = $1', [position]);
      expect(Date.parse(asOf.time)).toBeLessThanOrEqual(rows[0].time.getTime());
    } finally {
      await standby.resume();
    }
  });

  it('use the primary when the standby is further behind than allowed', async () => {
    const strict = await open(1);
    await standby.pause();
    try {
      const position = await append();
      await eventually(
        () => refusalOf(strict),
        (refusal = '') => /^the standby is .+ behind$/.test(refusal),
      );
      const { events, standby: isOnStandby, readOnly, asOf } = await read(strict);
      expect([isOnStandby, readOnly]).toEqual([false, 'off']);
      expect([events.at(-1), asOf.position]).toEqual([position, position]);
      expect(messages).toContainEqual(expect.stringMatching(/^Reads that may lag use the primary: /));
    } finally {
      await standby.resume();
    }
  });

  it('do not tell the lag by a clock that was ahead', async () => {
    const strict = await open(1);
    await standby.pause();
    try {
      await append();
      // What was replayed last is from the future.
      jest.spyOn(strict.clock, 'nowMs').mockReturnValue(HOUR_MS);
      await eventually(() => refusalOf(strict), 'the standby is an unknown time behind');
    } finally {
      jest.restoreAllMocks();
      await standby.resume();
    }
  });

  it('of much wait for the standby, and read the primary when it does not come', async () => {
    const strict = await open(1_000);
    const serverOf = async (from: Postgres) => {
      const client = await from.connectToRead('test');
      const { rows } = await client.query(isStandby);
      await client.end();
      return rows[0].standby;
    };
    await eventually(() => serverOf(postgres), Boolean);
    await standby.pause();
    try {
      await append();
      // By the clock, what was replayed last is from the future.
      jest.spyOn(strict.clock, 'nowMs').mockReturnValue(HOUR_MS);
      expect(await serverOf(strict)).toBe(false);
    } finally {
      await standby.resume();
    }
    await standby.pause();
    await append();
    const connecting = eventually(() => serverOf(postgres), Boolean);
    await standby.resume();
    await connecting;
  });

  it('use the primary while the standby is frozen or gone, and the standby again afterwards', async () => {
    const onStandby = async () => (await read()).standby;
    await readStandby();
    standby.freeze();
    expect(await onStandby()).toBe(false);
    standby.thaw();
    await readStandby();
    await standby.stop();
    expect(await onStandby()).toBe(false);
    const dependencies = { postgres, settings: { databaseReadMaxLagMs: 10_000 } } as unknown as DoctorDependencies;
    expect(await standbyReads(dependencies)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/: the primary is read instead$/),
    });
    await standby.restart();
    await readStandby();
    await eventually(
      () => standbyReads(dependencies),
      ({ ok }) => ok,
    );
    expect(messages).toContain('Reads that may lag use the standby again.');
  });

  /** Reads with a connection of its own, which is to the standby. */
  const readMuch = async (work: (client: Client) => Promise<unknown>) => {
    let isOnStandby = false;
    const readOnce = () =>
      withReadClient(postgres, 'test', undefined, async (client) => {
        isOnStandby = (await client.query(isStandby)).rows[0].standby;
        if (isOnStandby) await work(client);
      }).catch((error: Error) => error.message);
    return eventually(readOnce, () => isOnStandby);
  };

  it('of much end when the standby freezes, also while it sends rows', async () => {
    await readMuch(async () => standby.freeze());
    standby.thaw();
    let received = 0;
    const failure = await readMuch(async (client) => {
      const { connectionParameters } = client as unknown as { connectionParameters: { query_timeout: number } };
      expect(connectionParameters.query_timeout).toBe(60_000);
      connectionParameters.query_timeout = 5_000;
      const rows = `SELECT repeat('x', 20000), pg_sleep(0.01) FROM generate_series(1, 1000000)`;
      await copyOut(client, `COPY (${rows}) TO STDOUT`, () => {
        received += 1;
        if (received === 1) standby.freeze();
      });
    });
    expect(failure).toBe('Query read timeout');
    expect(received).toBeGreaterThan(0);
    expect(postgres.standby?.refusal).toBe(failure);
  });

  it('of much use the primary after a conflict with recovery', async () => {
    const conflict = `DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$`;
    expect(await readMuch((client) => client.query(conflict))).toBe('conflict');
    expect(postgres.standby?.refusal).toBe('conflict');
  });

  it('use the primary only once when all connections to the standby are in use', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const holding: Promise<unknown>[] = [];
    const hold = () =>
      new Promise<boolean>((resolve) => {
        const reading = postgres.readLagging(async (client) => {
          const { rows } = await client.query(isStandby);
          resolve(rows[0].standby);
          if (rows[0].standby) await released;
        });
        holding.push(reading);
      });
    for (let held = 0; held < 8; held += 1) await eventually(hold, Boolean);
    expect((await read()).standby).toBe(false);
    expect(postgres.standby?.refusal).toBeUndefined();
    release();
    await Promise.all(holding);
  });

  it('are repeated on the primary when the standby fails meanwhile', async () => {
    const superuser = new Client({ connectionString: standby.url(database) });
    await superuser.connect();
    let servers: boolean[] = [];
    const readInterrupted = () => {
      servers = [];
      return postgres.readLagging(async (client) => {
        const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby, pg_backend_pid() AS pid');
        servers.push(rows[0].standby);
        if (rows[0].standby) await superuser.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
        return (await client.query<{ answer: number }>('SELECT 1 AS answer')).rows;
      });
    };
    const result = await eventually(readInterrupted, () => servers[0] === true);
    expect([result, servers]).toEqual([[{ answer: 1 }], [true, false]]);
    await superuser.end();
  });

  it('are repeated on the primary when the standby lacks a migration', async () => {
    let servers: boolean[] = [];
    const readNewColumn = () => {
      servers = [];
      return postgres.readLagging(async (client) => {
        const { rows } = await client.query(isStandby);
        servers.push(rows[0].standby);
        return (await client.query(rows[0].standby ? 'SELECT new_column' : 'SELECT 1 AS new_column')).rows;
      });
    };
    const result = await eventually(readNewColumn, () => servers[0] === true);
    expect([result, servers]).toEqual([[{ new_column: 1 }], [true, false]]);
    expect(postgres.standby?.refusal).toBeUndefined();
  });

  it('report their own errors, and use the standby again', async () => {
    const failing = postgres.readLagging((client) => client.query('SELECT 1 / 0'));
    await expect(failing).rejects.toThrow('division by zero');
    await readStandby();
  });

  it('use the primary when the other server is no standby of it', async () => {
    const other = await startTestServer();
    const strange = other.url(databaseOf(await createDatabase(other)));
    const own = await Postgres.open({ databaseUrl: strange, dataDir: tmpdir(), onMessage: () => {} });
    const ownLog = new PostgresEventLog(own);
    await ownLog.append(thing());
    const wrong = await open(HOUR_MS, strange);
    await eventually(() => refusalOf(wrong), NOT_ITS_STANDBY);
    await ownLog.close();
    await own.close();
    await wrong.close();
    opened.pop();
    await other.stop();
  });

  // The last one: the server is not a standby any more.
  it('use the primary when the standby was promoted, and follows another history', async () => {
    await readStandby();
    await standby.promote();
    const position = await append();
    const promoted = await open();
    await eventually(() => refusalOf(promoted), NOT_ITS_STANDBY);
    expect((await read(promoted)).events.at(-1)).toBe(position);
  });
});
