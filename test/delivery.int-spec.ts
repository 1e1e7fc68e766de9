import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { Pool } from 'pg';
import type { Confirmations } from '../src/delivery/confirmations.js';
import type { Courier, Errand } from '../src/delivery/courier.js';
import { deliveriesProjection } from '../src/delivery/deliveries.projection.js';
import { outcomeType, resultsOf } from '../src/delivery/delivery.js';
import { Dispatcher } from '../src/delivery/dispatcher.js';
import type { ReceivedConversion } from '../src/delivery/received.js';
import { Retries } from '../src/delivery/retries.js';
import { unfinishedAfter } from '../src/delivery/unfinished.js';
import { CONVERSION } from '../src/events/conversion.events.js';
import { type Outcome, type OutcomeStatus } from '../src/events/delivery.events.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { ProjectionRunner } from '../src/log/projection-runner.js';
import { Lease } from '../src/postgres/lease.js';
import type { Postgres } from '../src/postgres/postgres.js';
import type { LoadedSite } from '../src/sites/site-directory.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { loosely } from './support/loose-event.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { eventually } from './support/service.js';

jest.setTimeout(60_000);

const SITE = 'shop.example';
const PAST = '2026-01-01T00:00:00.000Z';
const FUTURE = '2126-01-01T00:00:00.000Z';

let server: TestServer;
let databaseUrl: string;
let postgres: Postgres;
let log: EventLog;
let projections: ProjectionRunner;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop(), 60_000);

beforeEach(async () => {
  databaseUrl = await createDatabase(server);
  postgres = await openDatabase(databaseUrl);
  log = new PostgresEventLog(postgres);
  projections = new ProjectionRunner(postgres, [deliveriesProjection]);
});
afterEach(async () => {
  jest.restoreAllMocks();
  for (const close of closing.splice(0)) await close();
  await projections.stop();
  await log.close();
  await postgres.close();
});

async function receive(data: object = {}): Promise<ReceivedConversion> {
  const conversionId = uuidv7();
  const event = {
    type: 'conversion.received.v1',
    data: { conversionId, event: 'purchase', currency: 'EUR', trial: false, platforms: ['meta'], ...data },
    personal: { subject: 'a'.repeat(64) },
  };
  const stored = await log.append({
    ...{ category: CONVERSION, stream: conversionId, expected: 'new', site: SITE, actor: 'key:1' },
    events: [event],
  });
  if (stored.status !== 'appended') throw new Error(stored.status);
  return { ...event, site: SITE, position: stored.position, time: stored.time } as unknown as ReceivedConversion;
}

function tell(conversionId: string, status: OutcomeStatus, outcome: Partial<Outcome> = {}) {
  const data: Outcome = { conversionId, platform: 'meta', attempt: 1, status, ...outcome };
  return log.append({
    ...{ category: CONVERSION, stream: conversionId, expected: 'any', site: SITE, actor: 'system' },
    events: [{ type: outcomeType(status), data }],
  });
}

function delivered({ received, platform, attempt }: Errand): Outcome {
  return { conversionId: received.data.conversionId, platform, attempt, status: 'delivered' };
}

async function outcomesOf(conversionId: string): Promise<string[]> {
  const events = await log.readStream(CONVERSION, conversionId);
  return loosely(events.slice(1)).map(({ data }) => `${data['platform']} ${data['attempt']} ${data['status']}`);
}

async function count(table: string): Promise<number> {
  const { rows } = await postgres.pool.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
  return Number(rows[0]?.count);
}

describe('Lease', () => {
  const take = async (pool: Pool, name = 'instance:a', reached = 0) => {
    const lease = await Lease.take(pool, name, reached);
    if (lease) closing.push(() => lease.release());
    return lease;
  };
  const taken = async (name?: string, reached?: number) => (await take(postgres.pool, name, reached)) as Lease;
  const runOut = (name = 'instance:a') =>
    postgres.pool.query(`UPDATE cc.leases SET until = clock_timestamp() - interval '1ms' WHERE name = $1`, [name]);
  const row = async (name = 'instance:a') => {
    const { rows } = await postgres.pool.query<{ reached: number; left: number }>(
      `SELECT reached::integer, extract(epoch FROM until - clock_timestamp())::float8 AS left FROM cc.leases WHERE name = $1`,
      [name],
    );
    return rows[0];
  };

  it('is one holder’s at a time', async () => {
    const lease = await taken('instance:a', 7);
    expect([lease.held, lease.isLost, lease.reached]).toEqual([true, false, 7]);
    expect(await take(postgres.pool)).toBeUndefined();
    expect(await take(postgres.pool, 'instance:b')).toBeDefined();
    expect(await Lease.expired(postgres.pool, 'instance:')).toEqual([]);
  });

  it('is renewed every second, and how far its holder has come with it', async () => {
    const lease = await taken();
    lease.reached = 42;
    await eventually(row, (found) => found?.reached === 42, { withinMs: 3_000 });
    expect((await row())?.left).toBeGreaterThan(8);
    expect(lease.held).toBe(true);
  });

  it('goes to the next one when it has run out, who begins where the last one was', async () => {
    const first = await taken('instance:a', 7);
    await runOut();
    expect(await Lease.expired(postgres.pool, 'instance:')).toEqual(['instance:a']);
    expect(await Lease.expired(postgres.pool, 'relay:')).toEqual([]);
    const second = await taken('instance:a', 1_000);
    expect([second.held, second.reached]).toEqual([true, 7]);
    await eventually(
      async () => first.isLost,
      (lost) => lost,
      { withinMs: 3_000 },
    );
    expect(first.held).toBe(false);
    await first.end();
    expect(await row()).toBeDefined();
  });

  it('goes to one of several who want it', async () => {
    await taken();
    await runOut();
    const all = await Promise.all(Array.from({ length: 8 }, () => take(postgres.pool)));
    expect(all.filter((lease) => lease)).toHaveLength(1);
  });

  it('is not relied on after half of it without a renewal, and again after the next one', async () => {
    let cut = true;
    const query = (...question: unknown[]) =>
      cut ? Promise.reject(new Error('cut off')) : (postgres.pool.query as (...all: unknown[]) => unknown)(...question);
    cut = false;
    const lease = (await take({ query } as unknown as Pool)) as Lease;
    cut = true;
    const now = performance.now();
    jest.spyOn(performance, 'now').mockReturnValue(now + 4_900);
    expect(lease.held).toBe(true);
    jest.spyOn(performance, 'now').mockReturnValue(now + 5_100);
    expect([lease.held, lease.isLost]).toEqual([false, false]);
    // Nobody else may have it for as long again.
    expect((await row())?.left).toBeGreaterThan(8);
    jest.restoreAllMocks();
    await sleep(1_200);
    expect((await row())?.left).toBeLessThan(9);
    cut = false;
    await eventually(row, (found) => (found?.left ?? 0) > 9, { withinMs: 3_000 });
    expect(lease.held).toBe(true);
  });

  it('released, is free at once; ended, is gone', async () => {
    const lease = await taken();
    lease.reached = 9;
    await lease.release();
    expect([lease.held, lease.isLost]).toEqual([false, true]);
    expect(await Lease.expired(postgres.pool, 'instance:')).toEqual(['instance:a']);
    const next = await taken();
    expect(next.reached).toBe(9);
    await next.end();
    expect(await row()).toBeUndefined();
  });

  it('that more was left to is not gone when its holder ends', async () => {
    await Lease.leave(postgres.pool, 'instance:a', 5);
    const lease = await taken();
    expect(lease.reached).toBe(5);
    await Lease.leave(postgres.pool, 'instance:a', 8);
    expect(await take(postgres.pool)).toBeUndefined();
    await lease.end();
    const next = await taken();
    expect(next.reached).toBe(5);
    await next.end();
    expect(await row()).toBeUndefined();
  });
});

describe('what waits', () => {
  const waiting = async () => {
    await projections.catchUp('deliveries');
    const { rows } = await postgres.pool.query(
      `SELECT platform, kind, attempt, reason, due <= now() AS is_due, details FROM cc.deliveries ORDER BY position`,
    );
    return rows;
  };

  it('is what was deferred, until it is settled', async () => {
    const { data } = await receive();
    await tell(data.conversionId, 'deferred', { reason: 'timeout', nextTry: FUTURE, bodySha256: 'b' });
    expect(await waiting()).toEqual([
      {
        ...{ platform: 'meta', kind: 'send', attempt: 1, reason: 'timeout', is_due: false },
        details: { bodySha256: 'b' },
      },
    ]);
    await tell(data.conversionId, 'deferred', { attempt: 2, reason: 'timeout', nextTry: PAST });
    expect(await waiting()).toMatchObject([{ attempt: 2, is_due: true }]);
    await tell(data.conversionId, 'failed', { attempt: 3, reason: 'gave_up' });
    expect(await waiting()).toEqual([]);
  });

  it('is what was accepted, while the platform may still say something', async () => {
    const { data } = await receive();
    await tell(data.conversionId, 'accepted', { nextTry: FUTURE, requestId: 'r1', eventId: 'e1' });
    expect(await waiting()).toMatchObject([{ kind: 'confirm', details: { requestId: 'r1', eventId: 'e1' } }]);
    await tell(data.conversionId, 'accepted', { attempt: 2, requestId: 'r1' });
    expect(await waiting()).toEqual([]);
  });

  it('is what an operator asked for', async () => {
    const { data } = await receive();
    await tell(data.conversionId, 'failed', { reason: 'x' });
    await log.append({
      ...{ category: CONVERSION, stream: data.conversionId, expected: 'any', site: SITE, actor: 'cli' },
      events: [
        {
          type: 'conversion.send_requested.v1',
          data: { platform: 'meta', attempt: 1, settings: 3, eventId: 'ORD-1-r2' },
        },
      ],
    });
    expect(await waiting()).toMatchObject([
      { kind: 'send', attempt: 1, is_due: true, details: { settings: 3, eventId: 'ORD-1-r2' } },
    ]);
  });

  it('goes out at once when the connection is mended or resumed, if that is what held it back', async () => {
    for (const platform of ['meta', 'segment'] as const)
      for (const reason of ['authorization', 'paused', 'server_error']) {
        const { data } = await receive();
        await tell(data.conversionId, 'deferred', { platform, reason, nextTry: FUTURE });
      }
    const append = (type: string, platform: string) =>
      log.append({
        ...{ category: 'site', stream: uuidv7(), expected: 'new', site: SITE, actor: 'cli' },
        events: [{ type, data: { platform } }],
      });
    await append('site.platform_resumed.v1', 'meta');
    const due = async () =>
      (await waiting()).filter(({ is_due }) => is_due).map((row) => `${row.platform} ${row.reason}`);
    expect(await due()).toEqual(['meta authorization', 'meta paused']);
    await append('site.platform_connected.v1', 'segment');
    expect(await due()).toEqual(['meta authorization', 'meta paused', 'segment authorization', 'segment paused']);
  });

  it('is the same when it is built anew', async () => {
    for (let index = 0; index < 20; index += 1) {
      const { data } = await receive();
      await tell(data.conversionId, 'deferred', { reason: 'paused', nextTry: FUTURE });
      if (index % 3 === 0) await tell(data.conversionId, 'delivered', { attempt: 2 });
    }
    const before = await waiting();
    await projections.rebuild('deliveries');
    expect(await waiting()).toEqual(before);
    expect(before).toHaveLength(13);
  });
});

describe('Retries', () => {
  const tried: string[] = [];

  beforeEach(() => {
    tried.length = 0;
  });

  async function instance(
    name: string,
    carry: Courier['carry'] = (errand, done) => void setTimeout(() => done(delivered(errand)), Math.random() * 20),
  ) {
    const own = await openDatabase(databaseUrl);
    const ownLog = new PostgresEventLog(own);
    const lease = (await Lease.take(own.pool, name)) as Lease;
    const courier = {
      isParked: () => false,
      room: () => 1_000,
      carry: (errand: Errand, done: (outcome: Outcome | undefined) => void) => {
        tried.push(errand.received.data.conversionId);
        carry(errand, done);
      },
    } as unknown as Courier;
    const retries = new Retries(own.pool, ownLog, courier, undefined as unknown as Confirmations, () => lease);
    retries.start();
    let isClosed = false;
    const close = async () => {
      if (isClosed) return;
      isClosed = true;
      await retries.stop();
      await lease.release();
      await ownLog.close();
      await own.close();
    };
    closing.push(close);
    return { lease, close };
  }

  async function defer(rows: number): Promise<string[]> {
    const ids = await Promise.all(
      Array.from({ length: rows }, async () => {
        const { data } = await receive();
        await tell(data.conversionId, 'deferred', { reason: 'timeout', nextTry: PAST });
        return data.conversionId;
      }),
    );
    await projections.catchUp('deliveries');
    return ids;
  }

  it('of two instances try each of 2,000 once', async () => {
    const ids = await defer(2_000);
    await projections.start();
    await Promise.all([instance('instance:a'), instance('instance:b')]);
    await eventually(
      () => count('cc.deliveries'),
      (waiting) => waiting === 0,
    );
    await eventually(
      () => count('cc.delivery_leases'),
      (claims) => claims === 0,
    );
    expect([...tried].sort()).toEqual([...ids].sort());
    expect(await outcomesOf(ids[0] as string)).toEqual(['meta 1 deferred', 'meta 2 delivered']);
  });

  it('leave alone what somebody else tries, until his lease was cleared up after', async () => {
    const [id] = (await defer(1)) as [string];
    const other = (await Lease.take(postgres.pool, 'instance:other')) as Lease;
    await postgres.pool.query(`INSERT INTO cc.delivery_leases SELECT position, 'instance:other' FROM cc.deliveries`);
    await other.release();
    await instance('instance:a');
    await sleep(1_500);
    // It has run out, but what came of that try may not have been folded yet.
    expect(tried).toEqual([]);
    await ((await Lease.take(postgres.pool, 'instance:other')) as Lease).end();
    await eventually(
      async () => tried,
      (all) => all.includes(id),
    );
  });

  it('take again what this process claimed without hearing of it, and what it was not allowed to send', async () => {
    const [lost, forbidden] = (await defer(2)) as [string, string];
    await postgres.pool.query(
      `INSERT INTO cc.delivery_leases SELECT position, 'instance:a' FROM cc.deliveries WHERE conversion = $1`,
      [lost],
    );
    let times = 0;
    await instance('instance:a', (errand, done) => {
      const isFirst = errand.received.data.conversionId === forbidden && ++times === 1;
      setImmediate(() => done(isFirst ? undefined : delivered(errand)));
    });
    await eventually(
      () => outcomesOf(forbidden),
      (outcomes) => outcomes.length === 2,
    );
    expect([...tried].sort()).toEqual([lost, forbidden, forbidden].sort());
  });

  it('write nothing in the name of a lease that was lost', async () => {
    const [id] = (await defer(1)) as [string];
    let answer: () => void = () => {};
    const { lease } = await instance('instance:a', (errand, done) => {
      answer = () => done(delivered(errand));
    });
    await eventually(
      async () => tried.length,
      (sent) => sent === 1,
    );
    await postgres.pool.query('UPDATE cc.leases SET holder = gen_random_uuid()');
    await eventually(
      async () => lease.isLost,
      (isLost) => isLost,
    );
    answer();
    await sleep(1_200);
    expect(await outcomesOf(id)).toEqual(['meta 1 deferred']);
  });

  it('let what is on its way arrive before they stop', async () => {
    const [id] = (await defer(1)) as [string];
    const { close } = await instance(
      'instance:a',
      (errand, done) => void setTimeout(() => done(delivered(errand)), 700),
    );
    await eventually(
      async () => tried.length,
      (sent) => sent === 1,
    );
    await close();
    expect(await outcomesOf(id)).toEqual(['meta 1 deferred', 'meta 2 delivered']);
  });
});

describe('what was left unfinished', () => {
  it('is what an instance received in a stretch, as far as platforms have no outcome', async () => {
    const both = { platforms: ['meta', 'segment'], instance: 'dead' };
    const before = await receive(both);
    const untouched = await receive(both);
    const half = await receive(both);
    const whole = await receive(both);
    await receive({ ...both, instance: 'alive' });
    await receive({ instance: 'dead', platforms: undefined });
    const until = await log.head();
    const after = await receive(both);
    await tell(half.data.conversionId, 'deferred', { platform: 'segment', reason: 'timeout', nextTry: FUTURE });
    await tell(whole.data.conversionId, 'delivered', { platform: 'segment' });
    await tell(whole.data.conversionId, 'failed', { platform: 'meta' });

    const found = await unfinishedAfter(log, before.position, until, 'dead');
    expect(found.map(({ received, missing, version }) => [received.data.conversionId, missing, version])).toEqual([
      [untouched.data.conversionId, ['meta', 'segment'], 1],
      [half.data.conversionId, ['meta'], 2],
    ]);
    expect(found[0]?.received).toMatchObject({ site: SITE, personal: { subject: 'a'.repeat(64) } });
    const all = await unfinishedAfter(log, 0, await log.head(), 'dead');
    expect(all.map(({ received }) => received.position)).toEqual(
      [before, untouched, half, after].map(({ position }) => position),
    );
  });

  it('is not what an operator wants sent again', async () => {
    const { data } = await receive({ instance: 'dead' });
    await tell(data.conversionId, 'failed', { reason: 'x' });
    await log.append({
      ...{ category: CONVERSION, stream: data.conversionId, expected: 'any', site: SITE, actor: 'cli' },
      events: [{ type: 'conversion.send_requested.v1', data: { platform: 'meta', attempt: 1, settings: 3 } }],
    });
    expect(await unfinishedAfter(log, 0, await log.head(), 'dead')).toEqual([]);
  });
});

describe('Dispatcher', () => {
  const site = { connections: new Map([['meta', {}]]), settingsPosition: 1 } as unknown as LoadedSite;
  let carried: string[];
  let dispatcher: Dispatcher;

  beforeEach(async () => {
    carried = [];
    dispatcher = await startDispatcher();
  });

  async function startDispatcher(): Promise<Dispatcher> {
    const courier = {
      tick: () => {},
      carry: (errand: Errand, done: (outcome: Outcome | undefined) => void) =>
        setImmediate(() => {
          if (!errand.mayGo()) return done(undefined);
          carried.push(errand.received.data.conversionId);
          done(delivered(errand));
        }),
    } as unknown as Courier;
    const started = new Dispatcher(postgres, log, courier, {
      deadlineMs: 2_000,
      say: () => {},
      foldOutcomes: () => projections.catchUp('deliveries'),
    });
    await started.start();
    closing.push(() => started.stop());
    return started;
  }

  const settled = (...conversions: ReceivedConversion[]) =>
    eventually(
      () => Promise.all(conversions.map(({ data }) => outcomesOf(data.conversionId))),
      (outcomes) => outcomes.every(({ length }) => length > 0),
    );

  it('sends what it received, writes that down, and leaves nothing behind when it stops', async () => {
    const conversion = await receive(dispatcher.pin(site));
    expect(await dispatcher.dispatch(conversion)).toEqual({ meta: { ok: true, status: 'delivered' } });
    expect(await outcomesOf(conversion.data.conversionId)).toEqual(['meta 1 delivered']);
    await dispatcher.stop();
    expect(await count('cc.leases')).toBe(0);
  });

  it('sends what another one left behind', async () => {
    const left = await receive({ ...dispatcher.pin(site), instance: 'dead' });
    await Lease.leave(postgres.pool, 'instance:dead', 0);
    await settled(left);
    expect(carried).toEqual([left.data.conversionId]);
    await eventually(
      () => count('cc.leases'),
      (leases) => leases === 1,
    );
  });

  it('looks into what may have been stored without an answer, and sends nothing twice for it', async () => {
    const doubtful = await receive(dispatcher.pin(site));
    dispatcher.doubt();
    const known = await receive(dispatcher.pin(site));
    await dispatcher.dispatch(known);
    await settled(doubtful);
    expect([...carried].sort()).toEqual([doubtful, known].map(({ data }) => data.conversionId).sort());
  });

  it('sends what it stored under a name that it has lost', async () => {
    const { instance } = dispatcher.pin(site);
    const early = await receive({ ...dispatcher.pin(site) });
    // Somebody took it for dead, found nothing, and cleared up, before the conversion was stored.
    await postgres.pool.query('DELETE FROM cc.leases');
    await eventually(
      async () => dispatcher.pin(site).instance,
      (name) => name !== instance,
    );
    const late = await receive({ ...dispatcher.pin(site), instance });
    expect(await dispatcher.dispatch(late)).toEqual({ meta: { ok: false, status: 'queued', reason: 'pending' } });
    await settled(early, late);
    expect([...carried].sort()).toEqual([early, late].map(({ data }) => data.conversionId).sort());
    const fresh = await receive(dispatcher.pin(site));
    expect(await dispatcher.dispatch(fresh)).toEqual({ meta: { ok: true, status: 'delivered' } });
    const events = await log.readStream(CONVERSION, late.data.conversionId);
    expect(resultsOf(events)).toEqual({ meta: { ok: true, status: 'delivered' } });
  });
});
