import type { AttentionItem } from '../src/app/attention/attention-item.js';
import type { DoctorDependencies } from '../src/app/doctor/check.js';
import { runChecks } from '../src/app/doctor/run-checks.js';
import { allProjections } from '../src/app/projections.js';
import { Sealer } from '../src/kernel/sealing.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { type ReportBy, reportConversions, reportPlatforms } from '../src/statistics/report.js';
import { Erasure } from '../src/visitors/erasure/erasure.js';
import { useAdmin } from './support/admin.js';
import { SECRET_KEY } from './support/secret-key.js';
import { ConversionEvents, type SampleVisit } from './support/statistics.js';

const [JANE, JOHN] = ['aa'.repeat(32), 'bb'.repeat(32)];
const COUNTED = ['totals', 'statistics', 'auth_failures'];
const ALL_TIME = 'from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z';

const admin = await useAdmin();
const { log } = admin;
const boss = await admin.signedIn('admin');
const sites = new SiteRepository(log);
const projections = allProjections(new SiteSecrets(admin.postgres.pool, new Sealer(Buffer.alloc(32))));
const runner = new ProjectionRunner(admin.postgres, projections);
const erasure = new Erasure(admin.postgres, projections, async () => {});
const inserted: [string, string][] = [];
let opened = 0;

afterEach(async () => {
  for (const [table, site] of inserted.splice(0))
    await admin.postgres.pool.query(`DELETE FROM cc.${table} WHERE site = $1`, [site]);
});

async function openSite() {
  opened += 1;
  const host = `statistics-${opened}.example`;
  await boss.post('/sites', { host });
  return { host, events: new ConversionEvents(log, host) };
}

async function catchUp(): Promise<void> {
  for (const name of COUNTED) await runner.catchUp(name);
}

/** Rows of other times than the present, which no event has. */
async function insert(table: string, rows: readonly Record<string, string | number>[]): Promise<void> {
  for (const { site } of rows) inserted.push([table, site as string]);
  await admin.postgres.pool.query(
    `INSERT INTO cc.${table} SELECT * FROM json_populate_recordset(null::cc.${table}, $1)`,
    [JSON.stringify(rows)],
  );
}

/** A row of conversion_statistics without conversions. */
function countsOf(site: string) {
  const none = { value: 0, matched: 0, duplicates: 0, changed_duplicates: 0, filtered: 0 };
  return { site, currency: 'EUR', ...none };
}

describe('totals', () => {
  it('are those that the webhook counts, with value by currency, duplicates, matches and refusals', async () => {
    const { host, events } = await openSite();
    const visit: SampleVisit = { source: 'google', click: 'gclid' };
    await events.decided('received', JANE, { value: 0.1 }, { visit });
    await events.decided('received', JOHN, { value: 0.2 });
    await events.decided('received', JOHN, { value: 5, currency: 'USD' });
    await events.decided('received', JOHN, { value: undefined, currency: 'USD' });
    await events.decided('received', JOHN, { value: 1_000, trial: true });
    await events.decided('received', JOHN, { value: 1_000, correction: true });
    await events.decided('deduplicated', JOHN);
    await events.decided('deduplicated', JOHN, { differs: ['value'] });
    await events.decided('filtered', JOHN);
    await events.refused(3);
    await catchUp();
    await insert('auth_failures', [{ site: host, minute: '2026-01-01T00:00:00Z', failed: 2, throttled: 5 }]);
    const { status, body } = await boss(`/sites/${host}/totals?${ALL_TIME}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      site: host,
      asOf: { position: await log.head(), time: expect.stringMatching(/Z$/) },
      from: '2020-01-01T00:00:00.000Z',
      to: '2100-01-01T00:00:00.000Z',
      conversions: 4,
      botTrafficRemoved: 1,
      filtered: 1,
      duplicates: 2,
      changedDuplicates: 1,
      matched: 1,
      matchRate: 0.25,
      refused: 3,
      authenticationFailures: 7,
      values: [
        { currency: 'EUR', conversions: 2, value: 0.3 },
        { currency: 'USD', conversions: 2, value: 5 },
      ],
    });
    const analyst = await admin.signedIn('analyst', [host]);
    const { body: all } = await analyst(`/totals?${ALL_TIME}`);
    const { asOf: _, from, to, ...totals } = body;
    expect(all).toMatchObject({ from, to, items: [totals] });
  });

  it('name the fields that were sent and not used, as of a rebuild too', async () => {
    const { host, events } = await openSite();
    await events.decided('received', JANE, { unknown: ['order_id', 'other'] });
    await events.decided('received', JANE, { unknown: ['order_id'], dropped: ['country'], correction: true });
    await events.decided('deduplicated', JOHN, { dropped: ['country'] });
    await events.decided('filtered', JOHN, { dropped: ['clickIds.fbc'] });
    await events.decided('received', JOHN, { unknown: ['amount'], trial: true });
    await catchUp();
    const items = [
      { field: 'country', dropped: 2, unknown: 0 },
      { field: 'order_id', dropped: 0, unknown: 2, use: 'orderId' },
      { field: 'clickIds.fbc', dropped: 1, unknown: 0 },
      { field: 'other', dropped: 0, unknown: 1 },
    ];
    expect(await boss(`/sites/${host}/unused-fields`)).toMatchObject({ status: 200, body: { items } });
    await runner.rebuild('statistics');
    expect((await boss(`/sites/${host}/unused-fields`)).body.items).toEqual(items);
    expect((await boss(`/sites/${(await openSite()).host}/unused-fields`)).body.items).toEqual([]);
  });

  it('name the events that were received and where they go, as of a rebuild too', async () => {
    const { host, events } = await openSite();
    const google = { customer_id: '1234567890', client_id: 'c', client_secret: 's', refresh_token: 'r' };
    const settings = { ...google, 'event.purchase': '111' };
    expect((await boss.put(`/sites/${host}/connections/google_ads`, { settings })).status).toBe(200);
    await events.decided('received', JANE, { event: 'order_completed' });
    await events.decided('received', JOHN, { event: 'order_completed' });
    await events.decided('received', JOHN);
    await events.decided('received', JOHN, { event: 'refund', correction: true });
    await events.decided('received', JOHN, { event: 'trial', trial: true });
    await events.decided('filtered', JOHN, { event: 'filtered' });
    await catchUp();
    const platform = 'google_ads';
    const items = [
      {
        ...{ event: 'order_completed', conversions: 2, lastSeen: expect.stringMatching(/:(?:00|15|30|45):00\.000Z$/) },
        connections: [{ platform, state: 'not_mapped', suggestion: { event: 'purchase', value: '111' } }],
      },
      { event: 'purchase', conversions: 1, lastSeen: expect.any(String), connections: [{ platform, state: 'sent' }] },
    ];
    expect((await boss(`/sites/${host}/received-events`)).body.items).toEqual(items);
    await runner.rebuild('statistics');
    expect((await boss(`/sites/${host}/received-events`)).body.items).toEqual(items);
    const attention = async () => (await boss(`/sites/${host}/attention`)).body;
    expect(await attention()).toMatchObject({
      health: 'warning',
      items: [{ kind: 'events_unmapped', platform, count: 1, detail: expect.stringContaining('order_completed (2)') }],
    });
    const mapped = { settings: { 'event.order_completed': '111' } };
    expect((await boss.put(`/sites/${host}/connections/google_ads`, mapped)).status).toBe(200);
    expect(await attention()).toMatchObject({ health: 'ok', items: [] });
  });

  it('are answered also if their value is larger than any number', async () => {
    const { host, events } = await openSite();
    const visit: SampleVisit = { source: 'google' };
    for (const value of [1.7e308, 1.7e308, 1e308]) await events.decided('received', JANE, { value }, { visit });
    await catchUp();
    const values = [{ currency: 'EUR', conversions: 3, value: Number.MAX_VALUE }];
    expect(await boss(`/sites/${host}/totals`)).toMatchObject({ status: 200, body: { conversions: 3, values } });
    expect(await boss(`/sites/${host}/sources`)).toMatchObject({ status: 200, body: { items: [{ values }] } });
  });

  it('count a conversion as matched when it was received, also if it is matched later', async () => {
    const { host, events } = await openSite();
    const id = await events.decided('received', JANE);
    await catchUp();
    const { rows } = await admin.postgres.pool.query('SELECT quarter FROM cc.conversion_statistics WHERE site = $1', [
      host,
    ]);
    const day = new Date(rows[0].quarter).toISOString().slice(0, 10);
    await events.reopened(id, JANE, { source: 'newsletter' }, day);
    await events.reopened(id, JANE, { source: 'newsletter' });
    await catchUp();
    const { body } = await boss(`/sites/${host}/totals?${ALL_TIME}`);
    expect(body).toMatchObject({ conversions: 1, matched: 1, matchRate: 1 });
  });

  it('say as of which position they are while projections lag', async () => {
    const { host, events } = await openSite();
    await events.decided('received', JANE);
    await catchUp();
    const before = await log.head();
    await events.decided('received', JOHN);
    const [next] = await log.read({ after: before, limit: 1 });
    const { body } = await boss(`/sites/${host}/totals?${ALL_TIME}`);
    expect(body).toMatchObject({ conversions: 1, asOf: { position: before, time: next?.time } });
  });

  it('end before the end of the period', async () => {
    const { host } = await openSite();
    const of = countsOf(host);
    await insert('conversion_statistics', [
      { ...of, quarter: '2026-01-01T09:45:00Z', conversions: 1 },
      { ...of, quarter: '2026-01-01T10:00:00Z', conversions: 10 },
      { ...of, quarter: '2026-01-01T10:45:00Z', conversions: 100 },
      { ...of, quarter: '2026-01-01T11:00:00Z', conversions: 1_000 },
    ]);
    const { body } = await boss(`/sites/${host}/totals?from=2026-01-01T10:00:00Z&to=2026-01-01T12:00:00%2B01:00`);
    expect(body).toMatchObject({ conversions: 110, to: '2026-01-01T11:00:00.000Z' });
  });

  it('refuse a period that is no period', async () => {
    const { host } = await openSite();
    const { status } = await boss(`/sites/${host}/totals?from=yesterday`);
    expect(status).toBe(400);
    expect((await boss(`/sites/${host}/totals?to=9999-12-31T23:59:59Z`)).status).toBe(400);
    expect((await boss(`/sites/${host}/series?timeZone=Europe/Nowhere`)).status).toBe(400);
    const tooLong = await boss(`/sites/${host}/series?${ALL_TIME}`);
    expect(tooLong).toMatchObject({ status: 422, body: { detail: expect.stringContaining('more than 750 days') } });
    const backwards = await boss(`/sites/${host}/series?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z`);
    expect(backwards.status).toBe(422);
  });
});

describe('series', () => {
  it('have a bucket for each day of the time zone', async () => {
    const { host } = await openSite();
    const of = countsOf(host);
    await insert('conversion_statistics', [
      { ...of, quarter: '2026-03-28T22:45:00Z', conversions: 1 },
      { ...of, quarter: '2026-03-28T23:00:00Z', conversions: 10 },
      { ...of, quarter: '2026-03-29T21:45:00Z', conversions: 100 },
      { ...of, quarter: '2026-03-29T22:00:00Z', conversions: 1_000 },
    ]);
    await insert('totals', [{ site: host, minute: '2026-03-28T22:59:00Z', conversions: 1, bot_traffic_removed: 2 }]);
    const none = { accepted: 0, confirmed: 0, rejected: 0, failed: 0, skipped: 0, expired: 0 };
    await insert('delivery_statistics', [
      { ...none, site: host, quarter: '2026-03-28T22:45:00Z', platform: 'meta', delivered: 3, failed: 1, skipped: 9 },
      { ...none, site: host, quarter: '2026-03-29T21:45:00Z', platform: 'meta', delivered: 0, skipped: 9 },
    ]);
    const days = 'from=2026-03-28T12:00:00Z&to=2026-03-30T12:00:00Z&timeZone=Europe/Berlin';
    const { status, body } = await boss(`/sites/${host}/series?${days}`);
    expect(status).toBe(200);
    expect(body.buckets).toMatchObject([
      {
        start: '2026-03-28T12:00:00.000Z',
        end: '2026-03-28T23:00:00.000Z',
        conversions: 1,
        botTrafficRemoved: 2,
        matchRate: 0,
        platforms: { meta: { delivered: 3, failed: 1, skipped: 9, acceptance: 0.75 } },
      },
      { conversions: 110, platforms: { meta: { acceptance: null } } },
      { start: '2026-03-29T22:00:00.000Z', conversions: 1_000, platforms: {} },
    ]);
    const { body: hours } = await boss(`/sites/${host}/series?${days}&interval=hour`);
    const filled = hours.buckets.filter(({ conversions }: { conversions: number }) => conversions > 0);
    expect(filled).toMatchObject([1, 10, 100, 1_000].map((conversions) => ({ conversions })));
    const analyst = await admin.signedIn('analyst', [host]);
    expect((await analyst(`/series?${days}`)).body.buckets).toEqual(body.buckets);
  });

  it('add up to the totals of the same period', async () => {
    const { host } = await openSite();
    const of = countsOf(host);
    const quarters = ['2026-03-28T11:45:00Z', '2026-03-28T12:00:00Z', '2026-03-30T11:45:00Z', '2026-03-30T12:00:00Z'];
    await insert(
      'conversion_statistics',
      quarters.map((quarter, index) => ({ ...of, quarter, conversions: 10 ** index })),
    );
    const days = 'from=2026-03-28T12:00:00Z&to=2026-03-30T12:00:00Z';
    const { body: totals } = await boss(`/sites/${host}/totals?${days}`);
    expect(totals.conversions).toBe(110);
    for (const interval of ['hour', 'day']) {
      const { body } = await boss(`/sites/${host}/series?${days}&interval=${interval}&timeZone=Asia/Kathmandu`);
      const sum = body.buckets.reduce((all: number, { conversions }: { conversions: number }) => all + conversions, 0);
      expect([sum, body.buckets[0].start, body.buckets.at(-1).end]).toEqual([110, totals.from, totals.to]);
    }
  });

  it('count each delivery by its final outcome', async () => {
    const { host, events } = await openSite();
    const id = await events.decided('received', JANE);
    const nextTry = '2026-01-01T00:00:00.000Z';
    await events.outcome(id, 'deferred', 'meta', { nextTry });
    await events.outcome(id, 'delivered', 'meta', { attempt: 2 });
    await events.outcome(id, 'accepted', 'google_ads', { nextTry });
    await events.outcome(id, 'accepted', 'google_ads', { attempt: 2, nextTry });
    await events.outcome(id, 'rejected', 'google_ads', { attempt: 3 });
    await events.outcome(id, 'accepted', 'ga4');
    const trial = await events.decided('received', JANE, { trial: true });
    await events.outcome(trial, 'skipped', 'meta', { uncounted: true });
    const correction = await events.decided('received', JANE, { correction: true });
    await events.outcome(correction, 'failed', 'meta', { uncounted: true });
    await catchUp();
    const { body } = await boss(`/sites/${host}/series`);
    const counts = body.buckets.flatMap(({ platforms }: { platforms: object }) => Object.entries(platforms));
    expect(Object.fromEntries(counts)).toMatchObject({
      meta: { delivered: 1, failed: 0, skipped: 0, acceptance: 1 },
      google_ads: { accepted: 0, rejected: 1, acceptance: 0 },
      ga4: { accepted: 1, acceptance: 1 },
    });
  });

  it('are annotated with what happened to connections of the sites', async () => {
    const { host } = await openSite();
    const { host: other } = await openSite();
    for (const site of [host, other]) {
      const connection = `/sites/${site}/connections/meta`;
      const settings = { pixel_id: '1', access_token: 'token' };
      expect((await boss.put(connection, { settings })).status).toBe(200);
      await boss.post(`${connection}/pause`);
      await boss.post(`${connection}/resume`);
    }
    const { body } = await boss(`/sites/${host}/series`);
    const time = expect.stringMatching(/Z$/);
    expect(body.annotations).toEqual(
      ['connected', 'paused', 'resumed'].map((kind) => ({ time, site: host, kind, platform: 'meta' })),
    );
    const analyst = await admin.signedIn('analyst', [host]);
    expect((await analyst('/series')).body.annotations).toEqual(body.annotations);
  });
});

describe('sources', () => {
  it('are grouped, with the smaller ones together, and forget erased people', async () => {
    const { host, events } = await openSite();
    const google: SampleVisit = { source: 'google', campaign: 'spring', click: 'gclid' };
    await events.decided('received', JANE, { value: 10 }, { visit: google });
    await events.decided('received', JOHN, { value: 5, currency: 'USD' }, { visit: { ...google, campaign: 'autumn' } });
    await events.decided('received', JOHN, { value: 1 }, { visit: { source: 'newsletter' } });
    await events.decided('received', JOHN, { value: 2 }, { visit: { source: 'partner' } });
    await events.decided('received', JOHN, { value: 7 });
    await events.decided('received', JOHN, { trial: true }, { visit: google });
    await catchUp();
    const { status, body } = await boss(`/sites/${host}/sources?limit=2`);
    expect(status).toBe(200);
    const eur = (value: number) => [{ currency: 'EUR', conversions: 1, value }];
    const none = { source: null, medium: null, campaign: null, click: null };
    expect(body).toMatchObject({
      items: [
        {
          ...none,
          source: 'google',
          conversions: 2,
          values: [...eur(10), { currency: 'USD', conversions: 1, value: 5 }],
        },
        { ...none, source: 'newsletter', conversions: 1, values: eur(1) },
      ],
      other: { conversions: 1, values: eur(2) },
      notMatched: { conversions: 1, values: eur(7) },
      unknown: 0,
    });
    await erasure.erase('cli', host, JANE);
    const { body: campaigns } = await boss(`/sites/${host}/sources?by=campaign`);
    expect(campaigns.items.map((one: { source: string; campaign: string }) => [one.source, one.campaign])).toEqual([
      ['google', 'autumn'],
      ['newsletter', null],
      ['partner', null],
    ]);
    expect(campaigns.unknown).toBe(1);
    expect((await boss(`/sites/${host}/totals`)).body.conversions).toBe(5);
    const { body: clicks } = await boss(`/sites/${host}/sources?by=click`);
    expect(clicks.items).toMatchObject([
      { click: null, conversions: 2 },
      { click: 'gclid', conversions: 1 },
    ]);
  });
});

describe('match quality', () => {
  it('tells which identifiers conversions carried for each connection', async () => {
    const { host, events } = await openSite();
    const settings = { pixel_id: '1', access_token: 'token' };
    await boss.put(`/sites/${host}/connections/meta`, { settings });
    await events.decided('received', JANE, {}, { visit: { click: 'fbclid' }, phone: 'ab'.repeat(32) });
    await events.decided('received', JOHN, {}, { visit: { click: 'gclid' } });
    await events.decided('received', JOHN, { platforms: ['google_ads'] });
    const late = await events.decided('received', JOHN);
    await events.reopened(late, JOHN, { click: 'fbclid' }, '2026-01-01');
    await events.reopened(late, JOHN, { click: 'gclid' });
    await catchUp();
    const { status, body } = await boss(`/sites/${host}/match-quality`);
    expect(status).toBe(200);
    expect(body.items).toMatchObject([
      { platform: 'meta', conversions: 3, matched: 3, matchRate: 1, helpsMost: { identifier: 'phone', missing: 2 } },
    ]);
    const carried = body.items[0].identifiers.map((one: { identifier: string; carried: number }) => [
      one.identifier,
      one.carried,
    ]);
    expect(Object.fromEntries(carried)).toMatchObject({ click_id: 2, cookie: 0, email: 3, phone: 1, ip_address: 3 });
  });
});

describe('attention', () => {
  it('names a parked connection, what waits for it, and only sites that the caller may see', async () => {
    const { host, events } = await openSite();
    const settings = { pixel_id: '1', access_token: 'token' };
    await boss.put(`/sites/${host}/connections/meta`, { settings });
    const site = await sites.get(host);
    const parked = { type: 'site.platform_parked.v1', data: { platform: 'meta', reason: 'revoked' } };
    const of = { category: 'site', stream: site.id, expected: 'any', site: host, actor: 'system' } as const;
    await log.append({ ...of, events: [parked] });
    const id = await events.decided('received', JANE);
    await events.outcome(id, 'deferred', 'meta', { reason: 'authorization', nextTry: '2026-01-01T00:00:00.000Z' });
    for (const name of ['deliveries', 'statistics']) await runner.catchUp(name);
    const item = { kind: 'connection_parked', severity: 'error', site: host, platform: 'meta', count: 1 };
    const { body } = await boss(`/sites/${host}/attention`);
    expect(body).toMatchObject({ asOf: { position: await log.head() }, health: 'error', items: [item] });
    const accepted = await events.decided('received', JANE);
    await events.outcome(accepted, 'accepted', 'meta', { nextTry: '2026-01-01T00:00:00.000Z', requestId: '1' });
    await runner.catchUp('deliveries');
    expect((await boss(`/sites/${host}/deliveries/waiting`)).body).toMatchObject({
      asOf: { position: await log.head() },
      items: [{ platform: 'meta', queued: 1, unconfirmed: 1 }],
    });
    const analyst = await admin.signedIn('analyst', [host]);
    await analyst.post('/tokens', { name: 'CI', scopes: ['read'], expiresInDays: 3 });
    const { body: visible } = await analyst('/attention');
    expect(visible.items).toEqual([...body.items, expect.objectContaining({ kind: 'token_expiring' })]);
    expect(visible.health).toBe('error');
    const { host: other } = await openSite();
    const stranger = await admin.signedIn('operator', [other]);
    expect((await stranger('/attention')).body.items).toEqual([]);
  });

  it('has errors first, and names what became too old and what was refused of what', async () => {
    const { host, events } = await openSite();
    await boss.put(`/sites/${host}/connections/meta`, { settings: { pixel_id: '1', access_token: 'token' } });
    await boss.put(`/sites/${host}/connections/tiktok`, { settings: { pixel_code: 'C', access_token: 'token' } });
    for (let index = 0; index < 6; index += 1) {
      const id = await events.decided('received', JANE);
      await events.outcome(id, 'failed', 'meta', { reason: '100 Invalid parameter' });
      await events.outcome(id, 'skipped', 'meta', { reason: 'event_not_selected', attempt: 2 });
      await events.outcome(id, 'accepted', 'google_ads', { nextTry: '2026-01-01T00:00:00.000Z', requestId: '1' });
    }
    const late = await events.decided('received', JANE);
    await events.outcome(late, 'skipped', 'tiktok', { reason: 'too_old' });
    await events.outcome(late, 'failed', 'meta', { reason: 'gave_up' });
    const accepted = await events.decided('received', JANE);
    await events.outcome(accepted, 'accepted', 'meta', { nextTry: '2026-01-01T00:00:00.000Z', requestId: '1' });
    for (const name of ['deliveries', 'statistics']) await runner.catchUp(name);
    const { body } = await boss(`/sites/${host}/attention`);
    expect(body).toMatchObject({
      health: 'error',
      items: [
        { kind: 'deliveries_expired', severity: 'error', platform: 'meta', count: 1 },
        { kind: 'deliveries_expired', severity: 'error', platform: 'tiktok', count: 1 },
        {
          ...{ kind: 'deliveries_failing', severity: 'warning', platform: 'meta', count: 7 },
          detail: '7 of 8 refused in the last 24 hours, 1 not confirmed yet.',
        },
      ],
    });
  });

  it('has the whole request that resumes a site or enables its webhook', async () => {
    const { host } = await openSite();
    const site = await sites.get(host);
    const of = { category: 'site', stream: site.id, expected: 'any', site: host, actor: 'system' } as const;
    await boss.put(`/sites/${host}/webhook`, { url: 'https://hooks.example/totals' });
    await log.append({ ...of, events: [{ type: 'site.webhook_disabled.v1', data: { reason: 'it answered 410' } }] });
    const items = async () => (await boss(`/sites/${host}/attention`)).body.items as AttentionItem[];
    const follow = async (kind: string) => {
      const [{ action }] = (await items()).filter((item) => item.kind === kind) as [AttentionItem];
      expect(await boss(action.route, { method: action.method, body: action.body })).toMatchObject({ status: 200 });
    };
    await follow('webhook_disabled');
    await boss.put(`/sites/${host}/pause`, { paused: true });
    await follow('site_paused');
    expect(await items()).toEqual([]);
  });

  it('names a parked projection to operators of all sites', async () => {
    const park = (parked: boolean) =>
      admin.postgres.pool.query(`UPDATE cc.projections SET parked = $1, reason = 'event 7' WHERE name = 'match_rate'`, [
        parked,
      ]);
    const operator = await admin.signedIn('operator');
    const analyst = await admin.signedIn('analyst');
    await park(true);
    try {
      const item = expect.objectContaining({ kind: 'projection_parked', subject: 'match_rate' });
      expect((await operator('/attention')).body.items).toContainEqual(item);
      expect((await analyst('/attention')).body.items).not.toContainEqual(item);
      const { body } = await operator('/projections');
      expect(body.items).toContainEqual(expect.objectContaining({ name: 'match_rate', state: 'parked' }));
    } finally {
      await park(false);
    }
  });
});

describe('a preview of settings', () => {
  it('tells what would have been removed, and changes nothing', async () => {
    const { host, events } = await openSite();
    await events.decided('received', JANE, { bot: { score: 25, reasons: [], list: '1' } });
    const head = await log.head();
    const call = { method: 'POST', body: { botThreshold: 20 } };
    const { status, body } = await boss(`/sites/${host}/settings/preview`, call);
    expect(status).toBe(200);
    expect(body).toMatchObject({ complete: true, conversions: { filtered: { was: 0, would: 1 } } });
    expect(await log.head()).toBe(head);
    const wrong = await boss.post(`/sites/${host}/settings/preview`, { dedupWindow: 'soon' });
    expect(wrong.status).toBe(422);
  });
});

describe('health', () => {
  it('has the checks of doctor, for operators of all sites', async () => {
    const { status, body } = await boss('/health');
    expect(status).toBe(200);
    const names = body.checks.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['node', 'database', 'projections', 'owed', 'retention', 'service']));
    const { host } = await openSite();
    for (const caller of [await admin.signedIn('analyst'), await admin.signedIn('operator', [host])])
      for (const route of ['/health', '/projections']) expect((await caller(route)).status).toBe(403);
  });

  it('does not wait for a check longer than it may take', async () => {
    const dependencies = { settings: readSettings({ DATABASE_URL: admin.databaseUrl, SECRET_KEY, PORT: '0' }) };
    const checks = await runChecks(dependencies as DoctorDependencies, 0);
    const database = checks.filter(({ name }) => name !== 'node');
    expect(database.every(({ ok, detail }) => !ok && detail === 'the checks took too long')).toBe(true);
  });
});

describe('a report', () => {
  const last = 24 * 60 * 60 * 1_000;

  async function report(host: string, by: ReportBy) {
    const toMs = admin.postgres.clock.nowMs();
    const request = { sites: [host], period: { fromMs: toMs - last, toMs }, onProgress: () => {} };
    const dependencies = { postgres: admin.postgres, log };
    return by === 'platform' ? reportPlatforms(dependencies, request) : reportConversions(dependencies, by, request);
  }

  it('adds up by campaign, source and event to the conversions of the period, without trials and corrections', async () => {
    const { host, events } = await openSite();
    const visit: SampleVisit = { source: 'google', campaign: 'spring', click: 'gclid' };
    await events.decided('received', JANE, { value: 10.1 }, { visit });
    await events.decided('received', JANE, { value: 20.2 }, { visit });
    await events.decided('received', JOHN, { value: 5, event: 'lead' });
    await events.decided('received', JOHN, { value: 1_000, trial: true });
    await events.decided('received', JOHN, { value: 1_000, correction: true });
    await catchUp();
    const eur = (conversions: number, value: number) => ({
      conversions,
      values: [{ currency: 'EUR', conversions, value }],
    });
    expect(await report(host, 'campaign')).toEqual([
      { group: { source: 'google', medium: null, campaign: 'spring' }, ...eur(2, 30.3) },
      { group: { source: '(not matched)', medium: null, campaign: null }, ...eur(1, 5) },
    ]);
    expect(await report(host, 'source')).toEqual([
      { group: { source: 'google', medium: null }, ...eur(2, 30.3) },
      { group: { source: '(not matched)', medium: null }, ...eur(1, 5) },
    ]);
    expect(await report(host, 'event')).toEqual([
      { group: { event: 'purchase' }, ...eur(2, 30.3) },
      { group: { event: 'lead' }, ...eur(1, 5) },
    ]);
  });
});
