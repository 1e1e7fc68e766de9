import { jest } from '@jest/globals';
import type { Pool } from 'pg';
import type { Confirmations } from '../src/delivery/confirmations.js';
import { CrashRecovery } from '../src/delivery/crash-recovery.js';
import { deliveriesProjection } from '../src/delivery/deliveries.projection.js';
import { outcomeType, resultsOf } from '../src/delivery/delivery.js';
import { DeliveryService } from '../src/delivery/delivery.service.js';
import type { DeliveryRequest, PlatformDelivery } from '../src/delivery/platform-delivery.js';
import type { ReceivedConversion } from '../src/delivery/received-conversion.js';
import { ReplayDeliveries } from '../src/delivery/replay-deliveries.command.js';
import { ReplayDeliveriesHandler } from '../src/delivery/replay-deliveries.handler.js';
import { RetryScheduler } from '../src/delivery/retry.scheduler.js';
import { SagaRunner } from '../src/delivery/saga-runner.js';
import { findUnsettled } from '../src/delivery/unsettled.js';
import { CONVERSION } from '../src/events/conversion.events.js';
import type { Outcome, OutcomeStatus } from '../src/events/delivery.events.js';
import { Logger } from '../src/kernel/logger.js';
import type { Settings } from '../src/kernel/settings.js';
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
import { printSeed, seededRandom } from './support/seed.mjs';
import { eventually } from './support/service.js';

jest.setTimeout(60_000);

const SITE = 'shop.example';
const PAST = '2026-01-01T00:00:00.000Z';
const FUTURE = '2126-01-01T00:00:00.000Z';

const random = seededRandom(printSeed('delivery.int-spec'));

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

function record(conversionId: string, status: OutcomeStatus, outcome: Partial<Outcome> = {}) {
  const data: Outcome = { conversionId, platform: 'meta', attempt: 1, status, ...outcome };
  return log.append({
    ...{ category: CONVERSION, stream: conversionId, expected: 'any', site: SITE, actor: 'system' },
    events: [{ type: outcomeType(status), data }],
  });
}

function delivered({ received, platform, attempt }: DeliveryRequest): Outcome {
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
  const mustTake = async (name?: string, reached?: number) => (await take(postgres.pool, name, reached)) as Lease;
  const expire = (name = 'instance:a') =>
    postgres.pool.query(`UPDATE cc.leases SET until = clock_timestamp() - interval '1ms' WHERE name = $1`, [name]);
  const row = async (name = 'instance:a') => {
    const { rows } = await postgres.pool.query<{ reached: number; seconds: number }>(
      `SELECT reached::integer, extract(epoch FROM until - clock_timestamp())::float8 AS seconds FROM cc.leases WHERE name = $1`,
      [name],
    );
    return rows[0];
  };

  it('has one holder at a time', async () => {
    const lease = await mustTake('instance:a', 7);
    expect([lease.held, lease.isLost, lease.reached]).toEqual([true, false, 7]);
    expect(await take(postgres.pool)).toBeUndefined();
    expect(await take(postgres.pool, 'instance:b')).toBeDefined();
    expect(await Lease.expired(postgres.pool, 'instance:')).toEqual([]);
  });

  it('is renewed every second together with the progress of its holder', async () => {
    const lease = await mustTake();
    lease.reached = 42;
    await eventually(row, (found) => found?.reached === 42, { withinMs: 3_000 });
    expect((await row())?.seconds).toBeGreaterThan(8);
    expect(lease.held).toBe(true);
  });

  it('can be taken over once it has expired, with the progress of the previous holder', async () => {
    const first = await mustTake('instance:a', 7);
    await expire();
    expect(await Lease.expired(postgres.pool, 'instance:')).toEqual(['instance:a']);
    expect(await Lease.expired(postgres.pool, 'relay:')).toEqual([]);
    const second = await mustTake('instance:a', 1_000);
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

  it('is taken over by one of several processes', async () => {
    await mustTake();
    await expire();
    const all = await Promise.all(Array.from({ length: 8 }, () => take(postgres.pool)));
    expect(all.filter((lease) => lease)).toHaveLength(1);
  });

  it('counts as not held after half its duration without a renewal, until the next renewal', async () => {
    let isDisconnected = false;
    let failedRenewals = 0;
    const query = (...args: unknown[]) => {
      if (!isDisconnected) return (postgres.pool.query as (...all: unknown[]) => unknown)(...args);
      failedRenewals += 1;
      return Promise.reject(new Error('disconnected'));
    };
    const lease = (await take({ query } as unknown as Pool)) as Lease;
    isDisconnected = true;
    const now = performance.now();
    jest.spyOn(performance, 'now').mockReturnValue(now + 4_900);
    expect(lease.held).toBe(true);
    jest.spyOn(performance, 'now').mockReturnValue(now + 5_100);
    expect([lease.held, lease.isLost]).toEqual([false, false]);
    // No other process can take it for the other half.
    expect((await row())?.seconds).toBeGreaterThan(8);
    jest.restoreAllMocks();
    await eventually(
      async () => failedRenewals,
      (renewals) => renewals >= 2,
    );
    expect((await row())?.seconds).toBeLessThan(9);
    isDisconnected = false;
    await eventually(row, (found) => (found?.seconds ?? 0) > 9, { withinMs: 3_000 });
    expect(lease.held).toBe(true);
  });

  it('can be taken at once after a release and is deleted when it ends', async () => {
    const lease = await mustTake();
    lease.reached = 9;
    await lease.release();
    expect([lease.held, lease.isLost]).toEqual([false, true]);
    expect(await Lease.expired(postgres.pool, 'instance:')).toEqual(['instance:a']);
    const next = await mustTake();
    expect(next.reached).toBe(9);
    await next.end();
    expect(await row()).toBeUndefined();
  });

  it('is not deleted when it ends if more work was added meanwhile', async () => {
    await Lease.createExpired(postgres.pool, 'instance:a', 5);
    const lease = await mustTake();
    expect(lease.reached).toBe(5);
    await Lease.createExpired(postgres.pool, 'instance:a', 8);
    expect(await take(postgres.pool)).toBeUndefined();
    await lease.end();
    const next = await mustTake();
    expect(next.reached).toBe(5);
    await next.end();
    expect(await row()).toBeUndefined();
  });
});

describe('deliveries projection', () => {
  const waiting = async () => {
    await projections.catchUp('deliveries');
    const { rows } = await postgres.pool.query(
      `SELECT platform, kind, attempt, reason, due <= now() AS is_due, details FROM cc.deliveries ORDER BY position`,
    );
    return rows;
  };

  it('contains a deferred delivery until it is settled', async () => {
    const { data } = await receive();
    await record(data.conversionId, 'deferred', { reason: 'timeout', nextTry: FUTURE, bodySha256: 'b' });
    expect(await waiting()).toEqual([
      {
        ...{ platform: 'meta', kind: 'send', attempt: 1, reason: 'timeout', is_due: false },
        details: { bodySha256: 'b' },
      },
    ]);
    await record(data.conversionId, 'deferred', { attempt: 2, reason: 'timeout', nextTry: PAST });
    expect(await waiting()).toMatchObject([{ attempt: 2, is_due: true }]);
    await record(data.conversionId, 'failed', { attempt: 3, reason: 'gave_up' });
    expect(await waiting()).toEqual([]);
  });

  it('contains an accepted delivery while the platform may still confirm it', async () => {
    const { data } = await receive();
    await record(data.conversionId, 'accepted', { nextTry: FUTURE, requestId: 'r1', eventId: 'e1' });
    expect(await waiting()).toMatchObject([{ kind: 'confirm', details: { requestId: 'r1', eventId: 'e1' } }]);
    await record(data.conversionId, 'accepted', { attempt: 2, requestId: 'r1' });
    expect(await waiting()).toEqual([]);
  });

  it('contains a delivery that an operator requested', async () => {
    const { data } = await receive();
    await record(data.conversionId, 'failed', { reason: 'x' });
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

  it('makes deliveries due when the connection that held them back is fixed or resumed', async () => {
    for (const platform of ['meta', 'segment'] as const)
      for (const reason of ['authorization', 'paused', 'server_error']) {
        const { data } = await receive();
        await record(data.conversionId, 'deferred', { platform, reason, nextTry: FUTURE });
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

  it('has the same rows after a rebuild', async () => {
    for (let index = 0; index < 20; index += 1) {
      const { data } = await receive();
      await record(data.conversionId, 'deferred', { reason: 'paused', nextTry: FUTURE });
      if (index % 3 === 0) await record(data.conversionId, 'delivered', { attempt: 2 });
    }
    const before = await waiting();
    await projections.rebuild('deliveries');
    expect(await waiting()).toEqual(before);
    expect(before).toHaveLength(13);
  });
});

describe('RetryScheduler', () => {
  const attempted: string[] = [];

  beforeEach(() => {
    attempted.length = 0;
  });

  async function instance(
    name: string,
    deliver: PlatformDelivery['deliver'] = (request, done) =>
      void setTimeout(() => done(delivered(request)), random() * 20),
  ) {
    const own = await openDatabase(databaseUrl);
    const ownLog = new PostgresEventLog(own);
    const lease = (await Lease.take(own.pool, name)) as Lease;
    const deliveries = {
      isParked: () => false,
      capacity: () => 1_000,
      deliver: (request: DeliveryRequest, done: (outcome: Outcome | undefined) => void) => {
        attempted.push(request.received.data.conversionId);
        deliver(request, done);
      },
    } as unknown as PlatformDelivery;
    const confirmations = undefined as unknown as Confirmations;
    const scheduler = new RetryScheduler(own, ownLog, deliveries, confirmations, { lease } as CrashRecovery);
    // In the service, @nestjs/schedule calls it.
    const timer = setInterval(() => scheduler.poll(), 500);
    let isClosed = false;
    const close = async () => {
      if (isClosed) return;
      isClosed = true;
      clearInterval(timer);
      await scheduler.stop();
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
        await record(data.conversionId, 'deferred', { reason: 'timeout', nextTry: PAST });
        return data.conversionId;
      }),
    );
    await projections.catchUp('deliveries');
    return ids;
  }

  it('attempts each of 2,000 deliveries once, with two instances', async () => {
    const ids = await defer(2_000);
    await projections.start();
    await Promise.all([instance('instance:a'), instance('instance:b')]);
    await eventually(
      () => count('cc.deliveries'),
      (waiting) => waiting === 0,
    );
    await eventually(
      () => count('cc.delivery_leases'),
      (leases) => leases === 0,
    );
    expect([...attempted].sort()).toEqual([...ids].sort());
    expect(await outcomesOf(ids[0] as string)).toEqual(['meta 1 deferred', 'meta 2 delivered']);
  });

  it('repeats a delivery with the payload digest, event id, settings position and visit of the last attempt', async () => {
    const { data } = await receive();
    const { conversionId } = data;
    const kept = { bodySha256: 'b'.repeat(64), eventId: 'ORD-1-r2', reopened: 2 };
    await record(conversionId, 'deferred', { reason: 'timeout', nextTry: PAST, ...kept, settings: 3, alone: true });
    await projections.catchUp('deliveries');
    const requested = new Promise<DeliveryRequest>((resolve) => {
      void instance('instance:a', (request, done) => {
        resolve(request);
        done(delivered(request));
      });
    });
    expect(await requested).toMatchObject({ ...kept, settingsPosition: 3, attempt: 2, alone: true });
  });

  it('does not attempt a delivery leased by another instance until that instance lease has ended', async () => {
    const [id] = (await defer(1)) as [string];
    const other = (await Lease.take(postgres.pool, 'instance:other')) as Lease;
    await postgres.pool.query(`INSERT INTO cc.delivery_leases SELECT position, 'instance:other' FROM cc.deliveries`);
    await other.release();
    await instance('instance:a');
    // A poll leases every due delivery of a connection in one query, so each of these attempts ends a poll that skipped the first.
    const others: string[] = [];
    for (let poll = 0; poll < 3; poll += 1) {
      const [next] = (await defer(1)) as [string];
      others.push(next);
      await eventually(
        async () => attempted,
        (all) => all.includes(next),
      );
    }
    // The instance lease has expired, but the outcome of that attempt may not be folded yet.
    expect(attempted).toEqual(others);
    await ((await Lease.take(postgres.pool, 'instance:other')) as Lease).end();
    await eventually(
      async () => attempted,
      (all) => all.includes(id),
    );
  });

  it('attempts deliveries again whose lease response was lost, or that were withdrawn', async () => {
    const [lost, withdrawn] = (await defer(2)) as [string, string];
    await postgres.pool.query(
      `INSERT INTO cc.delivery_leases SELECT position, 'instance:a' FROM cc.deliveries WHERE conversion = $1`,
      [lost],
    );
    let times = 0;
    await instance('instance:a', (request, done) => {
      const isFirst = request.received.data.conversionId === withdrawn && ++times === 1;
      setImmediate(() => done(isFirst ? undefined : delivered(request)));
    });
    await eventually(
      () => outcomesOf(withdrawn),
      (outcomes) => outcomes.length === 2,
    );
    expect([...attempted].sort()).toEqual([lost, withdrawn, withdrawn].sort());
  });

  it('records no outcome under a lost lease', async () => {
    const [id] = (await defer(1)) as [string];
    let respond: () => void = () => {};
    const { lease, close } = await instance('instance:a', (request, done) => {
      respond = () => done(delivered(request));
    });
    await eventually(
      async () => attempted.length,
      (sent) => sent === 1,
    );
    await postgres.pool.query('UPDATE cc.leases SET holder = gen_random_uuid()');
    await eventually(
      async () => lease.isLost,
      (isLost) => isLost,
    );
    respond();
    // Waits until the scheduler has recorded or dropped the outcome.
    await close();
    expect(await outcomesOf(id)).toEqual(['meta 1 deferred']);
  });

  it('waits for deliveries in flight when it stops', async () => {
    const [id] = (await defer(1)) as [string];
    const { close } = await instance(
      'instance:a',
      (request, done) => void setTimeout(() => done(delivered(request)), 700),
    );
    await eventually(
      async () => attempted.length,
      (sent) => sent === 1,
    );
    await close();
    expect(await outcomesOf(id)).toEqual(['meta 1 deferred', 'meta 2 delivered']);
  });
});

describe('ReplayDeliveries', () => {
  it('requests failed deliveries as the actor of the command', async () => {
    const failed = await receive();
    await record(failed.data.conversionId, 'failed', { reason: 'x' });
    const delivered = await receive();
    await record(delivered.data.conversionId, 'delivered');
    const range = { after: 0, until: await log.head() };
    const request = { site: SITE, platform: 'meta', range, settingsPosition: 3, force: false, dryRun: false } as const;
    const counts = await new ReplayDeliveriesHandler(log).execute(new ReplayDeliveries('user:jane', request));
    expect(counts).toEqual({ requested: 1, byStatus: { failed: 1, delivered: 1 } });
    const events = await log.readStream(CONVERSION, failed.data.conversionId);
    expect(events.at(-1)).toMatchObject({ type: 'conversion.send_requested.v1', actor: 'user:jane' });
    expect(await log.readStream(CONVERSION, delivered.data.conversionId)).toHaveLength(2);
  });
});

describe('findUnsettled', () => {
  it('finds the platforms without an outcome of an instance’s conversions in a position range', async () => {
    const both = { platforms: ['meta', 'segment'], instance: 'dead' };
    const before = await receive(both);
    const untouched = await receive(both);
    const half = await receive(both);
    const whole = await receive(both);
    await receive({ ...both, instance: 'alive' });
    await receive({ instance: 'dead', platforms: undefined });
    const until = await log.head();
    const after = await receive(both);
    await record(half.data.conversionId, 'deferred', { platform: 'segment', reason: 'timeout', nextTry: FUTURE });
    await record(whole.data.conversionId, 'delivered', { platform: 'segment' });
    await record(whole.data.conversionId, 'failed', { platform: 'meta' });

    const found = await findUnsettled(log, before.position, until, 'dead');
    expect(found.map(({ received, platforms, version }) => [received.data.conversionId, platforms, version])).toEqual([
      [untouched.data.conversionId, ['meta', 'segment'], 1],
      [half.data.conversionId, ['meta'], 2],
    ]);
    expect(found[0]?.received).toMatchObject({ site: SITE, personal: { subject: 'a'.repeat(64) } });
    const all = await findUnsettled(log, 0, await log.head(), 'dead');
    expect(all.map(({ received }) => received.position)).toEqual(
      [before, untouched, half, after].map(({ position }) => position),
    );
  });

  it('omits deliveries that an operator requested again', async () => {
    const { data } = await receive({ instance: 'dead' });
    await record(data.conversionId, 'failed', { reason: 'x' });
    await log.append({
      ...{ category: CONVERSION, stream: data.conversionId, expected: 'any', site: SITE, actor: 'cli' },
      events: [{ type: 'conversion.send_requested.v1', data: { platform: 'meta', attempt: 1, settings: 3 } }],
    });
    expect(await findUnsettled(log, 0, await log.head(), 'dead')).toEqual([]);
  });
});

describe('DeliveryService', () => {
  const site = { connections: new Map([['meta', {}]]), settingsPosition: 1 } as unknown as LoadedSite;
  let sent: string[];
  let deliveries: DeliveryService;

  beforeEach(async () => {
    sent = [];
    deliveries = await startDeliveries();
  });

  async function startDeliveries(): Promise<DeliveryService> {
    const platformDelivery = {
      tick: () => {},
      deliver: (request: DeliveryRequest, done: (outcome: Outcome | undefined) => void) =>
        setImmediate(() => {
          if (!request.mayDeliver()) return done(undefined);
          sent.push(request.received.data.conversionId);
          done(delivered(request));
        }),
    } as unknown as PlatformDelivery;
    const logger = new Logger('silent');
    const sagas = new SagaRunner(log, platformDelivery, logger, { inboundDeadlineMs: 2_000 } as Settings);
    const started = new DeliveryService(sagas, new CrashRecovery(postgres, log, projections, sagas, logger));
    await started.start();
    closing.push(() => started.stop());
    return started;
  }

  const settled = (...conversions: ReceivedConversion[]) =>
    eventually(
      () => Promise.all(conversions.map(({ data }) => outcomesOf(data.conversionId))),
      (outcomes) => outcomes.every(({ length }) => length > 0),
    );

  it('delivers a conversion, records the outcome and ends its lease when it stops', async () => {
    const conversion = await receive(deliveries.planFor(site));
    expect(await deliveries.deliver(conversion)).toEqual({ meta: { ok: true, status: 'delivered' } });
    expect(await outcomesOf(conversion.data.conversionId)).toEqual(['meta 1 delivered']);
    await deliveries.stop();
    expect(await count('cc.leases')).toBe(0);
  });

  it('delivers unsettled conversions of an instance whose lease has expired', async () => {
    const unsettled = await receive({ ...deliveries.planFor(site), instance: 'dead' });
    await Lease.createExpired(postgres.pool, 'instance:dead', 0);
    await settled(unsettled);
    expect(sent).toEqual([unsettled.data.conversionId]);
    await eventually(
      () => count('cc.leases'),
      (leases) => leases === 1,
    );
  });

  it('delivers a conversion whose append was in doubt, and none twice', async () => {
    const inDoubt = await receive(deliveries.planFor(site));
    deliveries.appendInDoubt();
    const other = await receive(deliveries.planFor(site));
    await deliveries.deliver(other);
    await settled(inDoubt);
    expect([...sent].sort()).toEqual([inDoubt, other].map(({ data }) => data.conversionId).sort());
  });

  it('delivers conversions that it stored under a lease it has lost', async () => {
    const { instance } = deliveries.planFor(site);
    const early = await receive({ ...deliveries.planFor(site) });
    // Another instance took over the lease, found nothing and ended it before the conversion was stored.
    await postgres.pool.query('DELETE FROM cc.leases');
    await eventually(
      async () => deliveries.planFor(site).instance,
      (current) => current !== instance,
    );
    const late = await receive({ ...deliveries.planFor(site), instance });
    expect(await deliveries.deliver(late)).toEqual({ meta: { ok: false, status: 'queued', reason: 'pending' } });
    await settled(early, late);
    expect([...sent].sort()).toEqual([early, late].map(({ data }) => data.conversionId).sort());
    const fresh = await receive(deliveries.planFor(site));
    expect(await deliveries.deliver(fresh)).toEqual({ meta: { ok: true, status: 'delivered' } });
    const events = await log.readStream(CONVERSION, late.data.conversionId);
    expect(resultsOf(events)).toEqual({ meta: { ok: true, status: 'delivered' } });
  });
});
