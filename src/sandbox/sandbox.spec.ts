import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { createGunzip } from 'node:zlib';
import * as fc from 'fast-check';
import { PLATFORM_NAMES } from '../platforms/platform.js';
import { FAILURE_KINDS, sandboxRequest } from './double.js';
import { faultOutcome, outcomeOf } from './outcome.js';
import { DOUBLES, type RunningSandbox, Sandbox } from './sandbox.js';

const HEADERS = {
  authorization: 'Bearer very-secret',
  'content-type': 'application/json',
  'linkedin-version': '202603',
  'x-restli-protocol-version': '2.0.0',
  'x-restli-method': 'BATCH_CREATE',
};
const EMAIL_HASH = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';

let nowMs = Date.parse('2026-03-01T12:00:00Z');
let sandbox: RunningSandbox;

const element = (eventId: string, change: object = {}) => ({
  conversion: 'urn:lla:llaPartnerConversion:1',
  conversionHappenedAt: nowMs - 1_000,
  eventId,
  user: { userIds: [{ idType: 'SHA256_EMAIL', idValue: EMAIL_HASH }] },
  ...change,
});

/** Sends a batch to LinkedIn, whose answer contains a status for each conversion. */
function send(elements: object[], { tenant = '', signal }: { tenant?: string; signal?: AbortSignal } = {}) {
  return fetch(`${sandbox.url}/linkedin${tenant}/rest/conversionEvents`, {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({ elements }),
    redirect: 'manual',
    ...(signal ? { signal } : {}),
  });
}

const jsonOf = async (response: Response) => JSON.parse(await response.text());

async function control(method: string, path: string, body?: unknown) {
  const response = await fetch(sandbox.url + path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: await jsonOf(response) };
}

const behave = (behaviour: object) => control('POST', '/behave', { platform: 'linkedin', ...behaviour });
const ledger = async (query = '') => (await control('GET', `/ledger${query}`)).json;
const counters = async (tenant = 'default') =>
  (await ledger())['linkedin']?.[tenant] ?? { calls: 0, items: 0, accepted: 0 };

/** The raw answer, for cases that fetch does not accept. */
function raw(
  elements: object[],
): Promise<{ status: number; headers: IncomingHttpHeaders; bytes: Buffer; ended: boolean }> {
  return new Promise((resolve, reject) => {
    const call = httpRequest(
      `${sandbox.url}/linkedin/rest/conversionEvents`,
      { method: 'POST', headers: HEADERS },
      (response) => {
        const chunks: Buffer[] = [];
        const done = (ended: boolean) =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(chunks), ended });
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => done(true));
        response.on('error', () => done(false));
      },
    );
    call.on('error', reject);
    call.end(JSON.stringify({ elements }));
  });
}

beforeAll(async () => {
  sandbox = await new Sandbox({ nowMs: () => nowMs, idsMax: 3 }).start();
});
afterAll(() => sandbox.stop());
afterEach(async () => {
  await control('DELETE', '/behave');
  await control('DELETE', '/ledger');
});

describe('routing', () => {
  it.each(PLATFORM_NAMES)('serves %s under its name', async (platform) => {
    await fetch(`${sandbox.url}/${platform}/anything`, { method: 'POST', body: '{}' });
    const { recent, ...platforms } = await ledger();
    expect(Object.keys(platforms)).toEqual([platform]);
    expect(recent).toMatchObject([{ platform, tenant: 'default', method: 'POST', path: '/anything', mode: 'ok' }]);
  });

  it('separates tenants, with @ or %40', async () => {
    await send([element('one')], { tenant: '@shop' });
    await send([element('one')], { tenant: '%40shop' });
    await send([element('one')], { tenant: '@other' });
    expect(await counters('shop')).toMatchObject({ calls: 2, repeats: 1 });
    expect(await counters('other')).toMatchObject({ calls: 1, repeats: 0 });
    expect(Object.keys((await ledger('?platform=linkedin&tenant=other'))['linkedin'])).toEqual(['other']);
    expect((await ledger('?tenant=other'))['recent']).toHaveLength(1);
  });

  it('answers an unknown path with the list of platforms', async () => {
    const { status, json } = await control('GET', '/facebook/v1');
    expect(status).toBe(404);
    expect(json['error']).toContain('/google_ads, /meta,');
  });

  it('refuses a body that is larger than any platform accepts', async () => {
    const response = await fetch(`${sandbox.url}/meta/x`, {
      method: 'POST',
      body: Buffer.alloc(17 * 1024 * 1024),
    }).catch(() => undefined);
    // The connection may be closed before the client has sent everything.
    expect(response?.status ?? 413).toBe(413);
  });

  it('serves a page', async () => {
    const response = await fetch(sandbox.url);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await response.text()).toContain('<title>Sandbox</title>');
  });
});

describe('ledger', () => {
  it('counts received, accepted and repeated conversions', async () => {
    await send([element('one'), element('two')]);
    await send([element('one')]);
    await send([element('two', { conversionHappenedAt: nowMs - 2_000 })]);
    const { events, ...counts } = await counters();
    expect(counts).toEqual({
      ...{ calls: 3, items: 4, accepted: 4, repeats: 2, repeatsChanged: 1, problems: 0, problemKinds: {} },
    });
    expect(events.one).toMatchObject({ event: 'urn:lla:llaPartnerConversion:1', times: 2, refused: 0 });
    expect([events.one.bodies.length, events.two.bodies.length]).toEqual([1, 2]);
  });

  it('counts refused and accepted conversions separately', async () => {
    await send([element('one', { eventTime: 1 })]);
    await send([element('one')]);
    expect(await counters()).toMatchObject({
      ...{ items: 2, accepted: 1, repeats: 0, problems: 1 },
      problemKinds: { '/eventTime is an unrecognized field and not allowed': 1 },
      events: { one: { times: 1, refused: 1 } },
    });
  });

  it('does not count a repeat after the deduplication window', async () => {
    const event = () => ({
      ...{ event: 'CompletePayment', event_time: Math.floor(nowMs / 1_000), event_id: 'evt-1' },
      ...{ user: { email: EMAIL_HASH }, properties: { value: 1, currency: 'EUR' } },
    });
    const track = () =>
      fetch(`${sandbox.url}/tiktok/open_api/v1.3/event/track/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'access-token': 'token' },
        body: JSON.stringify({ event_source: 'web', event_source_id: 'PIXEL', data: [event()] }),
      }).then((response) => response.json());
    const before = nowMs;
    expect(await track()).toMatchObject({ code: 0 });
    nowMs += 47 * 3_600_000;
    await track();
    nowMs += 2 * 3_600_000;
    await track();
    nowMs = before;
    expect((await ledger())['tiktok'].default).toMatchObject({ accepted: 3, repeats: 1 });
  });

  it('drops the oldest events and continues counting', async () => {
    for (const id of ['one', 'two', 'three', 'four', 'five']) await send([element(id)]);
    const { events, accepted } = await counters();
    expect([Object.keys(events), accepted]).toEqual([['three', 'four', 'five'], 5]);
  });

  it('stores only counters with idsMax 0', async () => {
    const counting = await new Sandbox({ nowMs: () => nowMs, idsMax: 0 }).start();
    const call = { method: 'POST', headers: HEADERS, body: JSON.stringify({ elements: [element('one')] }) };
    await fetch(`${counting.url}/linkedin/rest/conversionEvents`, call);
    const { linkedin } = await jsonOf(await fetch(`${counting.url}/ledger`));
    await counting.stop();
    expect(linkedin.default).toMatchObject({ items: 1, accepted: 1, events: {} });
  });

  it('leaves out the events with ids=no', async () => {
    await send([element('one')]);
    expect((await ledger('?ids=no'))['linkedin'].default).not.toHaveProperty('events');
  });

  it('stores the latest 200 requests with shortened bodies', async () => {
    for (let call = 0; call < 401; call += 1)
      await fetch(`${sandbox.url}/webhook/${call}`, { method: 'POST', body: '{}' });
    await fetch(`${sandbox.url}/webhook/long`, { method: 'POST', body: 'a'.repeat(30_000) });
    const { recent } = await ledger();
    expect(recent).toHaveLength(200);
    expect(recent.at(-1)).toMatchObject({ path: '/long', body: 'a'.repeat(20_000) });
    expect(recent[0].path).toBe('/202');
  });

  it('masks credentials', async () => {
    const secrets = ['s3cret-header', 's3cret-query', 's3cret-form', 's3cret-json', 's3cret-pixel', 's3cret-basic'];
    const post = (path: string, headers: Record<string, string>, body: string) =>
      fetch(sandbox.url + path, { method: 'POST', headers, body });
    await post(
      '/google_ads/token',
      {},
      `grant_type=refresh_token&refresh_token=${secrets[2]}&client_secret=${secrets[2]}`,
    );
    await post(`/snapchat/v3/1/events?access_token=${secrets[1]}`, { authorization: `Bearer ${secrets[0]}` }, '{}');
    await post(`/ga4/mp/collect?api_secret=${secrets[1]}&measurement_id=G-1`, { cookie: secrets[0] as string }, '{}');
    await post('/meta/v26.0/1/events', { 'access-token': secrets[0] as string }, `{"access_token" : "${secrets[3]}"}`);
    await post('/x/12/measurement/conversions/1', { 'x-pixel-token': secrets[4] as string }, '{}');
    await post('/segment/v1/track', { authorization: `Basic ${secrets[5]}` }, `{"writeKey":"${secrets[3]}"}`);
    await post('/microsoft_ads/x', { developertoken: secrets[0] as string }, `{"refresh_token":"${secrets[3]}`);
    const { recent } = await ledger();
    expect(recent).toHaveLength(7);
    expect(JSON.stringify(recent)).not.toContain('s3cret');
    expect(recent[2].query).toEqual({ api_secret: '***', measurement_id: 'G-1' });
  });

  it('can be cleared as a whole or in part', async () => {
    await send([element('one')], { tenant: '@one' });
    await send([element('one')], { tenant: '@two' });
    await control('DELETE', '/ledger?tenant=one');
    expect(Object.keys((await ledger())['linkedin'])).toEqual(['two']);
    await control('DELETE', '/ledger');
    expect(await ledger()).toEqual({ recent: [] });
  });
});

describe('behaviour', () => {
  it.each([
    ['refuse', 400],
    ['refuse_one', 422],
    ['throttle', 429],
    ['server_error', 500],
    ['unauthorized', 401],
    ['forbidden', 403],
    ['gone', 410],
  ])('answers %s with %i for the given number of requests', async (mode, status) => {
    await behave({ mode, times: 2 });
    const statuses: number[] = [];
    for (let call = 0; call < 3; call += 1) statuses.push((await send([element('one')])).status);
    expect(statuses).toEqual([status, status, 200]);
    expect(await counters()).toMatchObject({ calls: 3, accepted: 1 });
  });

  it('continues until it is replaced', async () => {
    await behave({ mode: 'gone' });
    expect([(await send([])).status, (await send([])).status]).toEqual([410, 410]);
    await behave({ mode: 'gone', call: 'token' });
    expect((await behave({ mode: 'ok' })).json.behaviours).toEqual([]);
    expect((await send([element('one')])).status).toBe(200);
  });

  it('applies to one tenant and one platform only', async () => {
    await behave({ mode: 'gone', tenant: 'shop' });
    expect((await send([element('one')])).status).toBe(200);
    expect((await send([element('one')], { tenant: '@shop' })).status).toBe(410);
    expect((await fetch(`${sandbox.url}/ga4@shop/mp/collect`, { method: 'POST', body: '{}' })).status).toBe(204);
  });

  it('does not apply to token requests unless they are selected', async () => {
    const refresh = () =>
      fetch(`${sandbox.url}/linkedin/oauth/v2/accessToken`, {
        method: 'POST',
        body: new URLSearchParams({
          ...{ grant_type: 'refresh_token', refresh_token: 'r', client_id: 'i', client_secret: 's' },
        }),
      }).then((response) => response.status);
    await behave({ mode: 'unauthorized', times: 1 });
    expect([await refresh(), (await send([element('one')])).status]).toEqual([200, 401]);
    await behave({ mode: 'refuse', call: 'token' });
    expect([await refresh(), (await send([element('one')])).status]).toEqual([400, 200]);
  });

  it('sets Retry-After', async () => {
    await behave({ mode: 'throttle', ms: 1_500 });
    expect((await send([element('one')])).headers.get('retry-after')).toBe('2');
  });

  it.each([500, 502, 503, 504])('fails with %i', async (status) => {
    await behave({ mode: 'server_error', status });
    expect((await send([element('one')])).status).toBe(status);
  });

  it('hangs without accepting anything', async () => {
    await behave({ mode: 'hang' });
    await expect(send([element('one')], { signal: AbortSignal.timeout(150) })).rejects.toThrow('timeout');
    expect(await counters()).toMatchObject({ calls: 1, accepted: 0 });
    expect((await ledger())['recent']).toMatchObject([{ mode: 'hang', status: null }]);
  });

  it('answers slowly, but accepts at once', async () => {
    await behave({ mode: 'slow', ms: 600 });
    const from = performance.now();
    const answer = send([element('one')]);
    while ((await counters()).calls === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await counters()).accepted).toBe(1);
    expect((await answer).status).toBe(200);
    expect(performance.now() - from).toBeGreaterThan(590);
  });

  it('closes the connection in the middle of an answer, after accepting', async () => {
    await behave({ mode: 'half' });
    const { status, headers, bytes, ended } = await raw([element('one')]);
    expect([status, ended]).toEqual([200, false]);
    const whole = '{"elements":[{"status":201}]}';
    expect(headers['content-length']).toBe(String(whole.length));
    expect(bytes.toString()).toBe(whole.slice(0, whole.length >> 1));
    expect(await counters()).toMatchObject({ calls: 1, accepted: 1 });
  });

  it('closes the connection in the status line of an answer without a body', async () => {
    await control('POST', '/behave', { platform: 'ga4', mode: 'half' });
    const socket = connect(Number(new URL(sandbox.url).port), '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.write('POST /ga4/mp/collect HTTP/1.1\r\nHost: sandbox\r\nContent-Length: 2\r\n\r\n{}');
    await once(socket, 'close');
    expect(Buffer.concat(chunks).toString()).toBe('HTTP/1.1 204');
  });

  it('drops the connection after or before accepting', async () => {
    await behave({ mode: 'drop', times: 1 });
    await expect(send([element('one')])).rejects.toThrow();
    expect(await counters()).toMatchObject({ calls: 1, accepted: 1 });
    await behave({ mode: 'drop_before', times: 1 });
    await expect(send([element('two')])).rejects.toThrow();
    expect(await counters()).toMatchObject({ calls: 1, accepted: 1 });
  });

  it('answers with a web page', async () => {
    await behave({ mode: 'html', times: 1 });
    const page = await send([element('one')]);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html']);
    await behave({ mode: 'html', status: 502 });
    expect((await send([element('one')])).status).toBe(502);
    expect((await counters()).accepted).toBe(0);
  });

  it('truncates the JSON after accepting', async () => {
    await behave({ mode: 'truncated' });
    const response = await send([element('one')]);
    expect(response.status).toBe(200);
    await expect(response.json()).rejects.toThrow();
    expect((await counters()).accepted).toBe(1);
    await control('POST', '/behave', { platform: 'ga4', mode: 'truncated' });
    const silent = await fetch(`${sandbox.url}/ga4/mp/collect`, { method: 'POST', body: '{}' });
    expect([silent.status, await silent.text()]).toEqual([200, '{']);
  });

  it('answers with ten megabytes', async () => {
    await behave({ mode: 'huge' });
    const { status, bytes } = await raw([element('one')]);
    expect([status, bytes.length]).toEqual([200, 10 * 1024 * 1024]);
    expect((await counters()).accepted).toBe(0);
  });

  it('answers with a gzip bomb', async () => {
    await behave({ mode: 'gzip_bomb' });
    const { status, headers, bytes } = await raw([element('one')]);
    expect([status, headers['content-encoding']]).toEqual([200, 'gzip']);
    expect(bytes.length).toBeLessThan(1024 * 1024);
    let inflated = 0;
    const gunzip = createGunzip().on('data', (chunk: Buffer) => {
      inflated += chunk.length;
    });
    gunzip.end(bytes);
    await once(gunzip, 'end');
    expect(inflated).toBeGreaterThan(100 * 1024 * 1024);
  });

  it('answers an error with status 200', async () => {
    await behave({ mode: 'error_in_200' });
    const response = await send([element('one')]);
    expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ status: 400 })]);
    expect(await counters()).toMatchObject({ items: 1, accepted: 0 });
  });

  it('redirects to another tenant, whose ledger shows clients that follow', async () => {
    await behave({ mode: 'redirect' });
    const response = await send([element('one')]);
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe(`${sandbox.url}/linkedin@redirected/rest/conversionEvents`);
    await fetch(`${sandbox.url}/linkedin/rest/conversionEvents`, { method: 'POST', body: '{}' });
    expect((await counters('redirected')).calls).toBe(1);
  });

  it('is listed with its remaining count and can be reset', async () => {
    await behave({ mode: 'throttle', ms: 1_000, times: 2 });
    await send([element('one')]);
    const { json } = await control('GET', '/behave');
    expect(json['behaviours']).toEqual([
      { platform: 'linkedin', tenant: 'default', call: 'events', mode: 'throttle', ms: 1_000, times: 1 },
    ]);
    expect((await control('DELETE', '/behave')).json).toEqual({ ok: true, behaviours: [] });
  });

  it('configures the later request status of google_ads', async () => {
    const google = (path: string, call: object) =>
      fetch(`${sandbox.url}/google_ads${path}`, { ...call, headers: HEADERS }).then(jsonOf);
    const { requestId } = await google('/v1/events:ingest', {
      method: 'POST',
      body: JSON.stringify({
        destinations: [
          { operatingAccount: { accountType: 'GOOGLE_ADS', accountId: '1234567890' }, productDestinationId: '1' },
        ],
        events: [{ eventTimestamp: '2026-03-01T10:15:30Z', transactionId: 'one', adIdentifiers: { gclid: 'G' } }],
      }),
    });
    const status = async () =>
      (await google(`/v1/requestStatus:retrieve?requestId=${requestId}`, {})).requestStatusPerDestination[0]
        .requestStatus;
    const configured = { platform: 'google_ads', mode: 'status', status: 'FAILED', reason: 'CLICK_NOT_FOUND' };
    expect(await status()).toBe('SUCCESS');
    expect((await control('POST', '/behave', configured)).status).toBe(200);
    expect(await status()).toBe('FAILED');
    await control('DELETE', '/behave');
    expect(await status()).toBe('SUCCESS');
    await control('POST', '/behave', configured);
    await control('POST', '/behave', { platform: 'google_ads', mode: 'ok' });
    expect(await status()).toBe('SUCCESS');
    expect(await control('POST', '/behave', { ...configured, status: 'LATER' })).toMatchObject({ status: 400 });
  });
});

describe('control API', () => {
  it.each([
    ['a string', 'text', /JSON object/],
    ['no platform', { mode: 'ok' }, /Set the platform/],
    ['an unknown platform', { platform: 'facebook', mode: 'ok' }, /google_ads, meta/],
    ['an unknown mode', { platform: 'snapchat', mode: 'slowly' }, /ok, refuse/],
    ['a mode of another platform', { platform: 'snapchat', mode: 'status', status: 'FAILED' }, /ok, refuse/],
    [
      'a mode of another platform than this one',
      { platform: 'meta', mode: 'partial' },
      /modes of meta are business_limit/,
    ],
    ['a text as times of an own mode', { platform: 'meta', mode: 'business_limit', times: '1' }, /"times"/],
    ['zero times', { platform: 'meta', mode: 'refuse', times: 0 }, /"times"/],
    ['a fraction as times', { platform: 'meta', mode: 'refuse', times: 1.5 }, /"times"/],
    ['slow without ms', { platform: 'meta', mode: 'slow' }, /requires "ms"/],
    ['ms as a string', { platform: 'meta', mode: 'slow', ms: '5' }, /"ms"/],
    ['a status for another mode', { platform: 'meta', mode: 'refuse', status: 400 }, /no "status"/],
    ['a status that is not a server error', { platform: 'meta', mode: 'server_error', status: 404 }, /500, 502/],
    ['an unknown call', { platform: 'meta', mode: 'refuse', call: 'all' }, /events, token/],
    ['an empty tenant', { platform: 'meta', mode: 'refuse', tenant: '' }, /"tenant"/],
  ])('refuses a behaviour with %s and explains the error', async (_, behaviour, error) => {
    expect(await control('POST', '/behave', behaviour)).toEqual({
      status: 400,
      json: { ok: false, error: expect.stringMatching(error) },
    });
  });

  it('refuses unknown platforms and other methods', async () => {
    expect((await control('GET', '/ledger?platform=facebook')).status).toBe(400);
    expect((await control('DELETE', '/behave?platform=facebook')).status).toBe(400);
    expect((await control('PUT', '/ledger')).status).toBe(405);
    expect((await control('PUT', '/behave')).status).toBe(405);
    expect((await control('POST', '/')).status).toBe(405);
  });
});

describe('arbitrary input', () => {
  const LISTS = ['data', 'events', 'conversions', 'elements', 'batch', 'OfflineConversions', 'destinations'];
  const FIELDS = [
    'user',
    'user_data',
    'userData',
    'params',
    'properties',
    'identifiers',
    'adIdentifiers',
    'consent',
    'type',
  ];
  const PATHS = [
    ...['/v1/events:ingest', '/v25/customers/1234567890:uploadClickConversions', '/token', '/v26.0/1/events'],
    ...[
      '/open_api/v1.3/event/track/',
      '/v1/1/events',
      '/CampaignManagement/v13/OfflineConversions/Apply',
      '/mp/collect',
    ],
    ...['/v1/batch', '/rest/conversionEvents', '/v5/ad_accounts/1/events', '/v3/1/events', '/v3/1/events/validate'],
    ...['/api/v3/pixels/1/conversion_events', '/12/measurement/conversions/1', '/any'],
  ];
  const json = fc.jsonValue({ maxDepth: 2 });
  const item = fc.oneof(
    json,
    fc.dictionary(fc.constantFrom(...FIELDS), json),
    fc.dictionary(fc.constantFrom(...FIELDS), fc.array(json)),
  );
  const envelope = fc.dictionary(fc.constantFrom(...LISTS), fc.oneof(json, fc.array(item)));
  const body = fc.oneof(
    fc.string(),
    json.map((value) => JSON.stringify(value)),
    envelope.map((value) => JSON.stringify({ ...value, data: value })),
    envelope.map((value) => JSON.stringify(value)),
  );
  const headers = {
    ...HEADERS,
    ...{ 'access-token': 'token', 'x-pixel-token': 'token', developertoken: 'token', 'developer-token': 'token' },
    ...{ customerid: '1', customeraccountid: '1', 'user-agent': 'relay/1.0' },
  };

  it.each(DOUBLES.map((double) => [double.name, double] as const))('is answered by %s', (_, double) =>
    fc.assert(
      fc.property(fc.constantFrom(...PATHS), body, (path, text) => {
        const request = sandboxRequest('POST', `${path}?access_token=token`, { headers, body: text });
        for (const answer of [double.answer(request), ...FAILURE_KINDS.map((kind) => double.fail(kind, request))]) {
          expect(answer.status).toBeGreaterThanOrEqual(200);
        }
      }),
      { numRuns: 100 },
    ),
  );

  it('that reveals a bug of a double is answered with status 599', async () => {
    const throwing = () => {
      throw new TypeError('oops');
    };
    const double = { name: 'broken', answer: throwing, fail: throwing };
    expect(await outcomeOf(double, sandboxRequest('POST', '/'), undefined).catch(faultOutcome)).toMatchObject({
      status: 599,
      recorded: true,
      received: [{ accepted: false, problems: ['The sandbox itself failed: oops'] }],
    });
  });
});

it('the sandbox stops while requests hang', async () => {
  const other = await new Sandbox().start();
  await fetch(`${other.url}/behave`, { method: 'POST', body: JSON.stringify({ platform: 'ga4', mode: 'hang' }) });
  const hanging = fetch(`${other.url}/ga4/mp/collect`, { method: 'POST', body: '{}' });
  const failing = expect(hanging).rejects.toThrow();
  await new Promise((resolve) => setTimeout(resolve, 50));
  await other.stop();
  await failing;
});

it('the sandbox refuses a port that is in use', async () => {
  await expect(new Sandbox().start(Number(new URL(sandbox.url).port))).rejects.toThrow('EADDRINUSE');
});
