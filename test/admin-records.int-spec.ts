import { createHash } from 'node:crypto';
import type { QueryConfig } from 'pg';
import { sampleReceived } from '../src/delivery/payload/sample-conversion.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import { findNewestByField } from '../src/log/projections/newest-by-field.js';
import { ATTEMPT_TYPES, type SyncLine } from '../src/outbound/sync-log.js';
import { type AdminClient, useAdmin } from './support/admin.js';
import { type StoredConversion, storeConversion } from './support/stored-conversion.js';

const SITE = 'records.example';
const META = { pixel_id: '123456789012345', access_token: 'a-very-secret-token' };
const QUIET = 'quiet.example';
const FOUND = 'found.example';
const TIKTOK = { pixel_code: 'C4A1B2C3D4E5F6G7H8I9', access_token: 'a-very-secret-token' };
const FAILED = { status: 'failed', reason: 'bad event', httpStatus: 400, response: '{"error":"x"}' } as const;

const admin = await useAdmin();
const { log } = admin;
const operator = await admin.signedIn('operator');
const analyst = await admin.signedIn('analyst', [SITE, QUIET, FOUND]);
for (const host of [SITE, QUIET, FOUND]) await operator.post('/sites', { host });
await operator.put(`/sites/${SITE}/connections/meta`, { settings: META });

interface Found {
  readonly conversionId: string;
  readonly orderId: string;
  readonly status: string;
  readonly deliveries: readonly object[];
}

function store(
  orderId: string,
  outcomes: StoredConversion['outcomes'],
  facts: StoredConversion['facts'] = {},
): Promise<string> {
  return storeConversion(log, { site: SITE, orderId, settings: META, facts, outcomes });
}

describe('payload previews of the management API', () => {
  const preview = (caller: AdminClient, body: object, connection = 'meta') =>
    caller.post(`/sites/${SITE}/connections/${connection}/preview`, body);

  it('show what the platform would get, also with settings that are not stored', async () => {
    const id = await store('ORD-PREVIEW', []);
    const head = await log.head();
    for (const body of [{ conversion: id }, { order: 'ORD-PREVIEW' }]) {
      const { body: shown } = await preview(operator, body);
      expect(shown).toMatchObject({ conversionId: id, status: 'sent', payload: { event_name: 'Purchase' } });
    }
    const settings = { 'event.purchase': 'Donate', 'field.plan': 'orderId' };
    const { body: changed } = await preview(operator, { sample: true, settings });
    expect(changed).toMatchObject({
      status: 'sent',
      payload: { event_name: 'Donate', custom_data: { plan: 'ORD-1' } },
    });
    const { body: unselected } = await preview(operator, { sample: true, settings: { events: 'lead' } });
    expect(unselected).toMatchObject({ status: 'skipped', reason: 'event_not_selected' });
    expect(await log.head()).toBe(head);
  });

  it('refuse unknown conversions, connections and settings, and analysts', async () => {
    expect((await preview(operator, { order: 'NONE' })).status).toBe(404);
    expect((await preview(operator, { sample: true }, 'tiktok')).status).toBe(404);
    expect((await preview(operator, { sample: true, settings: { nothing: '1' } })).status).toBe(422);
    for (const body of [{}, { sample: true, order: 'A' }, { sample: false }, { conversion: 'x' }])
      expect((await preview(operator, body)).status).toBe(400);
    expect((await preview(analyst, { sample: true })).status).toBe(403);
  });
});

describe('the request of a delivery in the management API', () => {
  const requestOf = (caller: AdminClient, id: string, connection = 'meta') =>
    caller(`/sites/${SITE}/conversions/${id}/deliveries/${connection}/request`);

  it('has the payload that was sent, and placeholders in place of secrets', async () => {
    const id = await store('ORD-REQUEST', [{ status: 'delivered', httpStatus: 200 }]);
    const { body: history } = await operator(`/sites/${SITE}/conversions/${id}`);
    const { status, body } = await requestOf(operator, id);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      platform: 'meta',
      conversionId: id,
      exact: true,
      requests: [
        { method: 'POST', url: expect.stringMatching(/^https:\/\/graph\.facebook\.com\/v\d+\.0\/123456789012345/) },
      ],
      placeholders: [{ name: 'ACCESS_TOKEN', description: 'access_token of the connection.' }],
    });
    const sent = JSON.parse(body.requests[0].body);
    expect(sent).toEqual({ access_token: '$ACCESS_TOKEN', data: [history.deliveries[0].payload] });
    expect(JSON.stringify(body)).not.toContain(META.access_token);
  });

  it('is not shown of a trial, which was not sent', async () => {
    const id = await store('ORD-TRIAL', [{ status: 'validated' }], { trial: true });
    expect(await requestOf(operator, id)).toMatchObject({
      status: 404,
      body: { detail: expect.stringMatching(/is a trial, which is checked but not sent/) },
    });
  });

  it('says why the service would not send it now', async () => {
    const refusedOf = async (id: string) => (await requestOf(operator, id)).body.refused;
    const withhold = (value: string) => operator.patch(`/sites/${SITE}/settings`, { withhold: value });
    const delivered = [{ status: 'delivered', httpStatus: 200 }] as const;
    const occurredAt = new Date().toISOString();
    const withheld = await store('ORD-WITHHELD', delivered, { withheld: 'opted_out', occurredAt });
    expect(await refusedOf(withheld)).toBeUndefined();
    expect((await withhold('everything')).status).toBe(200);
    expect(await refusedOf(withheld)).toBe('consent_denied');
    expect((await withhold('identifiers')).status).toBe(200);
    const old = await store('ORD-OLD', delivered, { occurredAt: '2026-01-01T00:00:00Z' });
    expect(await refusedOf(old)).toBe('too_old');
  });

  it('is not shown to those who see no payloads, nor of what was not sent', async () => {
    const id = await store('ORD-NO-REQUEST', []);
    expect(await requestOf(operator, id)).toMatchObject({
      status: 404,
      body: { detail: expect.stringMatching(/^Nothing was sent to meta/) },
    });
    expect((await requestOf(operator, id, 'tiktok')).status).toBe(404);
    expect((await requestOf(operator, uuidv7())).status).toBe(404);
    const sent = await store('ORD-SENT', [{ status: 'delivered', httpStatus: 200 }]);
    const token = await admin.withToken(operator, ['read']);
    for (const reader of [analyst, token]) expect((await requestOf(reader, sent)).status).toBe(403);
  });
});

describe('conversions in the management API', () => {
  it('are shown with match, consent and each delivery with attempts, payload and answer', async () => {
    const id = await store('ORD-CHAIN', [FAILED, { status: 'delivered', httpStatus: 200 }]);
    const { status, body } = await operator(`/sites/${SITE}/conversions/${id}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      masked: false,
      conversion: { conversionId: id, status: 'received', orderId: 'ORD-CHAIN', matched: true },
      match: { ip: '192.0.2.1', clicks: { fbclid: { id: 'sample-fbclid' } } },
      consent: 'granted',
      deliveries: [
        {
          platform: 'meta',
          status: 'delivered',
          attempts: [{ status: 'failed', response: '{"error":"x"}' }, { status: 'delivered' }],
          payload: { user_data: { client_ip_address: '192.0.2.1' }, event_id: 'ORD-CHAIN' },
          payloadIsExact: true,
        },
      ],
      events: [{ type: 'conversion.received.v1', personal: { externalId: 'customer-1' } }, {}, {}],
    });
  });

  it('have no personal values for analysts and tokens that only read', async () => {
    const id = await store('ORD-MASKED', [{ status: 'delivered', httpStatus: 200 }]);
    const token = await admin.withToken(operator, ['read']);
    for (const reader of [analyst, token]) {
      const { status, body } = await reader(`/sites/${SITE}/conversions/${id}`);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        masked: true,
        match: { ip: '•••', clicks: { fbclid: { id: '•••', timeMs: expect.any(Number) } } },
        deliveries: [{ payload: { user_data: { client_ip_address: '•••' }, event_id: 'ORD-MASKED' } }],
      });
      expect(JSON.stringify(body)).not.toMatch(/192\.0\.2\.1|sample-|customer-1|"personal"/);
    }
  });

  it('of another site do not exist', async () => {
    await operator.post('/sites', { host: 'elsewhere.example' });
    const id = await store('ORD-OTHER', []);
    expect((await operator(`/sites/elsewhere.example/conversions/${id}`)).status).toBe(404);
    expect((await operator(`/sites/elsewhere.example/conversions?order=ORD-OTHER`)).body.items).toEqual([]);
    expect((await operator(`/sites/${SITE}/conversions/not-an-id`)).status).toBe(400);
  });

  it('are listed newest first, by order and by status', async () => {
    const ids = [await store('ORD-LIST', []), await store('ORD-LIST', [])];
    const { body: ofOrder } = await analyst(`/sites/${SITE}/conversions?order=ORD-LIST`);
    expect(ofOrder.items.map(({ conversionId }: { conversionId: string }) => conversionId)).toEqual(ids.toReversed());
    const { body: newest } = await analyst(`/sites/${SITE}/conversions?status=received&limit=1`);
    expect(newest.items).toMatchObject([{ conversionId: ids[1], status: 'received', orderId: 'ORD-LIST' }]);
    const { body: following } = await analyst(`/sites/${SITE}/conversions?limit=1&cursor=${newest.next}`);
    expect(following.items).toMatchObject([{ conversionId: ids[0] }]);
    expect((await analyst(`/sites/${SITE}/conversions?order=ORD-LIST&status=filtered`)).body.items).toEqual([]);
  });
});

describe('the search for conversions in the management API', () => {
  const search = async (query: string, caller = analyst) =>
    (await caller(`/sites/${FOUND}/conversions?${query}`)).body as { items: Found[]; next?: number };
  const orders = async (query: string) => (await search(query)).items.map(({ orderId }) => orderId);
  let middle: number;

  beforeAll(async () => {
    const received = (orderId: string, outcomes: StoredConversion['outcomes'], facts: StoredConversion['facts'] = {}) =>
      storeConversion(log, { site: FOUND, orderId, settings: META, facts, outcomes });
    await received('F-1', [FAILED, { status: 'delivered' }], { source: 'phone_call' });
    await received('F-2', [FAILED], { event: 'lead' });
    middle = await log.head();
    await received('F-3', []);
    await received('F-4', [{ status: 'skipped', reason: 'event_not_mapped' }], {
      delivery: { source: 'shopify', topic: 'orders/paid', digest: 'd' },
    });
    const { data } = sampleReceived(Date.now());
    const filtered = { ...data, conversionId: uuidv7(), orderId: 'F-5', reason: 'bot' };
    await log.append({
      ...{ category: 'conversion', stream: filtered.conversionId, expected: 'any', site: FOUND, actor: 'system' },
      events: [{ type: 'conversion.filtered.v1', data: filtered }] as never,
    } as never);
  });

  it.each([
    ['', ['F-5', 'F-4', 'F-3', 'F-2', 'F-1']],
    ['outcome=delivered', ['F-1']],
    ['outcome=refused', ['F-2']],
    ['outcome=refused&connection=meta', ['F-2']],
    ['outcome=refused&platform=tiktok', []],
    ['outcome=waiting', ['F-3']],
    ['outcome=not_sent', ['F-4']],
    ['outcome=filtered', ['F-5']],
    ['outcome=duplicate', []],
    ['connection=meta', ['F-4', 'F-3', 'F-2', 'F-1']],
    ['event=lead', ['F-2']],
    ['source=shopify', ['F-4']],
    ['source=phone_call', ['F-1']],
    ['order=F-2', ['F-2']],
    ['order=F-2&outcome=delivered', []],
    ['from=2020-01-01&to=2020-01-02', []],
    ['from=2020-01-01&outcome=refused', ['F-2']],
  ])('with %j finds what matches', async (query, expected) => {
    expect(await orders(query)).toEqual(expected);
  });

  it('is bounded by positions, and continues where the page before ended', async () => {
    expect(await orders(`to=${middle + 1}`)).toEqual(['F-2', 'F-1']);
    expect(await orders(`from=${middle + 1}&connection=meta`)).toEqual(['F-4', 'F-3']);
    const page = await search('connection=meta&limit=3');
    expect(page.items.map(({ orderId }) => orderId)).toEqual(['F-4', 'F-3', 'F-2']);
    expect(await orders(`connection=meta&limit=3&cursor=${page.next}`)).toEqual(['F-1']);
  });

  it('says what became of each delivery', async () => {
    const { items } = await search('');
    expect(items.map(({ status, deliveries }) => [status, deliveries])).toEqual([
      ['filtered', []],
      ['received', [{ platform: 'meta', status: 'skipped', reason: 'event_not_mapped' }]],
      ['received', [{ platform: 'meta', status: 'queued' }]],
      ['received', [{ platform: 'meta', status: 'failed', reason: 'bad event' }]],
      ['received', [{ platform: 'meta', status: 'delivered' }]],
    ]);
    expect(items[1]).toMatchObject({ delivery: { source: 'shopify', topic: 'orders/paid' } });
    expect(JSON.stringify(items)).not.toContain('"digest"');
  });

  it('finds a conversion by its id', async () => {
    const { items } = await search('order=F-2');
    const { conversionId } = items[0] as Found;
    expect(await orders(`conversion=${conversionId}`)).toEqual(['F-2']);
    expect((await analyst(`/sites/${SITE}/conversions?conversion=${conversionId}`)).body.items).toEqual([]);
  });

  it.each([
    ['the hash of the email', { hash: createHash('sha256').update('jane@example.com').digest('hex') }],
    ['a phone that was sent with an email', { phone: '+1 555 555 0100' }],
    ['a click id of the visit', { clickId: 'sample-fbclid' }],
  ])('finds the conversions of a person by %s', async (_, person) => {
    const { status, body } = await operator.post(`/sites/${FOUND}/conversions/find`, person);
    expect(status).toBe(200);
    expect(body.items.map(({ orderId }: Found) => orderId)).toEqual(['F-4', 'F-3', 'F-2', 'F-1']);
    expect(body.complete).toBe(true);
    expect(body.items[2].deliveries).toEqual([{ platform: 'meta', status: 'failed', reason: 'bad event' }]);
    expect(JSON.stringify(body)).not.toMatch(/subject|sample-|"personal"/);
  });

  it('finds no one else, says nothing to analysts, and refuses what names no one', async () => {
    const find = (body: object, caller = operator) => caller.post(`/sites/${FOUND}/conversions/find`, body);
    expect((await find({ hash: 'ab'.repeat(32) })).body.items).toEqual([]);
    expect((await find({ clickId: 'sample-unknown' })).body.items).toEqual([]);
    expect((await find({ clickId: 'sample-fbclid' }, analyst)).status).toBe(403);
    expect((await find({ phone: 'none' })).status).toBe(422);
    expect((await find({ email: 'jane@example.com' })).status).toBe(400);
    await operator.post('/sites', { host: 'empty.example' });
    const elsewhere = await operator.post('/sites/empty.example/conversions/find', { clickId: 'sample-fbclid' });
    expect(elsewhere.body).toEqual({ items: [], complete: true });
  });

  it('refuses an outcome that does not exist', async () => {
    expect((await analyst(`/sites/${FOUND}/conversions?outcome=failed`)).status).toBe(400);
  });
});

describe('the sync log of the management API', () => {
  const search = async (query: string, caller = analyst) =>
    (await caller(`/sites/${QUIET}/sync-log?${query}`)).body as { items: SyncLine[]; next?: number };
  const found = async (query: string) => (await search(query)).items.map(({ reason, status }) => reason ?? status);
  const ids: string[] = [];
  let head: number;

  beforeAll(async () => {
    for (const connection of ['meta', 'meta:second', 'tiktok'])
      await operator.put(`/sites/${QUIET}/connections/${connection}`, {
        settings: connection === 'tiktok' ? TIKTOK : META,
      });
    const outcomes = [
      { status: 'deferred', reason: 'a' },
      { status: 'failed', reason: 'b' },
      { status: 'delivered', reason: 'c', platform: 'meta:second' },
      { status: 'failed', reason: 'd', platform: 'tiktok' },
    ] as const;
    ids.push(await storeConversion(log, { site: QUIET, orderId: 'Q-1', settings: META, outcomes }));
    head = await log.head();
    const later = [{ status: 'failed', reason: 'e' }] as const;
    ids.push(await storeConversion(log, { site: QUIET, orderId: 'Q-2', settings: META, outcomes: later }));
    await store('NOISE', [FAILED]);
    const push = { attempt: 1, durationMs: 5, stretchId: ids[0], body: { conversions: 1, bot_traffic_removed: 0 } };
    const events = [{ type: 'outbound.failed.v1', data: { ...push, reason: 'p' } }] as never;
    const stream = { category: 'outbound', stream: ids[0] as string, expected: 'any' } as const;
    await log.append({ ...stream, site: QUIET, actor: 'system', events });
  });

  it.each([
    ['', ['p', 'e', 'd', 'c', 'b', 'a']],
    ['kind=delivery', ['e', 'd', 'c', 'b', 'a']],
    ['kind=push&status=failed', ['p']],
    ['status=failed', ['p', 'e', 'd', 'b']],
    ['platform=meta', ['e', 'c', 'b', 'a']],
    ['connection=meta:second', ['c']],
    ['platform=meta&status=failed', ['e', 'b']],
    ['platform=snapchat', []],
    ['order=Q-1', ['d', 'c', 'b', 'a']],
    ['order=Q-1&platform=tiktok', ['d']],
    ['order=NOISE', []],
    ['reason=D', ['d']],
    ['reason=http', []],
    ['kind=push&reason=p', ['p']],
    ['event=purchase', ['e', 'd', 'c', 'b', 'a']],
    ['event=purchase&order=Q-1&reason=b', ['b']],
    ['event=lead', []],
  ])('finds attempts by %s', async (query, reasons) => {
    expect(await found(query)).toEqual(reasons);
  });

  it('finds attempts by order for several callers with one connection', async () => {
    const { pool } = admin.postgres;
    const others = await Promise.all(Array.from({ length: pool.options.max - 1 }, () => pool.connect()));
    try {
      const searches = Array.from({ length: 10 }, () => found('order=Q-1'));
      expect(await Promise.all(searches)).toEqual(Array(10).fill(['d', 'c', 'b', 'a']));
    } finally {
      for (const other of others) other.release();
    }
  });

  it('finds an event and a reason behind more attempts than are looked at first', async () => {
    const site = 'busy.example';
    await operator.post('/sites', { host: site });
    await operator.put(`/sites/${site}/connections/meta`, { settings: META });
    const attempts = (count: number, reason: string) => Array.from({ length: count }, () => ({ ...FAILED, reason }));
    const outcomes = [...attempts(3, 'Expired token'), ...attempts(600, 'other')];
    await storeConversion(log, { site, orderId: 'B-1', settings: META, outcomes });
    /** Follows the cursor: a search ends after a time, also with a page that is not full. */
    const search = async (query: string, count = Number.POSITIVE_INFINITY) => {
      const found: object[] = [];
      for (let cursor = ''; ; ) {
        const { items, next } = (await operator(`/sites/${site}/sync-log?${query}${cursor}`)).body;
        found.push(...items);
        if (found.length >= count || next === undefined) return found;
        cursor = `&cursor=${next}`;
      }
    };
    expect(await search('reason=expired&event=purchase&limit=2')).toEqual([
      expect.objectContaining({ attempt: 3, orderId: 'B-1', event: 'purchase' }),
      expect.objectContaining({ attempt: 2 }),
      expect.objectContaining({ attempt: 1, reason: 'Expired token' }),
    ]);
    expect(await search('reason=HTTP%20400&status=failed&limit=1', 1)).toMatchObject([{ attempt: 603 }]);
    expect(await search('event=lead')).toEqual([]);
  });

  it('names the order and the event of each delivery', async () => {
    const { items } = await search('');
    expect(items.map((line) => [line.kind, (line as { orderId?: string }).orderId])).toEqual([
      ['push', undefined],
      ['delivery', 'Q-2'],
      ...Array(4).fill(['delivery', 'Q-1']),
    ]);
    expect(items[1]).toMatchObject({ event: 'purchase' });
  });

  it('finds attempts by conversion, of this site only, and by time', async () => {
    expect(await found(`conversion=${ids[1]?.toUpperCase()}`)).toEqual(['e']);
    expect(await found(`conversion=${ids[1]}&order=Q-1`)).toEqual([]);
    expect((await operator(`/sites/${SITE}/sync-log?conversion=${ids[1]}`)).body.items).toEqual([]);
    expect(await found(`to=${head + 1}`)).toEqual(['d', 'c', 'b', 'a']);
    expect(await found(`from=${head + 1}&kind=delivery`)).toEqual(['e']);
    expect(await found('from=2000-01-01&to=2000-01-02')).toEqual([]);
    for (const query of [
      'from=soon',
      'conversion=x',
      'platform=meta:second',
      'status=all',
      'cursor=0',
      'order=',
      'reason=',
    ])
      expect((await analyst(`/sites/${QUIET}/sync-log?${query}`)).status).toBe(400);
  });

  it.each([
    ['', ['p', 'e', 'd', 'c', 'b', 'a']],
    ['&event=purchase', ['e', 'd', 'c', 'b', 'a']],
  ])('is read page by page%s', async (query, expected) => {
    const reasons: unknown[] = [];
    for (let cursor: number | undefined = Number.MAX_SAFE_INTEGER; cursor !== undefined; ) {
      const page = await search(`limit=2&cursor=${cursor}${query}`);
      reasons.push(...page.items.map(({ reason }) => reason));
      cursor = page.next;
    }
    expect(reasons).toEqual(expected);
  });

  it('reads only the partitions of the period', async () => {
    const { pool } = admin.postgres;
    const { rows } = await pool.query('SELECT count(*)::int AS all FROM cc.log_partitions');
    expect(rows[0].all).toBeGreaterThan(1);
    const plan: string[] = [];
    const search = {
      ...{ site: QUIET, field: 'platform', indexed: ATTEMPT_TYPES, after: 0, before: head + 1, limit: 5 },
      keys: [{ type: 'conversion.failed.v1', value: 'meta' }],
    };
    const found = await admin.postgres.read((client) => {
      const query = async (text: string | QueryConfig, values?: unknown[]) => {
        if (typeof text === 'string' && text.startsWith('SELECT found'))
          for (const row of (await client.query(`EXPLAIN ${text}`, values)).rows) plan.push(row['QUERY PLAN']);
        return client.query(text as string, values);
      };
      return findNewestByField({ query } as unknown as typeof client, search);
    });
    expect(found).toMatchObject([{ data: { reason: 'b' } }]);
    expect(plan.filter((line) => / on events_\S+ e/.test(line))).toHaveLength(1);
  });

  it('has an index on all types of attempts', async () => {
    const { rows } = await admin.postgres.pool.query<{ indexdef: string }>(
      `SELECT indexdef FROM pg_indexes WHERE schemaname = 'cc' AND indexname = 'events_attempts'`,
    );
    const types = rows[0]?.indexdef.match(/[a-z]+\.[a-z]+\.v1/g)?.toSorted();
    expect(types).toEqual(ATTEMPT_TYPES.toSorted());
  });
});

describe('retries over the management API', () => {
  const retry = (body: object, caller = operator, headers = {}) =>
    caller.post(`/sites/${SITE}/deliveries/retry`, body, headers);
  const requests = async (id: string) =>
    (await log.readStream('conversion', id)).filter(({ type }) => type === 'conversion.send_requested.v1');

  it('count in a dry run, show the payload of one, and then request deliveries as the caller', async () => {
    const { body: user } = await operator('/session');
    const [one, two] = [await store('R-1', [FAILED]), await store('R-2', [FAILED, { status: 'delivered' }])] as const;
    const dry = await retry({ conversion: one, dryRun: true });
    expect(dry.body).toMatchObject({
      dryRun: true,
      requested: 1,
      connections: { meta: { requested: 1, byStatus: { failed: 1 } } },
      preview: { status: 'sent', payload: { event_id: 'R-1' } },
    });
    expect(await requests(one)).toEqual([]);
    const { body: delivered } = await retry({ order: 'R-2' });
    expect(delivered).toMatchObject({ requested: 0, connections: { meta: { byStatus: { delivered: 1 } } } });
    expect([dry.body.deliveries, delivered.deliveries]).toEqual([[], []]);
    const head = await log.head();
    const { body: many } = await retry({ platform: 'meta', from: '2000-01-01' });
    expect(many.requested).toBeGreaterThan(0);
    expect(many).toMatchObject({
      after: head,
      deliveries: expect.arrayContaining([{ conversionId: one, connection: 'meta' }]),
    });
    expect(many.deliveries).toHaveLength(many.requested);
    expect(await requests(one)).toMatchObject([{ actor: `user:${user.id}`, data: { platform: 'meta' } }]);
    expect(await requests(two)).toEqual([]);
    expect((await retry({ conversion: one })).body).toMatchObject({
      requested: 0,
      connections: { meta: { byStatus: { queued: 1 } } },
    });
  });

  it('name the attempts that a later one has resolved', async () => {
    const [resolved, refused] = [await store('V-1', [FAILED, { status: 'delivered' }]), await store('V-2', [FAILED])];
    const lines = async (conversion: string) =>
      (await operator(`/sites/${SITE}/sync-log?conversion=${conversion}`)).body.items;
    const [delivered, failed] = await lines(resolved as string);
    expect(failed).toMatchObject({ status: 'failed', resolved: { status: 'delivered', time: delivered.time } });
    expect(delivered.resolved).toBeUndefined();
    const [line] = await lines(refused as string);
    expect(line.resolved).toBeUndefined();
  });

  it('are carried out once with an Idempotency-Key, and continue with the cursor', async () => {
    const stored = [await store('S-1', [FAILED]), await store('S-2', [FAILED])] as const;
    const first = await retry({ connection: 'meta', limit: 1 }, operator, { 'idempotency-key': 'retry-1' });
    const again = await retry({ connection: 'meta', limit: 1 }, operator, { 'idempotency-key': 'retry-1' });
    expect(again).toMatchObject({ body: first.body, headers: { 'idempotency-replayed': 'true' } });
    expect([await requests(stored[0]), await requests(stored[1])].map(({ length }) => length)).toEqual([0, 1]);
    await retry({ connection: 'meta', limit: 1, cursor: first.body.next });
    expect(await requests(stored[0])).toHaveLength(1);
  });

  it('take the status that an outcome leads to, and refuse another one', async () => {
    const order = 'OUTCOME';
    await store(order, [{ status: 'deferred', reason: 'timeout' }]);
    const dryRun = { order, outcome: 'deferred', dryRun: true };
    expect((await retry(dryRun)).body).toMatchObject({ requested: 1 });
    expect((await retry({ ...dryRun, status: ['queued', 'failed'] })).body).toMatchObject({ requested: 1 });
    const refused = await retry({ ...dryRun, status: ['failed'] });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toMatch(/outcome.*status.*queued/);
  });

  it('keep the payload of an attempt that the platform may have accepted', async () => {
    const unknown = { status: 'deferred', reason: 'timeout', unknown: true } as const;
    const bound = await store('BOUND', [unknown, FAILED]);
    const free = await store('FREE', [FAILED]);
    const map = (value: string) => ({ method: 'PUT', body: { settings: { 'event.purchase': value } } });
    await operator(`/sites/${SITE}/connections/meta`, map('Donate'));
    const nameIn = async (conversion: string) =>
      (await retry({ conversion, dryRun: true })).body.preview.payload.event_name;
    expect(await nameIn(bound)).toBe('Purchase');
    expect(await nameIn(free)).toBe('Donate');
    await operator(`/sites/${SITE}/connections/meta`, map(''));
  });

  it('force one delivery only, and are refused to analysts and without a selection', async () => {
    const id = await store('FORCE', [{ status: 'delivered' }]);
    const forced = { conversion: id, connection: 'meta', force: true };
    const withoutKey = await retry(forced);
    expect([withoutKey.status, withoutKey.body.detail]).toEqual([400, expect.stringContaining('Idempotency-Key')]);
    expect((await retry({ ...forced, dryRun: true })).body.requested).toBe(1);
    const key = { 'idempotency-key': 'force-1' };
    for (let times = 0; times < 2; times += 1) expect((await retry(forced, operator, key)).body.requested).toBe(1);
    expect(await requests(id)).toMatchObject([{ data: { eventId: 'FORCE-r2' } }]);
    expect((await retry({ ...forced, dryRun: true, cursor: '1000-1000' })).status).toBe(400);
    for (const body of [{}, { connection: 'meta', force: true }, { platform: 'meta', limit: 501 }, { from: '2000' }])
      expect((await retry(body)).status).toBe(400);
    expect((await retry({ conversion: id }, analyst)).status).toBe(403);
    const other = { method: 'POST', body: { conversion: id, dryRun: true } };
    expect((await operator('/sites/elsewhere.example/deliveries/retry', other)).body).toMatchObject({ requested: 0 });
  });
});

describe('what the management API tells about the setup of a site', () => {
  it('says when the tag was last seen, and where', async () => {
    expect((await analyst(`/sites/${SITE}/tag`)).body).toEqual({ complete: true });
    await appendVisit(QUIET, 'https://quiet.example/');
    await appendVisit(SITE, 'https://www.records.example/shoes?utm_source=x');
    const { body } = await analyst(`/sites/${SITE}/tag`);
    expect(body).toEqual({ complete: true, seenAt: expect.any(String), host: 'www.records.example' });
    await appendVisit(SITE, 'no address');
    expect((await analyst(`/sites/${SITE}/tag`)).body).toEqual({ complete: true, seenAt: expect.any(String) });
  });

  it('names who changed a site: a user or a token', async () => {
    const boss = await admin.signedIn('admin');
    const token = await admin.withToken(boss, ['write']);
    await boss.patch(`/sites/${SITE}/settings`, { consentRequired: true });
    await token.patch(`/sites/${SITE}/settings`, { consentRequired: false });
    const { body } = await analyst(`/sites/${SITE}/audit?limit=2`);
    const { body: self } = await boss('/session');
    expect(body.items.map(({ actorName }: { actorName: string }) => actorName)).toEqual(['a token', self.name]);
  });

  it('connects to the sandbox only where there is one, and over no connection', async () => {
    const path = (connection: string) => `/sites/${SITE}/connections/${connection}/sandbox`;
    const { status, body } = await operator.post(path('tiktok'));
    expect([status, body.detail]).toEqual([409, expect.stringContaining('There is no sandbox')]);
    expect((await operator.post(path('meta'))).body.detail).toContain('is connected already');
    expect((await analyst('/installation')).body).toMatchObject({ retention: { identifiers: '90d' } });
  });

  async function appendVisit(site: string, page: string): Promise<void> {
    const visit = uuidv7();
    const data = { visit, clicks: [], campaign: true, bot: { score: 0, reasons: [], list: 'test' } };
    const personal = { subject: 'ab'.repeat(32), visitor: visit, page, clicks: {}, utm: {}, cookies: {}, signals: {} };
    const events = [{ type: 'visitor.visited.v1', data, personal }] as never;
    await log.append({ category: 'visitor', stream: visit, expected: 'any', site, actor: 'system', events });
  }
});
