import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReplayDeliveries } from '../../src/delivery/replay-deliveries.command.js';
import { ReplayDeliveriesHandler } from '../../src/delivery/replay-deliveries.handler.js';
import { LogUnavailable } from '../../src/kernel/errors.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { AppendConnection } from '../../src/log/append/append-connection.js';
import { type AppendCall, AppendQueue, COMMIT_GRACE_MS } from '../../src/log/append/append-queue.js';
import { AppendReadiness } from '../../src/log/append/append-readiness.js';
import type { AppendOutcome, AppendRequest } from '../../src/log/event.js';
import type { EventLog } from '../../src/log/event-log.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { keepPartitionsAhead } from '../../src/log/retention/partitions.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase, sharedServer } from '../support/databases.js';
import { appendRow, callAppend, claiming, thing } from '../support/event-log.contract.js';
import { HoldingProxy } from '../support/holding-proxy.js';
import { createSmallPartitions } from '../support/small-partitions.js';

describe('a fenced append', () => {
  let url: string;
  let postgres: Postgres;
  let log: EventLog;

  beforeEach(async () => {
    url = await createDatabase();
    postgres = await openDatabase(url);
    log = new PostgresEventLog(postgres);
  });
  afterEach(async () => {
    await log.close();
    await postgres.close();
  });

  describe('whose bytes arrive late', () => {
    let proxy: HoldingProxy;
    let behindProxy: Postgres;

    beforeEach(async () => {
      proxy = await HoldingProxy.start(sharedServer.host);
      behindProxy = await openDatabase(proxy.urlOf(url));
    });
    afterEach(async () => {
      await behindProxy.close();
      await proxy.stop();
    });

    it('stores nothing after its deadline, and the retry of its sender is stored', async () => {
      // A short deadline, so that the test need not hold the bytes for long.
      const connection = new AppendConnection(behindProxy, new AppendReadiness(async () => {}));
      const queue = new AppendQueue(connection, behindProxy.clock, () => {}, LIMITS);
      await queue.append(thing());
      const key = randomUUID();
      proxy.hold();
      await expect(queue.append(claiming(key))).rejects.toThrow(LogUnavailable);
      const latestMs = behindProxy.clock.nowMs() + COMMIT_GRACE_MS;
      await queue.drained();
      expect(proxy.heldBytes).toBeGreaterThan(200);
      await untilDatabaseTime(latestMs);
      await proxy.release();
      expect(await log.read()).toHaveLength(1);
      expect(await log.append(claiming(key))).toMatchObject({ status: 'appended' });
      await connection.close();
    });

    it('stores nothing after the deadline that its sender states', async () => {
      const lateLog = new PostgresEventLog(behindProxy);
      await lateLog.append(thing());
      proxy.hold();
      const notAfterMs = behindProxy.clock.nowMs() + 2_000;
      await expect(lateLog.append(thing(uuidv7(), { notAfterMs }))).rejects.toThrow(LogUnavailable);
      expect(proxy.heldBytes).toBeGreaterThan(200);
      await untilDatabaseTime(notAfterMs);
      await proxy.release();
      expect(await log.read()).toHaveLength(1);
      await lateLog.close();
    });

    async function untilDatabaseTime(ms: number): Promise<void> {
      const isLater = async () => {
        const { rows } = await postgres.pool.query(
          'SELECT clock_timestamp() > to_timestamp($1::float8 / 1000) AS later',
          [ms],
        );
        return rows[0].later;
      };
      while (!(await isLater())) await sleep(50);
    }
  });

  it('has the time of the call that stored it when the result of that call was lost', async () => {
    const connection = new AppendConnection(postgres, new AppendReadiness(async () => {}));
    let calls = 0;
    const losing = {
      append: async (call: AppendCall) => {
        const outcome = await connection.append(call);
        calls += 1;
        if (calls === 1) throw new Error('Connection terminated');
        return outcome;
      },
    };
    const queue = new AppendQueue(losing, postgres.clock);
    const outcome = await queue.append(thing());
    expect(calls).toBe(2);
    const [event] = await log.read();
    expect(outcome).toEqual({ status: 'appended', position: event?.position, time: event?.time });
    await connection.close();
  });

  it('has the position before the batch in its outcome, and compares with the newest 2,000 visitor events only', async () => {
    const connection = new AppendConnection(postgres, new AppendReadiness(async () => {}));
    const calls: (AppendCall & { previous: number })[] = [];
    const recording = {
      append: async (call: AppendCall) => {
        const outcome = await connection.append(call);
        calls.push({ ...call, previous: outcome.previous });
        return outcome;
      },
    };
    const queue = new AppendQueue(recording, postgres.clock);
    const about = (subject: string, over: Partial<AppendRequest>) =>
      thing(uuidv7(), { events: [{ type: 't', data: {}, personal: { subject } }], ...over });
    const visit = () => queue.append(about('ab', { category: 'visitor' }));
    await visit();
    const first = await log.head();
    for (const length of [1_000, 999]) await Promise.all(Array.from({ length }, visit));
    const asOf = (position: number) => queue.append(about('cd', { asOf: { position, found: false } }));
    expect(await asOf(first)).toMatchObject({ status: 'appended' });
    await visit();
    // Both in one batch: an old request does not make the others stale.
    expect(await Promise.all([asOf(first), asOf(first + 1)])).toMatchObject([
      { status: 'stale' },
      { status: 'appended' },
    ]);
    expect(calls.map(({ previous }) => previous)).toEqual([
      0,
      first,
      first + 1_000,
      first + 1_999,
      first + 2_000,
      first + 2_001,
    ]);
    expect(calls.map((call) => call.asOf)).toEqual([null, null, null, first, null, first]);
    await connection.close();
  });

  it('is stored only within the time bounds that its batch states', async () => {
    const bounds = async (...within: [earliest: string, latest: string]) =>
      Object.keys(await callAppend(postgres.pool, [appendRow()], { within }));
    expect(await bounds('-10 s', '-1 s')).toEqual(['outside']);
    expect(await bounds('5 s', '10 s')).toEqual(['outside']);
    expect(await log.read()).toHaveLength(0);
    expect(await bounds('-10 s', '60 s')).toContain('first');
    expect(await log.read()).toHaveLength(1);
  });

  it('conflicts alone when its stream was continued in the partition that is written', async () => {
    const requests: AppendRequest[] = [];
    for (const stream of Array.from({ length: 9 }, uuidv7)) {
      const position = positionOf(await log.append(thing(stream)));
      requests.push(thing(stream, { expected: { owned: 1, position } }));
    }
    await log.append(requests[4] as AppendRequest);
    const outcomes = await Promise.all(requests.map((request) => log.append(request)));
    expect(outcomes.map(({ status }) => status)).toEqual(requests.map((_, at) => (at === 4 ? 'conflict' : 'appended')));
    for (const { stream } of requests) {
      expect((await log.readStream('thing', stream)).map(({ version }) => version)).toEqual([1, 2]);
    }
  });

  it('conflicts when the log no longer has the event that its sender read', async () => {
    const stream = uuidv7();
    const position = positionOf(await log.append(thing(stream)));
    const lost = { owned: 2, position: position + 1 };
    expect(await log.append(thing(stream, { expected: lost }))).toEqual({ status: 'conflict' });
    expect(await log.readStream('thing', stream)).toHaveLength(1);
  });

  it('conflicts after the server was rolled back, also when the log has grown again', async () => {
    const stream = uuidv7();
    const position = positionOf(await log.append(thing(stream)));
    const owner = await postgres.connectAsOwner('test');
    await owner.query('SET session_replication_role = replica');
    await owner.query('DELETE FROM cc.events WHERE stream = $1', [stream]);
    await owner.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE '%-append'`,
    );
    await owner.end();
    await log.append(thing());
    expect(await log.append(thing(stream, { expected: { owned: 1, position } }))).toEqual({ status: 'conflict' });
    expect(await log.readStream('thing', stream)).toHaveLength(0);
  });

  describe('across a partition boundary', () => {
    beforeEach(() => createSmallPartitions(postgres, 10, 4));

    /** Appends events of other streams until the next position is in the next partition. */
    async function cross(): Promise<void> {
      const from = Math.floor((await log.head()) / 10);
      while (Math.floor(((await log.head()) + 1) / 10) === from) await log.append(thing());
    }

    it('conflicts with an event of the same version in the partition before', async () => {
      const stream = uuidv7();
      const first = positionOf(await log.append(thing(stream)));
      const known = { owned: 1, position: first };
      expect(await log.append(thing(stream, { expected: known }))).toMatchObject({ status: 'appended' });
      await cross();
      expect(await log.append(thing(stream, { expected: known }))).toEqual({ status: 'conflict' });
      expect(await log.append(thing(stream, { expected: 1 }))).toEqual({ status: 'conflict' });
      const end = (await log.readStream('thing', stream)).at(-1);
      const expected = { owned: 2, position: end?.position as number };
      expect(await log.append(thing(stream, { expected }))).toMatchObject({ status: 'appended' });
      expect(await log.append(thing(stream, { expected: 'any' }))).toMatchObject({ status: 'appended' });
      expect((await log.readStream('thing', stream)).map(({ version }) => version)).toEqual([1, 2, 3, 4]);
    });

    it('finds a copy of its batch in the partition before', async () => {
      const row = appendRow();
      const send = () => callAppend(postgres.pool, [row]);
      const { first } = await send();
      await cross();
      expect(await send()).toMatchObject({ first: null, stored: [first] });
      expect(await log.readStream('thing', row.stream)).toHaveLength(1);
    });

    it('lets a forced replay end on a stream that has two events of one version', async () => {
      const received = await log.append(conversion());
      const stream = (await log.read({ after: positionOf(received) - 1 }))[0]?.stream.slice(
        'conversion-'.length,
      ) as string;
      const owner = await postgres.connectAsOwner('test');
      await log.append(outcome(stream, 1));
      await cross();
      // As version 0.2 stored it: a second event of version 2 in another partition.
      await owner.query(
        `INSERT INTO cc.events SELECT nextval('cc.event_position'), gen_random_uuid(), category, stream, version, type, site, time,
           actor, reference, data FROM cc.events WHERE stream = $1 AND version = 2`,
        [stream],
      );
      await owner.end();
      const request = {
        site: 'shop.example',
        platform: 'meta' as const,
        force: true,
        dryRun: false,
        statuses: [],
        nowMs: Date.now(),
        siteVersion: 1,
      };
      const command = new ReplayDeliveries('cli', { ...request, range: { conversion: stream } });
      expect(await new ReplayDeliveriesHandler(log).execute(command)).toMatchObject({ requested: 1 });
      expect((await log.readStream('conversion', stream)).at(-1)).toMatchObject({
        type: 'conversion.send_requested.v1',
        version: 3,
      });
    });
  });

  describe('without a partition for the next position', () => {
    it('is unavailable, which readiness names, and is stored when the partition exists', async () => {
      await log.append(thing());
      const owner = await postgres.connectAsOwner('test');
      await owner.query(`SELECT setval('cc.event_position', (SELECT max(beyond) FROM cc.log_partitions), false)`);
      const failed = log.append(thing()).catch((error: Error) => error);
      expect(await failed).toBeInstanceOf(LogUnavailable);
      expect(await log.refusal()).toMatch(/^the log has no partition for position \d+$/);
      await keepPartitionsAhead(postgres);
      expect(await log.append(thing())).toMatchObject({ status: 'appended' });
      expect(await log.refusal()).toBeUndefined();
      await owner.end();
    });

    it('does not keep the partition keeper waiting for a lock that is never released', async () => {
      const holder = await postgres.connectAsOwner('test');
      await holder.query('SELECT pg_advisory_lock(4845005)');
      await expect(keepPartitionsAhead(postgres)).rejects.toThrow(/lock timeout/);
      await holder.end();
      expect((await keepPartitionsAhead(postgres)).ahead).toBe(2);
    });
  });
});

const LIMITS = {
  batchEventsMax: 1_000,
  batchBytesMax: 2 * 1024 * 1024,
  waitingEventsMax: 1_000,
  waitingBytesMax: 1024 * 1024,
  deadlineMs: 1_000,
  retryDelayMs: 100,
};

function conversion(): AppendRequest {
  const conversionId = uuidv7();
  const data = { conversionId, event: 'purchase', currency: 'EUR', keyId: 'k', trial: false, platforms: ['meta'] };
  return thing(conversionId, { category: 'conversion', events: [{ type: 'conversion.received.v1', data }] });
}

function outcome(conversionId: string, version: number): AppendRequest {
  const data = { conversionId, platform: 'meta', attempt: 1, status: 'delivered' };
  const events: AppendRequest['events'] = [{ type: 'conversion.delivered.v1', data }];
  return thing(conversionId, { category: 'conversion', expected: version, events });
}

function positionOf(appended: AppendOutcome): number {
  if (appended.status !== 'appended') throw new Error(`Not appended: ${appended.status}`);
  return appended.position;
}
