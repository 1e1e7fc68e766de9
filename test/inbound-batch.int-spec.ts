import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { PlatformName } from '../src/platforms/platform.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { commandLine } from './support/command-line.js';
import { accountOf } from './support/connected-platform.js';
import { SECRET_KEY } from './support/secret-key.js';
import {
  getReceipt,
  INBOUND,
  metrics,
  openSocket,
  post,
  type Reply,
  type RequestOptions,
  rawPost,
  startTestService,
  type TestSite,
  useService,
} from './support/service.js';
import { eventually } from './support/waiting.js';

const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const LINES = { 'Content-Type': 'application/x-ndjson' };
const MAX_BATCH_BYTES = 300_000;

const { databaseUrl, operator, service, openSite } = await useService({ MAX_BATCH_BYTES: String(MAX_BATCH_BYTES) });
const sandbox = await new Sandbox().start();
afterAll(() => sandbox.stop());

async function dropAppendConnection(): Promise<void> {
  const owner = new Client({ connectionString: databaseUrl });
  await owner.connect();
  await owner.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                      WHERE application_name LIKE 'cc%-append' AND datname = current_database()`);
  await owner.end();
}

interface Entry {
  readonly ok: boolean;
  readonly status: number;
  readonly conversionId: string;
}

const purchase = (orderId = randomUUID() as string, more: object = {}) => ({
  email: 'jane@example.com',
  event: 'purchase',
  value: 5,
  currency: 'EUR',
  orderId,
  ...more,
});

const postBatch = (site: TestSite, body: unknown, options: RequestOptions = {}) =>
  post(service, site, body, { path: `${INBOUND}/batch`, ...options });

function entriesOf({ status, type, body }: Reply): Entry[] {
  expect({ status, type }).toEqual({ status: 200, type: JSON_TYPE });
  const { ok, results } = JSON.parse(body) as { ok: boolean; results: Entry[] };
  expect(ok).toBe(true);
  return results;
}

const ordersOf = async ({ host }: TestSite, type: string) =>
  (await operator.conversions(host)).filter((event) => event.type === type).map(({ data }) => data['orderId']);

describe('a batch', () => {
  it.each([
    ['a JSON array', {}, (lines: unknown[]) => JSON.stringify(lines)],
    ['lines', LINES, (lines: unknown[]) => lines.map((line) => JSON.stringify(line)).join('\n')],
    [
      'lines with BOM, CRLF and blank lines',
      LINES,
      (lines: unknown[]) => `\uFEFF${lines.map((line) => `${JSON.stringify(line)}\r\n\r\n`).join('')}`,
    ],
  ])('as %s is answered in order, each conversion as if it had been sent alone', async (_, headers, encode) => {
    const site = await openSite({ block: 'blocked@example.com' });
    const [first, second] = [randomUUID(), randomUUID()];
    const lines = [
      purchase(first),
      { email: 'jane', event: 'purchase' },
      purchase(first, { value: 6 }),
      null,
      purchase(second, { email: 'blocked@example.com' }),
      purchase('jane@example.com-1', { country: 'Atlantis' }),
    ];
    const entries = entriesOf(await postBatch(site, encode(lines), { headers }));
    const stored = { status: 200, conversionId: expect.stringMatching(UUID) };
    expect(entries).toEqual([
      { ok: true, event: 'purchase', results: {}, ...stored },
      { ok: false, error: 'email is invalid', status: 400 },
      { ok: true, deduped: true, ...stored, firstConversionId: entries[0]?.conversionId },
      { ok: false, error: 'The conversion is not a JSON object: send the fields inside { }.', status: 400 },
      { ok: true, filtered: true, ...stored },
      {
        ...{ ok: true, event: 'purchase', results: {}, ...stored },
        warnings: [
          'country must be an ISO 3166 alpha-2 code: dropped',
          expect.stringMatching(/^orderId contains an email address/),
        ],
      },
    ]);
    const events = await operator.conversions(site.host);
    expect(events.map(({ data }) => data['conversionId']).sort()).toEqual(
      entries.flatMap(({ conversionId }) => conversionId ?? []).sort(),
    );
    expect(events.find(({ type }) => type === 'conversion.deduplicated.v1')?.data['differs']).toEqual(['value']);
    expect((await getReceipt(service, site, `/${entries[0]?.conversionId}`)).status).toBe(200);
  });

  it('of a site with strict fields has only the conversions whose optional fields are valid', async () => {
    const site = await openSite();
    await operator.set(site.host, 'strict-fields', 'yes');
    await service.refreshSites();
    const lines = [purchase('1', { country: 'DE' }), purchase('2', { country: 'Germany' }), purchase('3')];
    expect(entriesOf(await postBatch(site, lines))).toEqual([
      expect.objectContaining({ ok: true, status: 200 }),
      { ok: false, error: 'country must be an ISO 3166 alpha-2 code', status: 400 },
      expect.objectContaining({ ok: true, status: 200 }),
    ]);
    expect(await ordersOf(site, 'conversion.received.v1')).toEqual(['1', '3']);
  });

  it('of 1,000 conversions that is sent again stores each of them once', async () => {
    const site = await openSite();
    const orders = Array.from({ length: 1_000 }, (_, index) => `ORD-${index}`);
    const before = await metrics(service);
    const body = orders.map((order) => purchase(order));
    // The connection is lost while the batch is stored: the append is repeated.
    const [first] = await Promise.all([postBatch(site, body), dropAppendConnection()]);
    const again = entriesOf(await postBatch(site, body));
    const ids = entriesOf(first).map(({ conversionId }) => conversionId);
    expect(new Set(ids).size).toBe(1_000);
    expect(again).toEqual(
      ids.map((firstConversionId) => expect.objectContaining({ ok: true, deduped: true, firstConversionId })),
    );
    expect(await ordersOf(site, 'conversion.received.v1')).toEqual(orders);
    expect(await ordersOf(site, 'conversion.deduplicated.v1')).toHaveLength(1_000);
    const after = await metrics(service);
    const counted = ['received', 'deduplicated'].map((outcome) => `cc_inbound_requests_total{outcome="${outcome}"}`);
    expect(counted.map((name) => (after.get(name) ?? 0) - (before.get(name) ?? 0))).toEqual([1_000, 1_000]);
  });

  it('is queued for its platforms, whatever their number, and delivered', async () => {
    const site = await openSite();
    const connections: [PlatformName, Record<string, string>][] = [
      ['meta', { pixel_id: '1', access_token: 'token' }],
      ['segment', { write_key: 'key' }],
      ['x', { pixel_id: 'o8z6j', pixel_token: 'token', 'event.purchase': 'tw-o8z6j-o87ne' }],
    ];
    for (const [name, set] of connections)
      await operator.connect(site.host, name, set, `${sandbox.url}/${name}@${site.host}`);
    await service.refreshSites();
    const entries = entriesOf(
      await postBatch(
        site,
        Array.from({ length: 300 }, () => purchase()),
      ),
    );
    const queued = { ok: false, status: 'queued', reason: 'pending' };
    expect(entries).toEqual(
      entries.map(({ conversionId }) => {
        const results = { meta: queued, segment: queued, x: queued };
        return { ok: true, event: 'purchase', results, status: 200, conversionId };
      }),
    );
    for (const [name] of connections) {
      const accepted = async () => (await accountOf(sandbox.url, name, site.host)).accepted;
      await eventually(accepted, 300);
    }
    const receipt = async () => (await getReceipt(service, site, `/${entries[299]?.conversionId}`)).body;
    await eventually(receipt, (body) => !body.includes('queued'));
    expect((await accountOf(sandbox.url, 'meta', site.host)).repeats).toBe(0);
  });

  it('of a trial key is queued as a trial, and validated', async () => {
    const site = await openSite();
    const set = { pixel_id: '1', access_token: 'token' };
    await operator.connect(site.host, 'meta', set, `${sandbox.url}/meta@${site.host}`);
    const trial = { ...site, key: (await operator.issueKey(site.host, 'trial')).key };
    await service.refreshSites();
    const [entry] = entriesOf(await postBatch(trial, [purchase()]));
    expect(entry).toMatchObject({ results: { meta: { ok: false, status: 'queued', trial: true } } });
    const receipt = async () => (await getReceipt(service, trial, `/${entry?.conversionId}`)).body;
    await eventually(receipt, (body) => body.includes('"status":"validated","trial":true'));
  });

  it.each<[string, RequestOptions & { body?: string }, number, string, RegExp]>([
    ['a wrong method', { method: 'PUT' }, 405, TEXT_TYPE, /^Use POST/],
    ['an unknown host', { headers: { Host: 'unknown.example' } }, 403, JSON_TYPE, /Inbound webhook not enabled/],
    ['a wrong key', { headers: { 'X-CC-Api-Key': 'cc_wrong' } }, 401, JSON_TYPE, /Invalid API key/],
    ['another content type', { headers: { 'Content-Type': 'text/csv' } }, 415, TEXT_TYPE, /application\/x-ndjson/],
    ['a compressed body', { headers: { 'Content-Encoding': 'gzip' } }, 415, TEXT_TYPE, /Content-Encoding/],
    ['a large body', { body: `[${' '.repeat(MAX_BATCH_BYTES)}]` }, 413, TEXT_TYPE, /300000 bytes. Send several/],
    ['an empty body', { body: '' }, 400, TEXT_TYPE, /^The body is empty/],
    ['one conversion', { body: JSON.stringify(purchase()) }, 400, TEXT_TYPE, /not a JSON array/],
    ['an incomplete array', { body: '[{}' }, 400, TEXT_TYPE, /one complete JSON array/],
    ['1,001 conversions', { body: `[${'{},'.repeat(1_000)}{}]` }, 400, TEXT_TYPE, /more than 1000/],
  ])('is rejected as a whole: %s', async (_, { body = '[]', ...options }, status, type, text) => {
    const reply = await postBatch(await openSite(), body, options);
    expect(reply).toMatchObject({ status, type, body: expect.stringMatching(text) });
  });

  it('of the largest size with one conversion too large stores the others', async () => {
    const site = await openSite();
    const line = (bytes: number) => JSON.stringify(purchase(randomUUID(), { note: 'x'.repeat(bytes) }));
    const body = [line(60_000), line(66_000), `{"note":"${'['.repeat(60_000)}"}`, line(60_000)].join('\n');
    expect(entriesOf(await postBatch(site, body, { headers: LINES })).map(({ status }) => status)).toEqual([
      200, 413, 400, 200,
    ]);
  });

  it('is stored although the client disconnects before the answer', async () => {
    const site = await openSite();
    const orders = Array.from({ length: 500 }, (_, index) => `ORD-${index}`);
    const raw = await openSocket(service);
    raw.write(batchRequest(site, JSON.stringify(orders.map((order) => purchase(order)))));
    const stored = () => ordersOf(site, 'conversion.received.v1');
    await eventually(stored, (all) => all.length > 0);
    raw.socket.destroy();
    expect((await eventually(stored, (all) => all.length >= 500)).sort()).toEqual(orders.sort());
  });

  it('beyond four of a site at a time is refused until an upload ends or is given up', async () => {
    const [site, other] = [await openSite(), await openSite()];
    const uploads = await Promise.all(Array.from({ length: 4 }, () => openSocket(service)));
    for (const upload of uploads) upload.write(batchRequest(site, '[]').slice(0, -1));
    const refused = { status: 503, body: '{"ok":false,"error":"Too many batches at once: send this one again"}' };
    await eventually(() => postBatch(site, '[]'), { status: 503 });
    const reply = await postBatch(site, '[]');
    expect(reply).toMatchObject({ ...refused, headers: { 'retry-after': '2' } });
    expect((await postBatch(other, '[]')).status).toBe(200);
    expect((await post(service, site, purchase())).status).toBe(200);
    uploads[0]?.write(']');
    await uploads[0]?.until(/"results":\[\]\}$/);
    expect((await postBatch(site, '[]')).status).toBe(200);
    for (const { socket } of uploads) socket.destroy();
    const four = () => Promise.all(Array.from({ length: 4 }, () => postBatch(site, '[]')));
    await eventually(four, (replies) => replies.every(({ status }) => status === 200));
  });
});

describe('refused conversions', () => {
  it('are counted by site and reason in metrics and, after SIGTERM too, in the sync log, without what was sent', async () => {
    const [site, other] = [await openSite(), await openSite()];
    const instance = await startTestService(databaseUrl);
    const secret = 'jane.secret';
    const send = (body: unknown, options: RequestOptions = {}) => post(instance, site, body, options);
    const batch = { path: `${INBOUND}/batch`, headers: LINES };
    await send({ email: secret, event: 'purchase' });
    await send({ event: secret });
    await send(`{"${secret}"`);
    await send('{}', { headers: { 'Content-Type': 'text/csv' } });
    await send(`{"a":"${'x'.repeat(70_000)}"}`);
    await send([JSON.stringify(purchase()), `{"email":"${secret}"}`, secret, 'null'].join('\n'), batch);
    await send('', batch);
    // Anonymous callers add nothing.
    for (const key of [undefined, 'cc_wrong']) await send('{}', { headers: { 'X-CC-Api-Key': key } });
    await send('{}', { headers: { Host: 'unknown.example' } });
    await post(instance, other, { email: 'jane', event: secret });

    const counted = [...(await metrics(instance))].filter(([name]) => name.startsWith('cc_inbound_rejected_total'));
    const label = (host: string, reason: string) => `cc_inbound_rejected_total{site="${host}",reason="${reason}"}`;
    const reasons = {
      email: 2,
      email_missing: 1,
      syntax: 2,
      content_type: 1,
      too_large: 1,
      not_an_object: 1,
      empty: 1,
    };
    expect(new Map(counted)).toEqual(
      new Map([
        ...Object.entries(reasons).map(([reason, count]) => [label(site.host, reason), count] as const),
        [label(other.host, 'email'), 1],
      ]),
    );
    await instance.stop();

    const cli = commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY });
    const json = await cli.text(`sync log --site ${site.host} --status rejected --json`);
    const by = `key:${site.keyId}`;
    expect(JSON.parse(json)).toEqual({
      ...{ kind: 'inbound', status: 'rejected', count: 9, reasons, attempt: 0, durationMs: 0 },
      time: expect.any(String),
      since: expect.any(String),
      sample: ['email', 'email_missing', 'syntax', 'content_type', 'too_large'].map((reason) => {
        return { time: expect.any(String), reason, by };
      }),
    });
    const text = await cli.text(`sync log --site ${site.host}`);
    expect(text).toMatch(new RegExp(`inbound {3}refused  2 email, .*  since .*  by ${by}\n`));
    expect(json + text).not.toContain(secret);
    const stored = await operator.log.read({ types: ['inbound.rejected.v1'] });
    expect(stored.map((event) => event.site).sort()).toEqual([site.host, other.host].sort());
    expect(JSON.stringify(stored)).not.toContain(secret);
  });
});

function batchRequest(site: TestSite, body: string): string {
  return rawPost(site, body).replace(INBOUND, `${INBOUND}/batch`);
}
