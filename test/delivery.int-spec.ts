import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { Pool } from 'pg';
import type { AttemptPermit, AttemptWindow } from '../src/delivery/attempt-window.js';
import type { Confirmations } from '../src/delivery/confirmations.js';
import { DatabaseTokenStore } from '../src/delivery/connections/token-store.js';
import { deliveriesProjection } from '../src/delivery/deliveries.projection.js';
import { outcomeType } from '../src/delivery/delivery.js';
import { DeliveryService } from '../src/delivery/delivery.service.js';
import { DeliveryLeases } from '../src/delivery/delivery-leases.js';
import { deliveryPlanOf } from '../src/delivery/delivery-plan.js';
import { type DueAttempt, LeasedAttempts } from '../src/delivery/leased-attempts.js';
import { OwedDeliveriesScan } from '../src/delivery/owed/owed-deliveries.scan.js';
import { findUnattempted, reportOwed, scanLateMs } from '../src/delivery/owed/owed-report.js';
import type { DeliveryRequest, PlatformDelivery } from '../src/delivery/platform-delivery.js';
import type { ReceivedConversion } from '../src/delivery/received-conversion.js';
import { ReplayDeliveries, type ReplayStatus } from '../src/delivery/replay-deliveries.command.js';
import { ReplayDeliveriesHandler } from '../src/delivery/replay-deliveries.handler.js';
import { RetryScheduler } from '../src/delivery/retry.scheduler.js';
import { CONVERSION } from '../src/events/conversion.events.js';
import type { Outcome, OutcomeStatus } from '../src/events/delivery.events.js';
import { deliveriesCheck } from '../src/history/reconciliation/deliveries.check.js';
import { INTERVALS } from '../src/kernel/intervals.js';
import { Logger } from '../src/kernel/logger.js';
import type { Settings } from '../src/kernel/settings/settings.js';
import { Shutdown } from '../src/kernel/shutdown.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { isDrained, readUnderWay } from '../src/moves/drain.js';
import { PAYLOAD_VERSION } from '../src/platforms/payload-version.js';
import { PLATFORM_NAMES } from '../src/platforms/platform.js';
import { Lease, type LeaseDatabase } from '../src/postgres/lease.js';
import type { Postgres } from '../src/postgres/postgres.js';
import type { LoadedSite } from '../src/sites/site-directory.js';
import type { SiteSecrets } from '../src/sites/site-secrets.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { loosely } from './support/loose-event.js';
import { printSeed, seededRandom } from './support/seed.mjs';
import { eventually } from './support/waiting.js';

const SITE = 'shop.example';
const PAST = '2026-01-01T00:00:00.000Z';
const FUTURE = '2126-01-01T00:00:00.000Z';

const random = seededRandom(printSeed('delivery'));

let databaseUrl: string;
let postgres: Postgres;
let log: EventLog;
let projections: ProjectionRunner;
const closing: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  databaseUrl = await createDatabase();
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
  const take = async (database: LeaseDatabase, name = 'a', reached = 0) => {
    const lease = await Lease.take(database, name, reached);
    if (lease) closing.push(() => lease.release());
    return lease;
  };
  const mustTake = async (name?: string, reached?: number) => (await take(postgres, name, reached)) as Lease;
  const expire = (name = 'a') =>
    postgres.pool.query(`UPDATE cc.leases SET until = clock_timestamp() - interval '1 minute' WHERE name = $1`, [name]);
  const row = async (name = 'a') => {
    const { rows } = await postgres.pool.query<{ reached: number; seconds: number }>(
      `SELECT reached::integer, extract(epoch FROM until - clock_timestamp())::float8 AS seconds FROM cc.leases WHERE name = $1`,
      [name],
    );
    return rows[0];
  };

  it('has one holder at a time', async () => {
    const lease = await mustTake('a', 7);
    expect([lease.held, lease.isLost, lease.reached]).toEqual([true, false, 7]);
    expect(await take(postgres)).toBeUndefined();
    expect(await take(postgres, 'b')).toBeDefined();
  });

  it('is renewed every second together with the progress of its holder', async () => {
    const lease = await mustTake();
    lease.reached = 42;
    await eventually(row, (found) => found?.reached === 42);
    expect((await row())?.seconds).toBeGreaterThan(8);
    expect(lease.held).toBe(true);
  });

  it('can be taken over once it has expired, with the progress of the previous holder', async () => {
    const first = await mustTake('a', 7);
    await expire();
    const second = await mustTake('a', 1_000);
    expect([second.held, second.reached]).toEqual([true, 7]);
    await eventually(
      async () => first.isLost,
      (lost) => lost,
    );
    expect(first.held).toBe(false);
    first.reached = 99;
    await first.release();
    expect(await row()).toMatchObject({ reached: 7, seconds: expect.any(Number) });
    expect(second.isLost).toBe(false);
  });

  it('does not outlive a holder that died while the clock of the database was ahead', async () => {
    await postgres.pool.query(
      `INSERT INTO cc.leases (name, holder, token, until, reached)
       VALUES ('a', gen_random_uuid(), 1, clock_timestamp() + interval '400 days', 7)`,
    );
    expect((await mustTake()).reached).toBe(7);
  });

  it('is taken over by one of several processes', async () => {
    await mustTake();
    await expire();
    const all = await Promise.all(Array.from({ length: 8 }, () => take(postgres)));
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
    const lease = (await take({ pool: { query } as unknown as Pool, clock: postgres.clock })) as Lease;
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
    await eventually(row, (found) => (found?.seconds ?? 0) > 9);
    expect(lease.held).toBe(true);
  });

  it('can be taken at once after a release, with the progress of the previous holder', async () => {
    const lease = await mustTake();
    lease.reached = 9;
    await lease.release();
    expect([lease.held, lease.isLost]).toEqual([false, true]);
    const next = await mustTake();
    expect(next.reached).toBe(9);
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
      const unknown = index % 2 === 0 ? { unknown: true, unknownSince: PAST, settings: 3 } : { unknown: false };
      const deferred = { reason: 'paused', nextTry: FUTURE, giveUpAt: FUTURE, ...(index < 10 && unknown) };
      await record(data.conversionId, 'deferred', deferred);
      if (index % 3 === 0) await record(data.conversionId, 'delivered', { attempt: 2 });
    }
    await projections.catchUp('deliveries');
    const rows = async () => (await postgres.pool.query('SELECT * FROM cc.deliveries ORDER BY conversion')).rows;
    const before = await rows();
    await projections.rebuild('deliveries');
    expect(await rows()).toEqual(before);
    expect(before).toHaveLength(13);
    expect(before[0]).toMatchObject({ give_up_at: new Date(FUTURE), details: { unknown: false } });
  });
});

/** One instance's part in attempts under delivery leases. Other instances share the database only. */
interface Instance {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly platform: PlatformDelivery;
  readonly leases: DeliveryLeases;
  readonly attempts: LeasedAttempts;
}

const WINDOW: AttemptWindow = {
  first: { startWithinMs: 300, recordWithinMs: 700 },
  owedAfterMs: 800,
  lease: { startWithinMs: 1_000, recordWithinMs: 2_500, endsAfterMs: 3_000 },
};
/** So long that no lease ends during a test, however slow the machine is. */
const LONG: AttemptWindow = {
  ...WINDOW,
  lease: { startWithinMs: 500_000, recordWithinMs: 550_000, endsAfterMs: 600_000 },
};

/** Ids of the conversions that were sent, by any instance. */
const attempted: string[] = [];
beforeEach(() => {
  attempted.length = 0;
});

type Deliver = PlatformDelivery['deliver'];
const soon: Deliver = (request) => sleep(random() * 20, delivered(request));

async function openInstance(deliver: Deliver = soon, window = LONG): Promise<Instance> {
  const own = await openDatabase(databaseUrl);
  const ownLog = new PostgresEventLog(own);
  const platform = {
    tick: () => {},
    actsFor: () => true,
    hasLeft: () => false,
    closedSites: () => [],
    isParked: () => false,
    capacity: () => 1_000,
    deliver: async (request: DeliveryRequest) => {
      if (!request.mayDeliver()) return undefined;
      attempted.push(request.received.data.conversionId);
      return deliver(request);
    },
  } as unknown as PlatformDelivery;
  const leases = new DeliveryLeases(own, window);
  const attempts = new LeasedAttempts(leases, ownLog, new Logger('silent'));
  closing.push(async () => {
    await ownLog.close();
    await own.close();
  });
  return { postgres: own, log: ownLog, platform, leases, attempts };
}

describe('RetryScheduler', () => {
  async function startScheduler(deliver?: Deliver, window?: AttemptWindow) {
    const instance = await openInstance(deliver, window);
    const confirmations = undefined as unknown as Confirmations;
    const scheduler = new RetryScheduler(
      instance.postgres,
      instance.platform,
      confirmations,
      instance.attempts,
      instance.leases,
    );
    scheduler.start(20);
    closing.unshift(() => scheduler.stop());
    return instance;
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
    await Promise.all([startScheduler(), startScheduler()]);
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

  it('repeats a delivery with the payload digest, event id, settings version and visit of the last attempt', async () => {
    const { data } = await receive();
    const { conversionId } = data;
    const kept = { bodySha256: 'b'.repeat(64), eventId: 'ORD-1-r2', reopened: 2 };
    await record(conversionId, 'deferred', { reason: 'timeout', nextTry: PAST, ...kept, siteVersion: 3, alone: true });
    await projections.catchUp('deliveries');
    const requested = new Promise<DeliveryRequest>((resolve) => {
      void startScheduler(async (request) => {
        resolve(request);
        return delivered(request);
      });
    });
    expect(await requested).toMatchObject({ ...kept, asOf: { siteVersion: 3 }, attempt: 2, alone: true });
  });

  it('attempts a delivery that has become too old before it is due, so that this is recorded', async () => {
    const { data } = await receive();
    await record(data.conversionId, 'deferred', { reason: 'authorization', nextTry: FUTURE, giveUpAt: PAST });
    await projections.catchUp('deliveries');
    await startScheduler();
    await eventually(
      () => outcomesOf(data.conversionId),
      (outcomes) => outcomes.length === 2,
    );
  });

  it('knows that a process which has ended may have sent the delivery', async () => {
    const [taken, untouched] = (await defer(2)) as [string, string];
    await new DeliveryLeases(postgres, LONG).take([{ conversion: taken, platform: 'meta' }]);
    await postgres.pool.query(`UPDATE cc.delivery_leases SET until = '2026-11-14T10:10:00Z'`);
    const requests = new Map<string, DeliveryRequest>();
    await startScheduler(async (request) => {
      requests.set(request.received.data.conversionId, request);
      return delivered(request);
    });
    await eventually(
      async () => requests.size,
      (size) => size === 2,
    );
    // The lease ended ten minutes after it was taken.
    expect(requests.get(taken)?.maybeSentAt).toBe('2026-11-14T10:00:00.000Z');
    expect(requests.get(untouched)?.maybeSentAt).toBeUndefined();
  });

  it('attempts a delivery that another instance holds only after that lease has ended', async () => {
    const [id] = (await defer(1)) as [string];
    const other = new DeliveryLeases(postgres, LONG);
    await other.take([{ conversion: id, platform: 'meta' }]);
    await startScheduler();
    // A poll reads every due delivery of a connection at once, so each of these attempts ends a poll that skipped the first.
    const others: string[] = [];
    for (let poll = 0; poll < 3; poll += 1) {
      const [next] = (await defer(1)) as [string];
      others.push(next);
      await eventually(
        async () => attempted,
        (all) => all.includes(next),
      );
    }
    expect(attempted).toEqual(others);
    await postgres.pool.query(`UPDATE cc.delivery_leases SET until = clock_timestamp() - interval '1 ms'`);
    await eventually(
      async () => attempted,
      (all) => all.includes(id),
    );
  });

  it('does not repeat an attempt whose outcome is in the log but not in the projection', async () => {
    const [settled, due] = (await defer(2)) as [string, string];
    // Its holder recorded the outcome and was killed; the lease has ended, and nothing folds the log.
    await record(settled, 'delivered', { attempt: 2 });
    await startScheduler();
    await eventually(
      () => outcomesOf(due),
      (outcomes) => outcomes.length === 2,
    );
    expect(attempted).toEqual([due]);
  });

  it('attempts a delivery again that was withdrawn, or whose answer to the lease query was lost', async () => {
    const [lost, withdrawn] = (await defer(2)) as [string, string];
    let times = 0;
    const { leases } = await startScheduler(async (request) => {
      const isFirst = request.received.data.conversionId === withdrawn && ++times === 1;
      await turn();
      return isFirst ? undefined : delivered(request);
    });
    await leases.take([{ conversion: lost, platform: 'meta' }]);
    await eventually(
      () => outcomesOf(withdrawn),
      (outcomes) => outcomes.length === 2,
    );
    expect(attempted.filter((id) => id === withdrawn)).toHaveLength(2);
    expect(await outcomesOf(withdrawn)).toEqual(['meta 1 deferred', 'meta 2 delivered']);
  });

  it('keeps a lease although bytes of an earlier request arrive late', async () => {
    const key = { conversion: uuidv7(), platform: 'meta' } as const;
    const one = await openInstance();
    const other = await openInstance();
    const permitOf = async ({ leases }: Instance) => (await leases.take([key])).get(key) as AttemptPermit;
    let nowMs = one.postgres.clock.nowMs();
    jest.spyOn(one.postgres.clock, 'at').mockImplementation(() => nowMs);
    const earlier = { ...key, permit: await permitOf(one) };
    // Its release has no answer, so that it takes the lease again; the release arrives after that.
    nowMs += 5;
    const again = { ...key, permit: await permitOf(one) };
    await one.leases.release([earlier]);
    await one.leases.releaseRecorded([{ ...earlier, position: 0 }]);
    expect(await permitOf(other)).toBeUndefined();
    await one.leases.release([again]);
    expect(await permitOf(other)).toBeDefined();
    // A request from long before the lease of the other one.
    nowMs -= 20_000;
    expect(await permitOf(one)).toBeUndefined();
  });

  it('repeats an attempt whose outcome never arrives, and records no outcome after the lease', async () => {
    const [id] = (await defer(1)) as [string];
    const answers: (() => void)[] = [];
    await startScheduler((request) => new Promise((done) => answers.push(() => done(delivered(request)))), WINDOW);
    await eventually(
      async () => attempted.length,
      (sent) => sent >= 2,
    );
    answers[0]?.();
    expect(await outcomesOf(id)).toEqual(['meta 1 deferred']);
    // The outcome of the attempt under the present lease counts.
    await eventually(
      async () => {
        for (const answer of answers.splice(0)) answer();
        return outcomesOf(id);
      },
      (outcomes) => outcomes.length === 2,
    );
    expect(await outcomesOf(id)).toEqual(['meta 1 deferred', 'meta 2 delivered']);
  });

  it('records once that a conversion is no longer in the log', async () => {
    const [id] = (await defer(1)) as [string];
    const owner = await postgres.connectAsOwner('test');
    // As by the retention of version 0.2, which did not wait for deliveries.
    await owner.query('SET session_replication_role = replica');
    await owner.query('DELETE FROM cc.events WHERE stream = $1', [id]);
    await owner.end();
    const instance = await startScheduler();
    const append = jest.spyOn(instance.log, 'append');
    const [event] = await eventually(
      () => log.readStream(CONVERSION, id),
      (events) => events.length > 0,
    );
    expect(event).toMatchObject({
      ...{ type: 'conversion.failed.v1', version: 1 },
      data: { attempt: 2, reason: 'no_longer_in_the_log' },
    });
    expect(append).toHaveBeenCalledTimes(1);
    await projections.catchUp('deliveries');
    expect((await postgres.pool.query('SELECT FROM cc.deliveries')).rowCount).toBe(0);
  });

  it('continues after a database that did not answer for a while', async () => {
    const [id] = (await defer(1)) as [string];
    const instance = await openInstance();
    const scheduler = new RetryScheduler(
      instance.postgres,
      instance.platform,
      undefined as unknown as Confirmations,
      instance.attempts,
      instance.leases,
    );
    const { query } = instance.postgres.pool;
    let timeouts = 0;
    instance.postgres.pool.query = ((config: { query_timeout?: number }) => {
      // Without a timeout, the connection would be waited for as long as TCP retransmits.
      if (config.query_timeout === undefined) return new Promise(() => {});
      timeouts += 1;
      return Promise.reject(new Error('Query read timeout'));
    }) as unknown as Pool['query'];
    scheduler.start(10);
    await eventually(
      async () => timeouts,
      (seen) => seen >= 3,
    );
    instance.postgres.pool.query = query;
    await eventually(
      () => outcomesOf(id),
      (outcomes) => outcomes.length === 2,
    );
    await scheduler.stop();
  });
});

describe('ReplayDeliveries', () => {
  it('requests failed deliveries as the actor of the command', async () => {
    const failed = await receive();
    await record(failed.data.conversionId, 'failed', { reason: 'x' });
    const delivered = await receive();
    await record(delivered.data.conversionId, 'delivered');
    const range = { after: 0, until: await log.head() };
    const base = { site: SITE, platform: 'meta', range, siteVersion: 3, force: false, dryRun: false } as const;
    const request = { ...base, statuses: ['failed', 'skipped'], nowMs: Date.now() } as const;
    const counts = await new ReplayDeliveriesHandler(log).execute(new ReplayDeliveries('user:jane', request));
    expect(counts).toEqual({ requested: 1, byStatus: { failed: 1, delivered: 1 } });
    const events = await log.readStream(CONVERSION, failed.data.conversionId);
    expect(events.at(-1)).toMatchObject({ type: 'conversion.send_requested.v1', actor: 'user:jane' });
    expect(await log.readStream(CONVERSION, delivered.data.conversionId)).toHaveLength(2);
  });

  it('requests the current payload, unless the platform may have another one under the same event id', async () => {
    const refused = await receive();
    await record(refused.data.conversionId, 'failed', { reason: 'HTTP 400' });
    const bound = await receive();
    const unknown = { unknown: true, unknownSince: PAST, reason: 'timeout' };
    await record(bound.data.conversionId, 'failed', unknown);
    const unattempted = await receive();
    const base = { site: SITE, platform: 'meta', siteVersion: 3, dryRun: false } as const;
    const replay = async ({ data: { conversionId: conversion } }: ReceivedConversion, force: boolean) => {
      const nowMs = Date.parse(unattempted.time) + 60_000;
      const request = { ...base, range: { conversion }, force, statuses: ['failed', 'queued'] as const, nowMs };
      await new ReplayDeliveriesHandler(log).execute(new ReplayDeliveries('cli', request));
      return loosely(await log.readStream(CONVERSION, conversion)).at(-1)?.data['payloadVersion'];
    };
    expect(await replay(refused, false)).toBe(PAYLOAD_VERSION);
    expect(await replay(bound, false)).toBeUndefined();
    expect(await replay(unattempted, false)).toBeUndefined();
    expect(await replay(bound, true)).toBe(PAYLOAD_VERSION);
    // The new event id is bound from now on, in the version of its request.
    await record(bound.data.conversionId, 'failed', { attempt: 2, ...unknown, eventId: 'x' });
    expect(await replay(bound, false)).toBe(PAYLOAD_VERSION);
  });

  it('forces a delivery once until it is made, and says so', async () => {
    const { conversionId: conversion } = (await receive()).data;
    await record(conversion, 'delivered');
    const base = { site: SITE, platform: 'meta', siteVersion: 3, force: true, dryRun: false } as const;
    const request = { ...base, range: { conversion }, statuses: [], nowMs: Date.now() };
    const replay = () => new ReplayDeliveriesHandler(log).execute(new ReplayDeliveries('cli', request));
    const requested = async () =>
      loosely(await log.readStream(CONVERSION, conversion)).flatMap(({ data }) => data['eventId'] ?? []);
    const counts = await Promise.all(Array.from({ length: 5 }, replay));
    expect(counts.filter((count) => count.requested === 1)).toEqual([{ requested: 1, byStatus: { delivered: 1 } }]);
    expect(counts.filter((count) => count.requested === 0)).toEqual(
      Array.from({ length: 4 }, () => ({ requested: 0, byStatus: { queued: 1 } })),
    );
    const [eventId] = await requested();
    expect(await requested()).toEqual([`${conversion}-r2`]);
    await record(conversion, 'delivered', { attempt: 2, eventId: eventId as string });
    expect(await replay()).toEqual({ requested: 1, byStatus: { delivered: 1 } });
    expect((await requested()).at(-1)).toBe(`${conversion}-r3`);
  });

  it('requests deliveries to a connection that was made after the receipt, if asked for them', async () => {
    const { conversionId } = (await receive({ platforms: ['segment'] })).data;
    const range = { after: 0, until: await log.head() };
    const base = { site: SITE, platform: 'meta', range, siteVersion: 3, force: false, dryRun: false } as const;
    const replay = (statuses: readonly ReplayStatus[]) =>
      new ReplayDeliveriesHandler(log).execute(new ReplayDeliveries('cli', { ...base, statuses, nowMs: Date.now() }));
    const counts = { byStatus: { not_connected: 1 } };
    expect(await replay(['failed', 'skipped', 'queued'])).toEqual({ requested: 0, ...counts });
    expect(await replay(['not_connected'])).toEqual({ requested: 1, ...counts });
    expect(await replay(['not_connected'])).toEqual({ requested: 0, byStatus: { queued: 1 } });
    const check = deliveriesCheck(() => false);
    check.read(await log.readStream(CONVERSION, conversionId));
    expect(await check.finish()).toMatchObject({ ok: true });
    await projections.catchUp('deliveries');
    const { rows } = await postgres.pool.query('SELECT conversion, platform, attempt FROM cc.deliveries');
    expect(rows).toEqual([{ conversion: conversionId, platform: 'meta', attempt: 0 }]);
  });

  it('requests queued deliveries, except first attempts that may be in flight', async () => {
    const waiting = await receive();
    await record(waiting.data.conversionId, 'deferred', { reason: 'timeout', nextTry: FUTURE });
    const unattempted = await receive();
    const failed = await receive();
    await record(failed.data.conversionId, 'failed', { reason: 'x' });
    const range = { after: 0, until: await log.head() };
    const base = { site: SITE, platform: 'meta', range, siteVersion: 3, force: false, dryRun: false } as const;
    const replay = (nowMs: number) =>
      new ReplayDeliveriesHandler(log).execute(new ReplayDeliveries('cli', { ...base, statuses: ['queued'], nowMs }));
    const receivedMs = Date.parse(unattempted.time);
    expect(await replay(receivedMs + 39_999)).toEqual({ requested: 1, byStatus: { queued: 2, failed: 1 } });
    expect(await outcomesOf(unattempted.data.conversionId)).toEqual([]);
    expect(await replay(receivedMs + 40_000)).toMatchObject({ requested: 2 });
    await projections.catchUp('deliveries');
    const { rows } = await postgres.pool.query('SELECT conversion, due <= now() AS due FROM cc.deliveries ORDER BY 1');
    expect(rows).toEqual([waiting, unattempted].map(({ data }) => ({ conversion: data.conversionId, due: true })));
  });
});

describe('readUnderWay', () => {
  it('counts conversions that have no outcome, wherever the outcome is and however far the scan is', async () => {
    const { data } = await receive();
    const underWay = async () => (await readUnderWay({ postgres, log }, SITE)).conversions;
    expect(await underWay()).toBe(1);
    await record(data.conversionId, 'delivered');
    expect(await underWay()).toBe(0);
    expect((await readUnderWay({ postgres, log }, 'other.example')).conversions).toBe(0);
  });

  it('waits while a refresh token of the site is used, because the one that replaces it would not be stored any more', async () => {
    const tokens = new DatabaseTokenStore(postgres, {} as SiteSecrets, async () => undefined);
    const lock = await tokens.lock(SITE, 'google_ads');
    const underWay = (site: string) => readUnderWay({ postgres, log }, site);
    const [used, other] = [await underWay(SITE), await underWay('shop.exam')];
    await lock?.release();
    const released = await underWay(SITE);
    expect([used, other, released].map(({ isRefreshing }) => isRefreshing)).toEqual([true, false, false]);
    expect([used, other, released].map(isDrained)).toEqual([false, true, true]);
  });
});

describe('OwedDeliveriesScan', () => {
  async function startScan(deliver?: Deliver, window = LONG) {
    const instance = await openInstance(deliver, window);
    const { attempts, leases, platform } = instance;
    const scan = new OwedDeliveriesScan(instance.postgres, instance.log, platform, attempts, leases, window);
    scan.start(20);
    closing.unshift(() => scan.stop());
    return { ...instance, scan };
  }
  const settled = (...conversions: ReceivedConversion[]) =>
    eventually(
      () => Promise.all(conversions.map(({ data }) => outcomesOf(data.conversionId))),
      (outcomes) => outcomes.every(({ length }) => length > 0),
    );
  const reaches = (position: number) =>
    eventually(
      async () => {
        const text = `SELECT reached::integer FROM cc.leases WHERE name = 'deliveries-scan'`;
        return (await postgres.pool.query<{ reached: number }>(text)).rows[0]?.reached ?? 0;
      },
      (reached) => reached >= position,
    );

  it('knows that the instance which received a conversion may have sent it', async () => {
    const received = await receive();
    const requests: DeliveryRequest[] = [];
    await startScan(async (request) => {
      requests.push(request);
      return delivered(request);
    });
    await settled(received);
    expect(requests).toMatchObject([{ attempt: 1, maybeSentAt: received.time }]);
  });

  it('attempts once what has no outcome, although two instances scan', async () => {
    const untouched = await receive({ platforms: ['meta', 'segment'] });
    const half = await receive({ platforms: ['meta', 'segment'] });
    await record(half.data.conversionId, 'deferred', { platform: 'segment', reason: 'timeout', nextTry: FUTURE });
    const requested = await receive();
    await log.append({
      ...{ category: CONVERSION, stream: requested.data.conversionId, expected: 'any', site: SITE, actor: 'cli' },
      events: [{ type: 'conversion.send_requested.v1', data: { platform: 'meta', attempt: 0, settings: 3 } }],
    });
    const eleven = await receive({ platforms: PLATFORM_NAMES });
    const [missing, ...others] = PLATFORM_NAMES;
    for (const platform of others) await record(eleven.data.conversionId, 'delivered', { platform });
    await receive({ platforms: undefined });
    await startScan();
    await startScan();
    // The second takes the lease, and the first has not noticed yet, as after a freeze: both attempt what they find.
    await postgres.pool.query(`UPDATE cc.leases SET until = '-infinity' WHERE name = 'deliveries-scan'`);
    await settled(untouched, half, eleven);
    await reaches(eleven.position);
    const all = await Promise.all([untouched, half, eleven].map(({ data }) => outcomesOf(data.conversionId)));
    expect(all[0]?.sort()).toEqual(['meta 1 delivered', 'segment 1 delivered']);
    expect(all[1]).toEqual(['segment 1 deferred', 'meta 1 delivered']);
    expect(all[2]?.at(-1)).toBe(`${missing} 1 delivered`);
    expect(attempted).toHaveLength(4);
    expect(await outcomesOf(requested.data.conversionId)).toHaveLength(1);
  });

  it('reads everything that was appended while no instance ran', async () => {
    const early = await receive();
    await Promise.all(
      Array.from({ length: 2_600 }, async () => {
        const { data } = await receive();
        await record(data.conversionId, 'delivered');
      }),
    );
    const late = await receive();
    await startScan();
    await settled(early, late);
    expect([...attempted].sort()).toEqual([early, late].map(({ data }) => data.conversionId).sort());
    await reaches(await log.head());
  });

  it('takes leases of processes that died while the clock of the database was ahead', async () => {
    const owed = await receive();
    await postgres.pool.query(
      `INSERT INTO cc.delivery_leases (conversion, platform, holder, until)
       VALUES ($1, 'meta', gen_random_uuid(), clock_timestamp() + interval '400 days')`,
      [owed.data.conversionId],
    );
    await startScan();
    await settled(owed);
  });

  it('continues where the instance before stopped', async () => {
    const before = await receive();
    const { scan } = await startScan(undefined, { ...LONG, owedAfterMs: 3_600_000 });
    await reaches(before.position - 1);
    await scan.stop();
    const after = await receive();
    await startScan();
    await settled(before, after);
    expect([...attempted].sort()).toEqual([before, after].map(({ data }) => data.conversionId).sort());
  });

  it('takes over from an instance that froze between lease and outcome, whose outcome then counts no more', async () => {
    const conversion = await receive();
    const { conversionId } = conversion.data;
    let thaw: () => void = () => {};
    const frozen = await openInstance(
      (request) =>
        new Promise((done) => {
          thaw = () => done({ ...delivered(request), status: 'deferred', nextTry: PAST });
        }),
      WINDOW,
    );
    const attempt: DueAttempt = {
      ...{ conversion: conversionId, platform: 'meta', position: 0, attempt: 1 },
      start: (received, permit) =>
        frozen.platform.deliver({ received, platform: 'meta', attempt: 1, mayDeliver: () => permit.mayStart }),
    };
    expect(await frozen.attempts.start([attempt])).toBe(1);
    await startScan(undefined, WINDOW);
    await settled(conversion);
    thaw();
    await turn();
    // Its connection answers in order, so this append follows whatever the thawed instance appended.
    await frozen.log.append({
      ...{ category: CONVERSION, stream: uuidv7(), expected: 'new', site: SITE, actor: 'system' },
      events: [{ type: 'conversion.filtered.v1', data: {} }],
    });
    expect((await outcomesOf(conversionId)).filter((outcome) => outcome !== 'meta 1 delivered')).toEqual([]);
  });

  it('does not repeat forever an attempt whose outcome the log refuses, and makes the others', async () => {
    const poisoned = await receive();
    const instance = await startScan();
    const { append } = instance.log;
    const refusals: string[] = [];
    instance.log.append = async (request) => {
      if (request.stream !== poisoned.data.conversionId) return append.call(instance.log, request);
      refusals.push(request.stream);
      throw new Error('The log refused the event: invalid input');
    };
    // Two appends: the second without the platform's texts.
    await eventually(
      async () => refusals.length,
      (times) => times >= 2,
    );
    const others = [await receive(), await receive()];
    await settled(...others);
    await postgres.pool.query(`UPDATE cc.delivery_leases SET until = '-infinity'`);
    const last = await receive();
    await settled(last);
    expect(attempted.filter((id) => id === poisoned.data.conversionId)).toHaveLength(1);
  });

  it('is reported while it is owed, also by processes that do not scan', async () => {
    const owed = await receive({ platforms: ['meta', 'segment'] });
    const waiting = await receive();
    await record(waiting.data.conversionId, 'deferred', { reason: 'timeout', nextTry: PAST });
    const parked = await receive({ platforms: ['segment'] });
    // It failed before the connection was parked.
    await record(parked.data.conversionId, 'deferred', {
      ...{ platform: 'segment', reason: 'server_error', nextTry: PAST },
    });
    await projections.catchUp('deliveries');
    const isHeldBack = (site: string, platform: string) => site === SITE && platform === 'segment';
    // An hour later, by the clock that decides.
    const later = Date.parse(owed.time) + 3_600_000;
    jest.spyOn(postgres.clock, 'nowMs').mockReturnValue(later);
    const unattempted = await findUnattempted(postgres, log);
    expect(unattempted.map(({ conversion, platform }) => [conversion, platform])).toEqual([
      [owed.data.conversionId, 'meta'],
      [owed.data.conversionId, 'segment'],
    ]);
    expect(await scanLateMs(postgres, log)).toBe(3_600_000 - 40_000);
    const report = await reportOwed(postgres, unattempted, isHeldBack);
    expect([...report.byPlatform].sort()).toEqual([
      ['meta', 2],
      ['segment', 2],
    ]);
    expect(report.unattempted).toBe(2);
    expect(report.lateMs).toBeGreaterThan(3_500_000);
    await record(owed.data.conversionId, 'delivered');
    await record(owed.data.conversionId, 'delivered', { platform: 'segment' });
    await record(waiting.data.conversionId, 'delivered', { attempt: 2 });
    await projections.catchUp('deliveries');
    const rest = await reportOwed(postgres, await findUnattempted(postgres, log), isHeldBack);
    // Held back by its connection: owed, and not late.
    expect([[...rest.byPlatform], rest.lateMs]).toEqual([[['segment', 1]], 0]);
    // Resumed, and not attempted since.
    expect((await reportOwed(postgres, [], () => false)).lateMs).toBe(later - Date.parse(PAST));
  });

  it('continues after the database was away, and waits while its clock is distrusted', async () => {
    const conversion = await receive();
    const instance = await openInstance(undefined, LONG);
    const { attempts, leases, platform } = instance;
    const { clock, pool } = instance.postgres;
    let asked = 0;
    jest.spyOn(clock, 'refusal').mockImplementation(() => (++asked < 5 ? 'the clock jumped' : undefined));
    const { query } = pool;
    let failures = 0;
    pool.query = ((...args: unknown[]) => {
      failures += 1;
      if (failures <= 5) return Promise.reject(new Error('Connection terminated'));
      return (query as (...all: unknown[]) => unknown).apply(pool, args);
    }) as unknown as Pool['query'];
    const scan = new OwedDeliveriesScan(instance.postgres, instance.log, platform, attempts, leases, LONG);
    scan.start(20);
    closing.unshift(() => scan.stop());
    await settled(conversion);
    expect(asked).toBeGreaterThanOrEqual(5);
  });
});

describe('DeliveryService', () => {
  const site = { connections: new Map([['meta', {}]]), siteVersion: 1 } as unknown as LoadedSite;

  async function startDeliveries(deliver?: Deliver): Promise<DeliveryService> {
    const instance = await openInstance(deliver);
    const started = new DeliveryService(
      instance.postgres,
      instance.log,
      instance.platform,
      new Logger('silent'),
      new Shutdown(10_000),
      { inboundDeadlineMs: 60_000 } as Settings,
      { ...INTERVALS.attempts, first: { startWithinMs: 500_000, recordWithinMs: 600_000 } },
    );
    started.start();
    closing.unshift(async () => started.stop());
    return started;
  }

  it('delivers a conversion and records the outcome', async () => {
    const deliveries = await startDeliveries();
    const plan = deliveryPlanOf(site);
    expect(plan).toEqual({ platforms: ['meta'], siteVersion: 1, payloadVersion: PAYLOAD_VERSION });
    const conversion = await receive(plan);
    expect(await deliveries.deliver(conversion)).toEqual({ meta: { ok: true, status: 'delivered' } });
    expect(await outcomesOf(conversion.data.conversionId)).toEqual(['meta 1 delivered']);
    expect(deliveries.inFlightCount).toBe(0);
  });

  it('leaves a conversion owed whose append was answered too late', async () => {
    const deliveries = await startDeliveries();
    const conversion = await receive(deliveryPlanOf(site));
    const time = new Date(Date.parse(conversion.time) - 501_000).toISOString();
    const queued = { ok: false, status: 'queued', reason: 'timeout' };
    expect(await deliveries.deliver({ ...conversion, time })).toEqual({ meta: queued });
    expect([attempted, await outcomesOf(conversion.data.conversionId)]).toEqual([[], []]);
  });
});
