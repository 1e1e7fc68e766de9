import { jest } from '@jest/globals';
import { Checkpoints } from '../src/checkpoints/checkpoints.js';
import { SigningKeys } from '../src/checkpoints/signing-keys.js';
import { OUTBOUND } from '../src/events/outbound.events.js';
import { pushesCheck } from '../src/history/reconciliation/pushes.check.js';
import type { VerifyDependencies } from '../src/history/verify.js';
import { signature } from '../src/http/webhook-signature.js';
import { Sealer } from '../src/kernel/sealing.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { acquirePushLeases, maySend, mayStart } from '../src/outbound/push-lease.js';
import { pushNow } from '../src/outbound/push-now.js';
import { streamOf } from '../src/outbound/reporting-window.js';
import { nextTickMs } from '../src/outbound/ticks.js';
import { totalsProjection } from '../src/outbound/totals.projection.js';
import type { Lease } from '../src/postgres/lease.js';
import { AddSite, PauseSite, ResumeSite } from '../src/sites/site.commands.js';
import { EnableWebhook, SetWebhook } from '../src/sites/webhook.commands.js';
import type { SiteWebhook } from '../src/sites/webhook.js';
import { createDatabase } from './support/databases.js';
import { type LooseEvent, loosely } from './support/loose-event.js';
import {
  acceptedPushes,
  appendEvents,
  KEY,
  type OutboundInstance,
  openInstance,
  parsePush,
  type SampleEvent,
  sum,
  totalsOf,
} from './support/outbound.js';
import { type Answer, answerWith, type Call, startReceiver } from './support/webhook-receiver.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TICK = 15 * MINUTE;

const receiver = await startReceiver();
const instance = await openInstance(await createDatabase());
afterAll(async () => {
  await instance.stop();
  await receiver.stop();
});

describe('the outbound webhook', () => {
  let siteCount = 0;

  beforeEach(() => {
    receiver.answer = answerWith(200);
  });
  afterEach(() => {
    expect(instance.errors).toEqual([]);
  });

  /** A site with a new webhook, and the path that receives its pushes. */
  async function openSite(secret?: string): Promise<{ host: string; path: string }> {
    siteCount += 1;
    const { host } = await instance.execute(new AddSite('cli', `shop-${siteCount}.example`));
    const path = `/${host}`;
    await instance.execute(new SetWebhook('cli', host, { url: receiver.url + path, secret, allowPrivate: true }));
    return { host, path };
  }

  async function advanceClock(ms: number): Promise<void> {
    instance.clockOffsetMs += ms;
    await instance.pushDue();
  }

  /** Moves the clock just past the next tick. */
  function toNextTick(): Promise<void> {
    const now = Date.now() + instance.clockOffsetMs;
    return advanceClock(nextTickMs(now, TICK) - now + 50);
  }

  it('counts received and filtered conversions, without trials and other sites', async () => {
    const { host, path } = await openSite();
    const other = await openSite();
    await appendEvents(instance.log, host, 'received', 'received', 'received', 'filtered', 'detected', 'detected');
    await appendEvents(instance.log, host, 'observed', 'trial', 'trial-filtered', 'delivered');
    await appendEvents(instance.log, other.host, 'received', 'filtered');
    await toNextTick();
    expect(receiver.callsTo(path).map(({ body }) => body)).toEqual(['{"conversions":3,"bot_traffic_removed":3}']);
    expect(receiver.callsTo(other.path).map(({ body }) => body)).toEqual(['{"conversions":1,"bot_traffic_removed":1}']);
  });

  it('sums up to the log over a day of failures', async () => {
    const sites = await Promise.all([1, 2, 3].map(() => openSite()));
    const answers = [200, 500, 200, 200, 503, 429, 200, 302, 200, 404, 200, 'close'] as const;
    const turns = new Map<string, number>();
    const appended = new Map<string, SampleEvent[]>();
    let isDown = false;
    receiver.answer = (call, response) => {
      const turn = turns.get(call.path) ?? 0;
      turns.set(call.path, turn + 1);
      const answer = answers[turn % answers.length] ?? 200;
      if (isDown || answer === 'close') response.destroy();
      else answerWith(answer, { 'retry-after': '60', location: '/elsewhere' })(call, response);
    };
    const kinds: SampleEvent[] = ['received', 'received', 'filtered', 'detected', 'observed', 'trial', 'delivered'];
    for (let minutes = 0; minutes < 24 * 60; ) {
      const step = 3 + ((minutes * 31) % 20);
      minutes += step;
      isDown = minutes > 6 * 60 && minutes < 9 * 60;
      for (const [at, { host }] of sites.entries()) {
        const events = kinds.filter((_, index) => (minutes + index * at) % 3 > 0);
        appended.set(host, [...(appended.get(host) ?? []), ...events]);
        await appendEvents(instance.log, host, ...events);
      }
      await advanceClock(step * MINUTE);
    }
    receiver.answer = answerWith(200);
    for (let hours = 0; hours < 12; hours += 1) await advanceClock(HOUR);
    for (const { host, path } of sites) {
      const pushes = acceptedPushes(receiver.callsTo(path));
      const { first } = (await instance.sites.get(host)).webhook as { first: { position: number } };
      expect(pushes.length).toBeGreaterThan(20);
      expect(pushes.map(({ from }) => from)).toEqual([first.position, ...pushes.slice(0, -1).map(({ to }) => to)]);
      const last = pushes.at(-1)?.to as number;
      expect(sum(pushes)).toEqual(await totalsOf(instance.log, host, first.position, last));
      // Everything: no counted event follows the last window.
      const times = (...kinds: SampleEvent[]) => appended.get(host)?.filter((kind) => kinds.includes(kind)).length;
      const all = { conversions: times('received'), bot_traffic_removed: times('filtered', 'detected') };
      expect(sum(pushes)).toEqual(all);
      // A window has one body, however often it was sent.
      const bodies = new Map(receiver.callsTo(path).map((call) => [parsePush(call).id, call.body]));
      for (const call of receiver.callsTo(path)) expect(call.body).toBe(bodies.get(parsePush(call).id));
    }
  });

  describe('the check of pushes', () => {
    const examine = async () => {
      const { sites, log } = instance;
      return pushesCheck.examine({
        sites,
        log,
        until: await log.head(),
        removedUntil: 0,
        progress: () => {},
      } as unknown as VerifyDependencies);
    };

    /** Bypasses the append-only trigger and rolls back afterwards. */
    async function tampered(host: string, change: string) {
      const owner = await instance.postgres.connectAsOwner('test');
      const closed = `site = '${host}' AND type = 'outbound.closed.v1'`;
      try {
        await owner.query(`SET session_replication_role = replica; CREATE TABLE public.original AS
          SELECT position, data FROM cc.events WHERE ${closed}; UPDATE cc.events SET data = (${change})::json WHERE ${closed}`);
        return await examine();
      } finally {
        await owner.query(`UPDATE cc.events e SET data = o.data FROM public.original o WHERE o.position = e.position;
          DROP TABLE public.original`);
        await owner.end();
      }
    }

    it('passes for all earlier pushes, and fails when a window holds other totals', async () => {
      const { host } = await openSite();
      await appendEvents(instance.log, host, 'received');
      await toNextTick();
      expect(await examine()).toMatchObject({
        ok: true,
        detail: expect.stringMatching(/^\d+ reporting windows were delivered/),
      });
      const other = await tampered(host, `jsonb_set(data::jsonb, '{body,conversions}', '7')`);
      expect(other).toMatchObject({ ok: false, detail: expect.stringContaining(`${host}: reporting window`) });
      await toNextTick();
      const apart = await tampered(host, `jsonb_set(data::jsonb, '{fromPosition}', '1')`);
      expect(apart).toMatchObject({ ok: false, detail: expect.stringContaining('starts at 1') });
      expect(await examine()).toMatchObject({ ok: true });
    });
  });

  describe('a push', () => {
    const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

    it('carries the bearer secret, the reporting window and a signature', async () => {
      const { host, path } = await openSite(SECRET);
      await appendEvents(instance.log, host, 'received');
      const before = await instance.log.head();
      const { first } = await webhook(host);
      await toNextTick();
      const [{ headers, body }] = receiver.callsTo(path) as [Call];
      const { 'webhook-id': id, 'webhook-timestamp': timestamp } = headers as Record<string, string>;
      expect(headers).toMatchObject({
        authorization: `Bearer ${SECRET}`,
        'content-type': 'application/json',
        'webhook-signature': signature(SECRET, id as string, Number(timestamp), body),
        'x-cc-window-start': first.time,
        'x-cc-from-position': String(first.position),
      });
      // Other sites close their windows at the same tick, which adds events too.
      const until = Number(headers['x-cc-to-position']);
      const [closed] = await instance.log.read({ site: host, types: ['outbound.closed.v1'] });
      expect(until).toBeGreaterThanOrEqual(before);
      expect(until).toBeLessThan(closed?.position as number);
      expect(Number(timestamp) * 1_000).toBeLessThanOrEqual(Date.now() + instance.clockOffsetMs);
      const windowEnd = Date.parse(String(headers['x-cc-window-end']));
      expect(windowEnd - nextTickMs(windowEnd - TICK, TICK)).toBeLessThan(MINUTE);
      expect(JSON.stringify(await instance.log.read({ site: host }))).not.toContain(SECRET.slice(6));
    });

    it('carries the newest checkpoint of the log on every attempt, beside an unchanged id, body and signature', async () => {
      const { host, path } = await openSite(SECRET);
      await appendEvents(instance.log, host, 'received');
      receiver.answer = answerWith(500);
      await toNextTick();
      const keys = new SigningKeys(instance.postgres.pool, new Sealer(KEY));
      const newest = await new Checkpoints(instance.postgres.pool, keys, 'local').current();
      receiver.answer = answerWith(200);
      await toNextTick();
      const [first, second] = receiver.callsTo(path) as [Call, Call];
      expect(second.headers['x-cc-checkpoint']).toBe(newest?.token);
      expect([second.headers['webhook-id'], second.body]).toEqual([first.headers['webhook-id'], first.body]);
      expect(second.body).toBe('{"conversions":1,"bot_traffic_removed":0}');
      for (const { headers, body } of [first, second]) {
        const { 'webhook-id': id, 'webhook-timestamp': timestamp } = headers as Record<string, string>;
        expect(headers['webhook-signature']).toBe(signature(SECRET, id as string, Number(timestamp), body));
      }
    });

    it('is sent once per tick, also with zero totals', async () => {
      const { path } = await openSite();
      for (let tick = 0; tick < 3; tick += 1) {
        await toNextTick();
        await advanceClock(MINUTE);
      }
      expect(receiver.callsTo(path).map(({ body }) => body)).toEqual(
        Array(3).fill('{"conversions":0,"bot_traffic_removed":0}'),
      );
    });

    it('covers missed ticks in one push', async () => {
      const { host, path } = await openSite();
      await appendEvents(instance.log, host, 'received');
      await advanceClock(2 * HOUR);
      await advanceClock(0);
      expect(receiver.callsTo(path).map(({ body }) => body)).toEqual(['{"conversions":1,"bot_traffic_removed":0}']);
    });
  });

  describe('answers of a receiver', () => {
    /** One push to a receiver with this answer, and the recorded outcome. */
    async function pushTo(answer: Answer) {
      const site = await openSite();
      await appendEvents(instance.log, site.host, 'received');
      receiver.answer = (call, response) => (call.path === site.path ? answer : answerWith(200))(call, response);
      await toNextTick();
      receiver.answer = answerWith(200);
      const { data } = (await attemptsOf(site.host)).at(-1) as LooseEvent;
      return { ...site, data, waitMs: data['nextTry'] ? waitOf(data) : undefined };
    }
    /** Wait between the attempt and the next one, by the test clock. */
    const waitOf = (data: LooseEvent['data']) => {
      const waitMs = Date.parse(String(data['nextTry'])) - Date.parse(String(data['failingSince']));
      return Math.round(waitMs / 1_000) * 1_000;
    };
    const ACCEPTED = { attempt: 1, httpStatus: 200, body: { conversions: 1, bot_traffic_removed: 0 } };

    it('accepts a 204', async () => {
      const { data } = await pushTo(answerWith(204));
      expect(data).toMatchObject({ ...ACCEPTED, httpStatus: 204 });
      expect(data).not.toHaveProperty('reason');
    });

    const because = (reason: string) => ({ reason: expect.stringContaining(reason) });
    it.each([
      ['400', answerWith(400), { httpStatus: 400, reason: 'HTTP 400' }, 5_000],
      ['429 with Retry-After', answerWith(429, { 'retry-after': '120' }), { httpStatus: 429 }, 120_000],
      ['503 with a shorter Retry-After', answerWith(503, { 'retry-after': '1' }), { httpStatus: 503 }, 5_000],
      ['a redirect', answerWith(302, { location: '/redirected' }), because('redirects'), 5_000],
      ['no answer', () => {}, because('timeout: '), 5_000],
      ['a closed connection', (_, response) => response.destroy(), because('network_error: '), 5_000],
      ['headers that never end', dripping('HTTP/1.1 200 OK\r\n', 'x-more: 1\r\n'), because('timeout: '), 5_000],
    ] as [string, Answer, object, number][])('sends the push again after %s', async (_, answer, expected, wait) => {
      const { host, path, data, waitMs } = await pushTo(answer);
      expect(data).toMatchObject({ attempt: 1, failures: 1, ...expected });
      expect(waitMs).toBe(wait);
      expect(receiver.calls.some(({ path }) => path === '/redirected')).toBe(false);
      await advanceClock(wait - 1_500);
      expect(await attemptsOf(host)).toHaveLength(1);
      await advanceClock(2_000);
      expect((await attemptsOf(host)).at(-1)?.data).toMatchObject({ ...ACCEPTED, attempt: 2 });
      const [first, second] = receiver.callsTo(path).map(parsePush);
      expect(second).toEqual({ ...first, accepted: true });
    });

    it.each([
      ['a body that arrives slowly', dripping('HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n', 'x')],
      ['a body of 10 MB', (_, response) => response.writeHead(200).end(Buffer.alloc(10_000_000))],
      ['a truncated body', (_, { socket }) => socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nx')],
      ['an invalid gzip body', (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no')],
    ] as [string, Answer][])('accepts a 200 with %s', async (_, answer) => {
      expect((await pushTo(answer)).data).toMatchObject(ACCEPTED);
    });

    it('sends nothing after a 410 until the webhook is enabled, then the pending window', async () => {
      const { host, path, data, waitMs } = await pushTo(answerWith(410));
      expect(data).toMatchObject({ httpStatus: 410, reason: expect.stringContaining('asked for no more pushes') });
      expect(waitMs).toBeUndefined();
      expect(await webhook(host)).toMatchObject({ enabled: false, reason: expect.stringContaining('HTTP 410') });
      await advanceClock(3 * HOUR);
      expect(receiver.callsTo(path)).toHaveLength(1);
      await appendEvents(instance.log, host, 'received', 'filtered');
      await instance.execute(new EnableWebhook('cli', host));
      await advanceClock(0);
      const [held, again, next] = receiver.callsTo(path).map(parsePush);
      expect(again).toEqual({ ...held, accepted: true });
      expect(next).toMatchObject({ from: held?.to, totals: { conversions: 1, bot_traffic_removed: 1 } });
    });

    it('sends nothing after the window in which the site was paused, until it is resumed', async () => {
      const { host, path } = await pushTo(answerWith(500));
      await appendEvents(instance.log, host, 'received');
      const push = instance.pusher.push.bind(instance.pusher);
      const pausing = jest.spyOn(instance.pusher, 'push').mockImplementation(async (to, ...rest) => {
        const end = await push(to, ...rest);
        if (to.site === host) await instance.execute(new PauseSite('cli', host));
        await instance.directory.refresh();
        return end;
      });
      await advanceClock(3 * HOUR);
      pausing.mockRestore();
      expect(receiver.callsTo(path)).toHaveLength(2);
      await instance.execute(new ResumeSite('cli', host));
      await advanceClock(0);
      expect(receiver.callsTo(path)).toHaveLength(3);
    });

    it('disables a webhook that fails for five days, with a reason, and drops no window', async () => {
      const { host, path } = await openSite();
      await appendEvents(instance.log, host, 'received');
      const beganMs = Date.now() + instance.clockOffsetMs;
      receiver.answer = (call, response) => answerWith(call.path === path ? 500 : 200)(call, response);
      await toNextTick();
      const waits: number[] = [];
      for (let turn = 0; turn < 40 && (await webhook(host)).enabled; turn += 1) {
        const { data } = (await attemptsOf(host)).at(-1) as LooseEvent;
        const waitMs = Date.parse(String(data['nextTry'])) - Date.now() - instance.clockOffsetMs;
        waits.push(Math.ceil(waitMs / 10_000) * 10_000);
        await advanceClock(waitMs + 50);
      }
      const hours = [2, 5, ...Array(11).fill(10)];
      expect(waits.slice(0, -1)).toEqual([10_000, 5 * MINUTE, 30 * MINUTE, ...hours.map((count) => count * HOUR)]);
      const failedForMs = Date.now() + instance.clockOffsetMs - beganMs;
      expect(Math.round(failedForMs / HOUR)).toBe(5 * 24);
      expect(await webhook(host)).toMatchObject({
        reason: expect.stringContaining('failed for too long, last error: HTTP 500'),
      });

      receiver.answer = answerWith(200);
      await appendEvents(instance.log, host, 'received');
      await instance.execute(new EnableWebhook('cli', host));
      await advanceClock(0);
      const pushes = acceptedPushes(receiver.callsTo(path));
      expect(pushes).toHaveLength(2);
      expect(sum(pushes)).toEqual({ conversions: 2, bot_traffic_removed: 0 });
    });

    it('starts the full retry schedule when a webhook fails again after it was enabled', async () => {
      const { host } = await pushTo(answerWith(410));
      await advanceClock(6 * 24 * HOUR);
      receiver.answer = answerWith(500);
      await instance.execute(new EnableWebhook('cli', host));
      await advanceClock(0);
      const { data } = (await attemptsOf(host)).at(-1) as LooseEvent;
      expect(data).toMatchObject({ attempt: 2, failures: 1 });
      expect(waitOf(data)).toBe(5_000);
      expect((await webhook(host)).enabled).toBe(true);
    });

    it('sends the pending window to a new address at once', async () => {
      const { host, path } = await pushTo(answerWith(500));
      await instance.execute(new SetWebhook('cli', host, { url: `${receiver.url}${path}/new`, allowPrivate: true }));
      await advanceClock(0);
      expect(receiver.callsTo(`${path}/new`).map(parsePush)).toEqual([
        { ...parsePush(receiver.callsTo(path)[0] as Call), accepted: true },
      ]);
    });
  });

  describe('with several instances', () => {
    it('exactly one pushes at every tick', async () => {
      const url = await createDatabase();
      const instances = await Promise.all([1, 2, 3, 4].map(() => openInstance(url)));
      const [one] = instances as [OutboundInstance];
      const hosts = Array.from({ length: 12 }, (_, index) => `many-${index}.example`);
      for (const host of hosts) {
        await one.execute(new AddSite('cli', host));
        await one.execute(new SetWebhook('cli', host, { url: `${receiver.url}/${host}`, allowPrivate: true }));
      }
      for (let tick = 1; tick <= 5; tick += 1) {
        for (const each of instances) each.clockOffsetMs = tick * TICK;
        await Promise.all(hosts.map((host) => appendEvents(one.log, host, 'received')));
        for (let turn = 0; turn < 3; turn += 1) await Promise.all(instances.map((each) => each.pushDue()));
      }
      for (const host of hosts) {
        const calls = receiver.callsTo(`/${host}`);
        expect(calls).toHaveLength(5);
        expect(sum(acceptedPushes(calls))).toEqual({ conversions: 5, bot_traffic_removed: 0 });
      }
      await Promise.all(instances.map((each) => each.stop()));
    });

    it('one closes a window when all decide on the same last event', async () => {
      const { host } = await openSite();
      const target = { site: host, webhook: await webhook(host), hasMoved: false, secrets: undefined };
      const closed = await Promise.all([1, 2, 3, 4].map(() => instance.pusher.close(target, undefined)));
      expect(closed.filter((end) => end !== undefined)).toHaveLength(1);
      expect(await instance.log.readStream(OUTBOUND, streamOf(host))).toHaveLength(1);
    });

    it('a lease has one holder and expires', async () => {
      const { postgres } = instance;
      const sites = ['a.example', 'b.example'];
      const claims = await Promise.all([1, 2, 3].map(() => acquirePushLeases(postgres, sites, 100)));
      expect(claims.map(({ size }) => size).sort()).toEqual([0, 0, 2]);
      const mine = claims.find(({ size }) => size === 2)?.get('a.example') as Lease;
      expect([mayStart(mine), maySend(mine)]).toEqual([true, true]);
      // Simulates a lease that expired while its holder was frozen.
      const expire = `UPDATE cc.leases SET until = now() - interval '1 minute' WHERE name = 'outbound:a.example'`;
      await postgres.pool.query(expire);
      const theirs = (await acquirePushLeases(postgres, ['a.example'], 100)).get('a.example');
      expect(theirs).toBeDefined();
      await mine.release();
      expect((await acquirePushLeases(postgres, sites, 100)).size).toBe(0);
    });

    it('takes a lease that a clock far ahead of the present one extended', async () => {
      const { postgres } = instance;
      await acquirePushLeases(postgres, ['c.example'], 100);
      await postgres.pool.query(
        `UPDATE cc.leases SET until = until + interval '1 day' WHERE name = 'outbound:c.example'`,
      );
      expect((await acquirePushLeases(postgres, ['c.example'], 100)).size).toBe(1);
    });
  });

  describe('a manual push', () => {
    it('closes and sends at once, and the next tick continues from there', async () => {
      const { host, path } = await openSite();
      await appendEvents(instance.log, host, 'received');
      const pushed = await pushByHand(host);
      expect(pushed).toMatchObject({ type: 'outbound.delivered.v1', data: { body: { conversions: 1 } } });
      await appendEvents(instance.log, host, 'received', 'filtered');
      await toNextTick();
      const [byHand, atTick] = receiver.callsTo(path).map(parsePush);
      expect(atTick).toMatchObject({ from: byHand?.to, totals: { conversions: 1, bot_traffic_removed: 1 } });
    });

    it('sends the pending window first, then the rest', async () => {
      const { host, path } = await openSite();
      receiver.answer = answerWith(500);
      expect(await pushByHand(host)).toMatchObject({ type: 'outbound.failed.v1', data: { reason: 'HTTP 500' } });
      await appendEvents(instance.log, host, 'received');
      receiver.answer = answerWith(200);
      expect(await pushByHand(host)).toMatchObject({ data: { attempt: 1, body: { conversions: 1 } } });
      const [failed, again, rest] = receiver.callsTo(path).map(parsePush);
      expect([again?.id, rest?.from]).toEqual([failed?.id, failed?.to]);
    });

    it('waits for the holder of the lease', async () => {
      const { host, path } = await openSite();
      const claim = (await acquirePushLeases(instance.postgres, [host], 1_000)).get(host) as Lease;
      const pushing = pushByHand(host);
      await new Promise((next) => setTimeout(next, 300));
      expect(receiver.callsTo(path)).toHaveLength(0);
      await claim.release();
      expect(await pushing).toMatchObject({ type: 'outbound.delivered.v1' });
    });
  });

  it('keeps totals by minute, identical after a rebuild', async () => {
    const { host } = await openSite();
    await appendEvents(instance.log, host, 'received', 'received', 'filtered', 'detected', 'observed', 'trial');
    const runner = new ProjectionRunner(instance.postgres, [totalsProjection]);
    await runner.catchUp('totals');
    const read = async () =>
      (await instance.postgres.pool.query('SELECT * FROM cc.totals ORDER BY site, minute')).rows as {
        site: string;
        conversions: string;
        bot_traffic_removed: string;
      }[];
    const rows = await read();
    const mine = rows.filter(({ site }) => site === host);
    const add = (name: 'conversions' | 'bot_traffic_removed') => mine.reduce((all, row) => all + Number(row[name]), 0);
    expect([add('conversions'), add('bot_traffic_removed')]).toEqual([2, 2]);
    await runner.rebuild('totals');
    expect(await read()).toEqual(rows);
  });

  async function pushByHand(host: string) {
    const target = { site: host, webhook: await webhook(host), hasMoved: false, secrets: { secret: 'secret' } };
    return pushNow(instance.postgres, instance.pusher, target, 1_000);
  }

  async function webhook(host: string): Promise<SiteWebhook> {
    return (await instance.sites.get(host)).webhook as SiteWebhook;
  }

  async function attemptsOf(host: string): Promise<LooseEvent[]> {
    const events = await instance.log.readStream(OUTBOUND, streamOf(host));
    return loosely(events.filter(({ type }) => type !== 'outbound.closed.v1'));
  }
});

/** Begins an answer and never ends it. */
function dripping(begin: string, drop: string): Answer {
  return (_, { socket }) => {
    if (!socket) return;
    socket.write(begin);
    const timer = setInterval(() => socket.write(drop), 20);
    socket.on('error', () => {}).on('close', () => clearInterval(timer));
  };
}
