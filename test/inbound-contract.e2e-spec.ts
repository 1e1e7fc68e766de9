import { createHash, randomUUID } from 'node:crypto';
import { Ajv } from 'ajv';
import { Client } from 'pg';
import { bodySchema } from '../src/conversions/inbound/body-schema.js';
import { generateApiKey } from '../src/sites/keys/api-key.js';
import { AddSite, DisableInbound, EnableInbound, RemoveSite } from '../src/sites/site.commands.js';
import { StateConsent } from '../src/visitors/change-consent.command.js';
import { StateConsentHandler } from '../src/visitors/change-consent.handler.js';
import { captureLog } from './support/captured-log.js';
import { commandLine } from './support/command-line.js';
import type { LooseEvent } from './support/loose-event.js';
import { SECRET_KEY } from './support/secret-key.js';
import {
  conversionId,
  getReceipt,
  INBOUND,
  metrics,
  post,
  type Reply,
  type RequestOptions,
  send,
  startTestService,
  type TestSite,
  useService,
} from './support/service.js';
import { eventually, runConcurrently } from './support/waiting.js';

const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TOO_LARGE = `{"padding":"${'x'.repeat(70_000)}"}`;

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const failure = (error: string) => JSON.stringify({ ok: false, error });

const { databaseUrl, operator, service, openSite } = await useService();

/** Registers a site for one test, or one group of tests. */
const newSite = (aliases?: string[]) => openSite({}, aliases);

async function set(site: TestSite, flag: string, value: string): Promise<void> {
  await operator.set(site.host, flag, value);
  await service.refreshSites();
}

/** A valid conversion with a new order id. */
function purchase(over: Record<string, unknown> = {}): Record<string, unknown> {
  return { email: 'jane@example.com', event: 'purchase', orderId: randomUUID(), ...over };
}

async function storedBy(reply: Reply) {
  const event = await operator.conversion(conversionId(reply));
  if (!event) throw new Error(`${conversionId(reply)} is not in the log: ${reply.status} ${reply.body}`);
  return event;
}

type Post = readonly [site: TestSite, body: unknown];

/** The events that these posts were stored as, sent one after the other. */
async function storedInTurn(posts: readonly Post[]): Promise<LooseEvent[]> {
  return runConcurrently(1, posts, async ([site, body]) => storedBy(await post(service, site, body)));
}

/** What each of these posts, sent one after the other, was stored as: received, deduplicated or filtered. */
async function outcomes(posts: readonly Post[]): Promise<string[]> {
  return (await storedInTurn(posts)).map(({ type }) => type.split('.')[1] as string);
}

describe('a 200 answer', () => {
  let site: TestSite;
  beforeAll(async () => {
    site = await newSite();
  });

  it('names the event and carries the conversion id and the request id', async () => {
    const replies = await Promise.all([post(service, site, purchase()), post(service, site, purchase())]);
    for (const reply of replies) {
      expect(reply).toMatchObject({ status: 200, type: JSON_TYPE });
      expect(reply.body).toBe('{"ok":true,"event":"purchase","results":{}}');
      expect(reply.headers['content-length']).toBe(String(reply.body.length));
      expect(conversionId(reply)).toMatch(UUID);
      expect(reply.headers['x-request-id']).toMatch(UUID);
    }
    expect(new Set(replies.flatMap((reply) => [conversionId(reply), reply.headers['x-request-id']])).size).toBe(4);
  });

  it('returns the event name exactly as sent', async () => {
    const event = ' Signup "ünïcode" \\ 🛒 \u2028 ';
    const reply = await post(service, site, purchase({ event }));
    expect(JSON.parse(reply.body)).toEqual({ ok: true, event, results: {} });
  });

  it('to a duplicate is exactly {"ok":true,"deduped":true}', async () => {
    const body = purchase();
    const first = await post(service, site, body);
    const second = await post(service, site, body);
    expect(second).toMatchObject({ status: 200, type: JSON_TYPE, body: '{"ok":true,"deduped":true}' });
    expect(conversionId(second)).toMatch(UUID);
    expect(conversionId(second)).not.toBe(conversionId(first));
  });

  it('to a blocked address is exactly {"ok":true,"filtered":true}', async () => {
    await set(site, 'block', 'blocked@example.com');
    const reply = await post(service, site, purchase({ email: 'Blocked@Example.com ' }));
    expect(reply).toMatchObject({ status: 200, type: JSON_TYPE, body: '{"ok":true,"filtered":true}' });
    expect(conversionId(reply)).toMatch(UUID);
  });
});

describe('a rejection', () => {
  let site: TestSite;
  beforeAll(async () => {
    site = await newSite();
  });

  /** All faults in the order in which they are checked, with their answers. A request is rejected for its first fault. */
  const FAULTS: [name: string, request: RequestOptions, status: number, type: string, body: string | RegExp][] = [
    ['a wrong path', { path: `${INBOUND}/a/b` }, 404, TEXT_TYPE, /^Not found/],
    ['a wrong method', { method: 'PUT' }, 405, TEXT_TYPE, /^Use POST/],
    [
      'an unknown host',
      { headers: { Host: 'unknown.example' } },
      403,
      JSON_TYPE,
      failure('Inbound webhook not enabled'),
    ],
    ['a wrong key', { headers: { 'X-CC-Api-Key': generateApiKey() } }, 401, JSON_TYPE, failure('Invalid API key')],
    ['a wrong content type', { headers: { 'Content-Type': 'text/plain' } }, 415, TEXT_TYPE, /application\/json/],
    ['an oversized body', { body: TOO_LARGE.slice(1) }, 413, TEXT_TYPE, /65536/],
    ['malformed JSON', { body: '{"email":5,' }, 400, TEXT_TYPE, /JSON/],
    ['an invalid field', { body: '{"email":5}' }, 400, JSON_TYPE, failure('email is invalid')],
  ];

  it.each(FAULTS)('of %s precedes all later checks', async (name, _, status, type, body) => {
    const requests = FAULTS.slice(FAULTS.findIndex(([each]) => each === name)).map(([, request]) => request);
    const headers = Object.assign({}, ...requests.map((request) => request.headers ?? {}));
    // Reversed, so that of two faults in the same property the one that is checked first is sent.
    const reply = await post(service, site, '', { ...Object.assign({}, ...requests.reverse()), headers });
    const expected = typeof body === 'string' ? body : expect.stringMatching(body);
    expect(reply).toMatchObject({ status, type, body: expected });
    expect(reply.headers['x-request-id']).toMatch(UUID);
    expect(reply.headers).not.toHaveProperty('x-cc-conversion-id');
  });

  it('of a site with inbound disabled is the same 403 for a valid and an invalid key', async () => {
    const closed = await newSite();
    await operator.execute(new DisableInbound('cli', closed.host));
    await service.refreshSites();
    for (const key of [closed.key, generateApiKey(), undefined]) {
      const reply = await post(service, closed, purchase(), { headers: { 'X-CC-Api-Key': key } });
      expect(reply).toMatchObject({ status: 403, type: JSON_TYPE, body: failure('Inbound webhook not enabled') });
    }
    await operator.execute(new EnableInbound('cli', closed.host));
    await service.refreshSites();
    expect((await post(service, closed, purchase())).status).toBe(200);
  });

  it('of a removed site is that of an unknown host, also after the host was added again, until it has a new key', async () => {
    const removed = await newSite(['removed-alias.example']);
    expect((await post(service, removed, purchase())).status).toBe(200);
    await operator.execute(new RemoveSite('cli', removed.host));
    await service.refreshSites();
    for (const host of [removed.host, 'removed-alias.example']) {
      const reply = await post(service, { ...removed, host }, purchase());
      expect(reply).toMatchObject({ status: 403, body: failure('Inbound webhook not enabled') });
      expect((await send(service, { path: '/__cc/tag.js', headers: { Host: host } })).status).toBe(404);
    }
    await operator.execute(new AddSite('cli', removed.host));
    await operator.execute(new EnableInbound('cli', removed.host));
    await service.refreshSites();
    expect((await post(service, removed, purchase())).status).toBe(401);
    const { key } = await operator.issueKey(removed.host);
    await service.refreshSites();
    expect((await post(service, { ...removed, key }, purchase())).status).toBe(200);
  });

  it('of a method names the allowed one and needs no key', async () => {
    const methods = ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'];
    for (const method of methods) {
      // A receipt can be read with the query `orderId` only.
      const allow = method === 'GET' ? 'POST' : 'POST, GET';
      const reply = await send(service, { method, path: INBOUND, headers: { Host: 'unknown.example' } });
      expect(reply).toMatchObject({ status: 405, type: TEXT_TYPE, headers: { allow } });
    }
    expect(await send(service, { path: `${INBOUND}?order=5` })).toMatchObject({ status: 405 });
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const reply = await send(service, { method, path: `${INBOUND}/${randomUUID()}` });
      expect(reply).toMatchObject({ status: 405, type: TEXT_TYPE, headers: { allow: 'GET' } });
    }
  });

  it('of a path is plain text for every body', async () => {
    const paths = ['/', '/nothing', '/__cc', '/__cc/inboundx', `${INBOUND}/`, `${INBOUND}/${randomUUID()}/x`, '/%zz'];
    const bodies = ['', '{', '<xml/>', TOO_LARGE, '{"__proto__":1}'];
    for (const path of paths) {
      for (const body of bodies) {
        const reply = await post(service, site, body, { path });
        const answer = { path, status: reply.status, type: reply.type };
        expect(answer).toEqual({ path, status: path === '/%zz' ? 400 : 404, type: TEXT_TYPE });
      }
    }
  });

  it('appends nothing to the log', async () => {
    expect(await operator.conversions(site.host)).toEqual([]);
  });
});

describe('the field', () => {
  let site: TestSite;
  beforeAll(async () => {
    site = await newSite();
  });

  /** The error message for a valid conversion with these fields changed, or `ok`. */
  async function verdict(over: Record<string, unknown> | string): Promise<string> {
    const body = typeof over === 'string' ? `{"email":"jane@example.com","event":"e",${over}}` : purchase(over);
    const reply = await post(service, site, body);
    const answer = JSON.parse(reply.body);
    if (reply.status === 200 && answer.ok === true) return 'ok';
    expect(reply).toMatchObject({ status: 400, type: JSON_TYPE, body: failure(answer.error) });
    return answer.error;
  }

  const letters = (count: number) => 'x'.repeat(count);

  it('named in an error is the first invalid one in the order of the contract', async () => {
    await set(site, 'strict-fields', 'yes');
    const invalid: [field: string, value: unknown, message: string][] = [
      ['email', 'x', 'email is invalid'],
      ['hashed_email', 'x', 'hashed_email must be a SHA-256 hex digest'],
      ['event', letters(101), 'event must be 1 to 100 characters'],
      ['value', -1, 'value must be a non-negative number'],
      ['currency', 'x', 'currency must be an ISO 4217 code'],
      ['orderId', '', 'orderId must be 1 to 255 characters'],
      ['firstName', 5, 'firstName must be text of at most 255 characters'],
      ['lastName', 5, 'lastName must be text of at most 255 characters'],
      ['phone', 5, 'phone must be text of at most 64 characters'],
      ['occurredAt', 'yesterday', 'occurredAt must be an RFC 3339 time with offset, or Unix seconds'],
      ['items', [{ id: '1', quantity: 0 }], 'items[0].quantity must be a whole number from 1 to 1000000'],
      ['externalId', letters(129), 'externalId must be text of at most 128 characters'],
      ['city', 5, 'city must be text of at most 128 characters without an email address'],
      ['country', 'Germany', 'country must be an ISO 3166 alpha-2 code'],
      ['source', 'shop', 'source must be one of website, phone_call, physical_store, email, app, crm, other'],
      ['clickIds', { gclid: 'a b' }, 'clickIds.gclid must be 1 to 500 visible ASCII characters without @'],
      ['ipAddress', 'localhost', 'ipAddress must be an IPv4 or IPv6 address'],
      ['userAgent', 5, 'userAgent must be text of at most 1024 characters on one line'],
      ['eventId', letters(101), 'eventId must be 1 to 100 characters'],
      ['consent', { ad_storage: 'yes' }, 'consent.ad_storage must be granted or denied'],
      ['pageUrl', '/thanks', 'pageUrl must be an address with http or https of at most 8192 characters'],
      ['referrer', 5, 'referrer must be an address with http or https of at most 8192 characters'],
      ['cookies', 'a=b', 'cookies must be an object'],
      ['utm', { source: 5 }, 'utm.source must be text of at most 500 characters without an email address'],
      ['custom', { list: [] }, 'custom must have texts of at most 500 characters, numbers and booleans'],
      ['hashed_phone', 'x', 'hashed_phone must be a SHA-256 hex digest'],
    ];
    for (const [index, [field, , message]] of invalid.entries()) {
      const rest = invalid.slice(index).map(([name, value]) => [name, value]);
      // Reversed: the order of the contract counts, not the order in the body.
      const over = Object.fromEntries([...rest.reverse(), ...(field === 'hashed_email' ? [['email', null]] : [])]);
      expect(await verdict(over)).toBe(message);
    }
    const withoutEmail = Object.fromEntries(invalid.slice(2).map(([name, value]) => [name, value]));
    expect(await verdict({ ...withoutEmail, email: null })).toBe('email or hashed_email required');
    expect(await verdict({ event: null, value: -1 })).toBe('event required');
    await set(site, 'strict-fields', 'no');
    expect(await verdict(Object.fromEntries(invalid.slice(10).map(([name, value]) => [name, value])))).toBe('ok');
  });

  it('is ignored when it is not part of the contract', async () => {
    const unknown = {
      Email: 5,
      order_id: [],
      ip: null,
      deep: { a: [{ b: { c: 1 } }] },
      '': 0,
      constructor: 1,
      id: 'x',
    };
    const reply = await post(service, site, purchase(unknown));
    expect(reply.status).toBe(200);
    const { data } = await storedBy(reply);
    expect(Object.keys(data).sort()).toEqual([
      'conversionId',
      'currency',
      'event',
      'keyId',
      'orderId',
      'trial',
      'unknown',
    ]);
  });

  it('is named in a warning when it is not part of the contract, and counted by a listed name', async () => {
    const unknown = (metric: Awaited<ReturnType<typeof metrics>>, field: string) =>
      metric.get(`cc_inbound_unknown_fields_total{field="${field}"}`) ?? 0;
    const names = ['order_id', 'e-mail', 'other'];
    const before = await metrics(service);
    const sent = { ...purchase(), value: 3, order_id: '7', EMAIL: 1, 'jane@example.com': 1, 'a\r\nx: y': 1, gift: 1 };
    const reply = await post(service, site, sent);
    expect([reply.status, reply.headers['x-cc-warning']]).toEqual([
      200,
      'value has no currency: USD is assumed; order_id is an unknown field: ignored (use orderId); EMAIL is an unknown field: ignored (use email); an unknown field, whose name is not shown: ignored; gift is an unknown field: ignored',
    ]);
    const { data, personal } = await storedBy(reply);
    expect(data['unknown']).toEqual(names);
    expect(JSON.stringify([data, personal])).not.toMatch(/jane@|gift/);
    const after = await metrics(service);
    expect(names.map((field) => unknown(after, field) - unknown(before, field))).toEqual([1, 1, 1]);
    expect([...after.keys()].join()).not.toMatch(/jane@|gift/);
    const { body } = await post(service, site, [sent], { path: `${INBOUND}/batch` });
    expect(JSON.parse(body).results[0].warnings).toHaveLength(5);
  });

  it('is named in a header that every client accepts, whatever is sent', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`f${'x'.repeat(30)}${index}`, 1]));
    const reply = await post(service, site, purchase(many));
    const { 'x-cc-warning': warning = '' } = reply.headers;
    expect([reply.status, warning.length < 1_000]).toEqual([200, true]);
    expect(warning).toMatch(/; 990 more warnings$/);
    expect((await storedBy(reply)).data['unknown']).toEqual(['other']);
  });
});

describe('a value without a currency', () => {
  it('is in USD, with a warning, or in what the site has set', async () => {
    const site = await newSite();
    const { email } = purchase();
    const send = async () => {
      const reply = await post(service, site, { email, event: 'purchase', value: 3, orderId: randomUUID() });
      return [(await storedBy(reply)).data['currency'], reply.headers['x-cc-warning']];
    };
    expect(await send()).toEqual(['USD', 'value has no currency: USD is assumed']);
    await set(site, 'currency', 'EUR');
    expect(await send()).toEqual(['EUR', undefined]);
  });
});

describe('an optional field', () => {
  let site: TestSite;
  beforeAll(async () => {
    site = await newSite();
  });
  const digest = sha256('x');

  /** What is stored of a conversion with these fields, and what its sender is told. */
  async function stored(over: Record<string, unknown>) {
    const reply = await post(service, site, purchase(over));
    expect([over, reply.status]).toEqual([over, 200]);
    const { data, personal } = await storedBy(reply);
    return { data, personal: personal as Record<string, unknown>, warning: reply.headers['x-cc-warning'] };
  }

  it('is stored, what is about the person in the personal part only', async () => {
    const sent = {
      eventId: 'evt-1',
      consent: { ad_storage: 'granted', ad_personalization: 'denied' },
      pageUrl: 'https://shop.example/thanks?order=1&utm_source=news#end',
      referrer: 'https://shop.example/cart?email=jane',
      cookies: { _ga: 'GA1.1.11.22', _epik: 'dj0' },
      custom: { profit: 41.5, coupon: 'SPRING', returning: true },
      clickIds: { lead_id: 123456789012345, ctwa_clid: 'ARA', dclid: 'CMj' },
      hashed_phone: digest.toUpperCase(),
      hashed_city: digest,
    };
    const { data, personal, warning } = await stored(sent);
    expect(warning).toBeUndefined();
    const { eventId, consent: sentConsent } = sent;
    expect(data).toMatchObject({ eventId, sentConsent });
    expect(personal).toMatchObject({
      pageUrl: 'https://shop.example/thanks?utm_source=news',
      referrer: 'https://shop.example/cart',
      cookies: { _ga: '11.22' },
      utm: { source: 'news' },
      custom: sent.custom,
      clickIds: { ...sent.clickIds, lead_id: '123456789012345', epik: 'dj0' },
      phone: digest,
      phoneDigits: digest,
      city: digest,
    });
    expect(JSON.stringify(data)).not.toMatch(/thanks|cart|SPRING|41\.5|ARA|dj0/);
  });

  it('that is not valid is dropped, with a warning, and counted', async () => {
    const dropped = (metric: Awaited<ReturnType<typeof metrics>>, field: string) =>
      metric.get(`cc_inbound_dropped_fields_total{field="${field}"}`) ?? 0;
    const before = await metrics(service);
    const { data, personal, warning } = await stored({
      country: 'Atlantis',
      ipAddress: '203.0.113.9, 10.0.0.1',
      items: [
        { id: '1', price: '12.5' },
        { id: '2', price: 'free' },
      ],
      clickIds: { fbc: 'IwAR0', gclid: 'Cj0', jane: 'x' },
      hashed_last_name: 'Doe',
      phone: '030 123456',
      firstName: '---',
    });
    expect(warning?.toString().split('; ')).toEqual([
      'country must be an ISO 3166 alpha-2 code: dropped',
      'ipAddress has several addresses: the first is used',
      'items[1].price must be a non-negative number: dropped',
      'clickIds.fbc must have the format of the cookie, such as fb.1.1772350000000.1234567890: dropped',
      expect.stringMatching(/^clickIds must have no other names than gclid, .*: dropped$/),
      'hashed_last_name must be a SHA-256 hex digest: dropped',
      'phone is no possible number, or lacks its country code: dropped',
      'firstName has only punctuation: dropped',
    ]);
    const unhashed = ['hashed_last_name', 'phone', 'firstName'];
    const names = ['country', 'ipAddress', 'items', 'clickIds.fbc', 'clickIds', ...unhashed];
    expect(data).toMatchObject({ items: [{ id: '1', price: 12.5 }, { id: '2' }], dropped: names });
    expect(personal).toMatchObject({ ipAddress: '203.0.113.9', clickIds: { gclid: 'Cj0' } });
    expect(personal).not.toHaveProperty('address');
    const after = await metrics(service);
    expect(names.map((field) => dropped(after, field) - dropped(before, field))).toEqual(names.map(() => 1));
  });

  it('that is not valid refuses the conversion of a site with strict fields', async () => {
    const strict = await newSite();
    await set(strict, 'strict-fields', 'yes');
    const errorOf = async (over: Record<string, unknown>) => {
      const { status, body, headers } = await post(service, strict, purchase(over));
      expect([status, headers['x-cc-warning']]).toEqual([400, undefined]);
      return JSON.parse(body).error;
    };
    expect(await errorOf({ country: 'UK' })).toBe('country must be an ISO 3166 alpha-2 code');
    expect(await errorOf({ ipAddress: '203.0.113.9, 10.0.0.1' })).toBe('ipAddress must be an IPv4 or IPv6 address');
    expect(await errorOf({ items: [{ id: '1', price: '12.5' }] })).toBe('items[0].price must be a non-negative number');
    expect(await errorOf({ clickIds: { fbc: 'IwAR0' } })).toMatch(/^clickIds\.fbc must have the format/);
    expect(await operator.conversions(strict.host)).toEqual([]);
    // Texts that cannot be hashed were never refused.
    const { status, headers } = await post(service, strict, purchase({ phone: 'n/a', country: 'DE' }));
    expect([status, headers['x-cc-warning']]).toEqual([
      200,
      'phone is no possible number, or lacks its country code: dropped',
    ]);
  });

  it.each([
    ['Germany', 'DE'],
    ['Österreich', 'AT'],
    ['GBR', 'GB'],
    ['UK', 'GB'],
  ])('with the country %s is read', async (country, code) => {
    const { personal, warning } = await stored({ country });
    expect([personal['address'], warning]).toEqual([{ country: code }, undefined]);
  });

  it('with a hash in place of the plain value is stored as it is', async () => {
    const { personal } = await stored({ firstName: digest, phone: digest.toUpperCase(), postalCode: digest });
    expect(personal).toMatchObject({ firstName: digest, phone: digest, phoneDigits: digest, postalCode: digest });
  });

  it('of an order with the event id of another one makes it no duplicate, with a warning', async () => {
    const eventId = randomUUID();
    const [first, second] = [await stored({ eventId }), await stored({ eventId })];
    expect([first.warning, second.warning]).toEqual([
      undefined,
      expect.stringMatching(/^eventId was sent with another/),
    ]);
    expect(second.data).not.toHaveProperty('firstConversionId');
    expect((await stored({ eventId, event: 'lead' })).warning).toBeUndefined();
    const { body } = await post(service, site, [purchase({ eventId })], { path: `${INBOUND}/batch` });
    expect(JSON.parse(body).results).toEqual([
      expect.objectContaining({ warnings: [expect.stringMatching(/^eventId was sent with another/)] }),
    ]);
  });

  it('in which there is an email address is stored with its digest, or not at all', async () => {
    const { data, personal, warning } = await stored({
      eventId: 'jane@example.com',
      custom: { note: 'of jane@example.com', 'jane@example.com': 1 },
      pageUrl: 'https://shop.example/u/jane@example.com?x=1',
      utm: { campaign: 'jane@example.com' },
    });
    expect(JSON.stringify([data, personal, warning])).not.toContain('jane@');
    expect([data['eventId'], personal['custom'], personal['pageUrl']]).toEqual([
      expect.stringMatching(/^hmac_/),
      { note: expect.stringMatching(/^hmac_/) },
      'https://shop.example/',
    ]);
    expect(warning).toMatch(/eventId and custom contain an email address/);
  });

  it('about the visit is not stored after an opt-out', async () => {
    const email = `${randomUUID()}@example.com`;
    await new StateConsentHandler(operator.log).execute(new StateConsent('cli', site.host, sha256(email), 'denied'));
    const { personal } = await stored({
      email,
      pageUrl: 'https://shop.example/thanks',
      referrer: 'https://shop.example/',
      cookies: { _ga: '1.2' },
      utm: { source: 'news' },
      custom: { profit: 1 },
    });
    expect(personal).toMatchObject({ custom: { profit: 1 } });
    for (const name of ['pageUrl', 'referrer', 'cookies', 'utm']) expect(personal).not.toHaveProperty(name);
  });

  it('has a warning that every proxy lets pass, whatever is wrong', async () => {
    const names = Array.from({ length: 200 }, (_, index) => [`n${index}`, []] as const);
    const wrong = Object.fromEntries(names);
    const { warning } = await stored({ clickIds: wrong, cookies: wrong, utm: wrong, consent: wrong, items: names });
    expect(warning?.length).toBeLessThan(4_000);
    expect(warning).toMatch(/; \d+ more warnings$/);
  });
});

describe('the stored event', () => {
  let site: TestSite;
  beforeAll(async () => {
    site = await newSite();
  });

  it('of a received conversion holds every field, personal data only as digests', async () => {
    const reply = await post(service, site, {
      email: '  Jane.Doe+news@Gmail.com ',
      hashed_email: 'f'.repeat(64),
      event: 'Purchase',
      value: 129.9,
      currency: 'eur',
      orderId: 'ORD 1001/é',
      firstName: ' Zoë ',
      lastName: "O'Neil Smith",
      phone: '+1 (555) 010-4477',
    });
    expect(await storedBy(reply)).toEqual({
      position: expect.any(Number),
      id: expect.stringMatching(UUID),
      type: 'conversion.received.v1',
      stream: `conversion-${conversionId(reply)}`,
      version: 1,
      site: site.host,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      actor: `key:${site.keyId}`,
      data: {
        conversionId: conversionId(reply),
        event: 'Purchase',
        value: 129.9,
        currency: 'EUR',
        orderId: 'ORD 1001/é',
        keyId: site.keyId,
        trial: false,
      },
      personal: {
        payloadKey: expect.stringMatching(UUID),
        subject: sha256('jane.doe+news@gmail.com'),
        emailGoogle: sha256('janedoe@gmail.com'),
        emailBare: sha256('janedoe@gmail.com'),
        phone: sha256('+15550104477'),
        phoneDigits: sha256('15550104477'),
        firstName: sha256('zoë'),
        lastName: sha256("o'neil smith"),
        lastNameBare: sha256('oneilsmith'),
        lastNameJoined: sha256("o'neilsmith"),
        lastNameUnpunctuated: sha256('oneil smith'),
      },
    });
  });

  it('keeps the exact value and every digit of a numeric order id', async () => {
    const bodies: [text: string, field: string, stored: unknown][] = [
      ['"value":0', 'value', 0],
      ['"value":-0', 'value', 0],
      ['"value":0.1', 'value', 0.1],
      ['"value":1e308', 'value', 1e308],
      ['"value":5e-324', 'value', 5e-324],
      ['"value":19.90,"orderId":1001', 'orderId', '1001'],
      ['"orderId":9007199254740993', 'orderId', '9007199254740993'],
      ['"nested":{"orderId":1},"orderId":1234567890123456789', 'orderId', '1234567890123456789'],
      ['"order\\u0049d" : 9223372036854775807', 'orderId', '9223372036854775807'],
    ];
    for (const [text, field, stored] of bodies) {
      const reply = await post(service, site, `{"email":"v@example.com","event":"${randomUUID()}",${text}}`);
      expect([text, (await storedBy(reply)).data[field]]).toEqual([text, stored]);
    }
  });

  it('of a duplicate names the first conversion and the fields that differ from it', async () => {
    const first = {
      email: 'dup@example.com',
      event: 'purchase',
      value: 10,
      currency: 'EUR',
      orderId: 'DUP-1',
      firstName: 'Ann',
      lastName: 'Lee',
      phone: '+15550104477',
    };
    const firstReply = await post(service, site, first);
    const changes: [over: Record<string, unknown>, differs: string[]][] = [
      [{}, []],
      [{ email: 'DUP@example.com ', currency: 'eur', firstName: ' ANN', phone: '+1 555 010 4477' }, []],
      [{ email: null, hashed_email: sha256('dup@example.com') }, []],
      [{ email: 'other@example.com' }, ['email']],
      [{ value: 11 }, ['value']],
      [{ value: 0 }, ['value']],
      [{ value: null }, ['value']],
      [{ currency: 'GBP' }, ['currency']],
      [{ firstName: 'Anne' }, ['firstName']],
      [{ firstName: null }, ['firstName']],
      [{ lastName: 'Li' }, ['lastName']],
      [{ phone: '+15550104478' }, ['phone']],
      [{ city: 'Bonn', source: 'crm', items: [{ id: '1' }] }, ['city', 'items', 'source']],
      [{ occurredAt: 1_772_360_130, clickIds: { gclid: 'x' } }, ['clickIds', 'occurredAt']],
      [{ eventId: 'e', consent: { ad_storage: 'denied' }, custom: { a: 1 } }, ['consent', 'custom', 'eventId']],
      [{ hashed_city: sha256('x'), utm: { source: 'x' } }, ['city', 'utm']],
      [{ phone: null, value: 12, currency: null }, ['currency', 'phone', 'value']],
    ];
    for (const [over, differs] of changes) {
      const reply = await post(service, site, { ...first, ...over });
      expect(reply.body).toBe('{"ok":true,"deduped":true}');
      const { type, version, actor, data, personal } = await storedBy(reply);
      expect({ type, version, actor }).toEqual({
        type: 'conversion.deduplicated.v1',
        version: 1,
        actor: `key:${site.keyId}`,
      });
      expect(data).toMatchObject({
        conversionId: conversionId(reply),
        firstConversionId: conversionId(firstReply),
        event: 'purchase',
        orderId: 'DUP-1',
        trial: false,
      });
      expect([over, [...(data['differs'] as string[])].sort()]).toEqual([over, differs]);
      const email = (over['email'] as string | undefined) ?? 'dup@example.com';
      expect(personal?.subject).toBe(sha256(email.trim().toLowerCase()));
    }
  });

  it('is exactly one per 200 answer', async () => {
    const alone = await newSite();
    await set(alone, 'block', '@blocked.example');
    const emails = ['a@example.com', 'b@blocked.example', 'c@example.com'];
    const bodies = emails.flatMap((email) => {
      const body = purchase({ email });
      return [body, body, body, { ...body, event: 'lead' }];
    });
    const replies = await Promise.all(bodies.map((body) => post(service, alone, body)));
    const ids = (await operator.conversions(alone.host)).map(({ data }) => data['conversionId']);
    expect(ids.sort()).toEqual(replies.map(conversionId).sort());
  });

  it('contains no plain address, name, phone or key, and neither does any table or log line', async () => {
    const captured = captureLog();
    const verbose = await startTestService(databaseUrl, { LOG_LEVEL: 'trace' });
    try {
      const person = {
        email: 'Raw.Marker+alias@personal-marker.example',
        firstName: 'Rawfirstname',
        lastName: 'Rawlast-Name',
        phone: '+49 30 90182 7364',
      };
      const orderId = `ORDER-${randomUUID()}`;
      await operator.set(site.host, 'block', 'raw.blocked@personal-marker.example');
      await verbose.refreshSites();
      const bodies = [
        { ...person, event: 'purchase', orderId },
        { ...person, event: 'purchase', orderId, value: 5 },
        { ...person, email: 'raw.blocked@personal-marker.example', event: 'purchase' },
        { ...person, event: '' },
        { ...person, event: 'purchase', phone: `${person.phone}${'0'.repeat(60)}` },
        { ...person, event: 'purchase', bad: '\u0000' },
      ];
      const statuses = await runConcurrently(1, bodies, async (body) => (await post(verbose, site, body)).status);
      expect(statuses).toEqual([200, 200, 200, 400, 400, 400]);
      await post(verbose, site, `${JSON.stringify(bodies[0])}}`);
      await post(verbose, site, bodies[0], { headers: { 'X-CC-Api-Key': `${site.key}x` } });
      await getReceipt(verbose, site, `?orderId=${orderId}`);
      await eventually(
        () => operator.postgres.pool.query('SELECT position FROM cc.projections WHERE name = $1', ['key_usage']),
        ({ rows }) => Number(rows[0]?.position) >= 1,
      );
      const raws = ['raw.marker', 'rawmarker', 'personal-marker', 'raw.blocked', 'rawfirstname', 'rawlast'];
      raws.push('49 30 90182 7364', '493090182736', site.key);
      const found = await searchTables([orderId, site.keyId, ...raws]);
      expect(found.get(orderId)?.length).toBeGreaterThan(0);
      expect(found.get(site.keyId)?.length).toBeGreaterThan(0);
      expect(raws.flatMap((raw) => found.get(raw))).toEqual([]);
      expect(captured.text()).toContain('Nest application successfully started');
      expect(raws.filter((raw) => captured.text().toLowerCase().includes(raw.toLowerCase()))).toEqual([]);
    } finally {
      await verbose.stop();
      captured.stop();
    }
  });

  /** The tables in which each text occurs, in any column, as text or as bytes. */
  async function searchTables(texts: string[]): Promise<Map<string, string[]>> {
    const owner = new Client({ connectionString: databaseUrl });
    await owner.connect();
    const { rows: tables } = await owner.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname IN ('cc', 'cc_shadow')`,
    );
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['cc.events_0', 'cc.personal_0', 'cc.dedup', 'cc.sites', 'cc.secrets']),
    );
    const found = new Map<string, string[]>(texts.map((text) => [text, []]));
    for (const { name } of tables) {
      const { rows } = await owner.query<{ row: string }>(`SELECT lower(t::text) AS row FROM ${name} t`);
      for (const text of texts) {
        const hex = Buffer.from(text).toString('hex');
        const needles = [text.toLowerCase(), hex, Buffer.from(text.toLowerCase()).toString('hex')];
        if (rows.some(({ row }) => needles.some((needle) => row.includes(needle)))) found.get(text)?.push(name);
      }
    }
    await owner.end();
    return found;
  }
});

describe('an email address inside orderId or event', () => {
  const ORDER = 'jane.hidden@example.com/2026';
  const EVENT = 'signup jane.hidden@example.com';
  const DIGEST = /^hmac_[0-9a-f]{32}$/;
  let site: TestSite;
  let replies: Reply[];
  beforeAll(async () => {
    site = await newSite();
    const body = purchase({ email: 'jane.hidden@example.com', event: EVENT, orderId: ORDER });
    replies = [await post(service, site, body), await post(service, site, body)];
  });

  it('is replaced by a digest in the event, and the answer says so without repeating it', async () => {
    const [first, second] = replies as [Reply, Reply];
    expect((await storedBy(first)).data).toMatchObject({
      event: expect.stringMatching(DIGEST),
      orderId: expect.stringMatching(DIGEST),
    });
    for (const reply of [first, second]) {
      expect(reply.status).toBe(200);
      expect(reply.headers['x-cc-warning']).toMatch(/^event and orderId contain an email address; .* keyed digest\./);
    }
    expect(JSON.parse(second.body)).toEqual({ ok: true, deduped: true });
    const answers = JSON.stringify(replies.map(({ headers, body }) => [headers, body]));
    expect(answers + JSON.stringify(await operator.conversions(site.host))).not.toContain('jane.hidden');
    const { rows } = await operator.postgres.pool.query(
      `SELECT count(*)::integer AS found FROM cc.events e WHERE e::text LIKE '%jane.hidden%'`,
    );
    expect(rows).toEqual([{ found: 0 }]);
  });

  it('finds the conversion with the original values', async () => {
    const [first] = replies as [Reply];
    const [order, event] = [encodeURIComponent(ORDER), encodeURIComponent(EVENT)];
    for (const query of [`?orderId=${order}`, `?orderId=${order}&event=${event}`]) {
      const receipt = await getReceipt(service, site, query);
      expect([receipt.status, conversionId(receipt)]).toEqual([200, conversionId(first)]);
    }
    expect((await getReceipt(service, site, `?orderId=${order}&event=purchase`)).status).toBe(404);
    const cli = commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY });
    for (const command of [`events show --site ${site.host}`, 'events export', 'events tail']) {
      const printed = await cli.text(`${command} --json --order ${ORDER}`);
      expect(printed).toContain(conversionId(first));
      expect(printed).not.toContain('jane.hidden');
    }
  });

  it('is not seen in other values, which are stored as sent and answered without a warning', async () => {
    const reply = await post(service, site, purchase({ event: 'sale @home', orderId: 'ORD@1' }));
    expect(reply.headers).not.toHaveProperty('x-cc-warning');
    expect((await storedBy(reply)).data).toMatchObject({ event: 'sale @home', orderId: 'ORD@1' });
  });
});

describe('a duplicate', () => {
  let site: TestSite;
  beforeEach(async () => {
    site = await newSite();
  });
  const ofSite = (bodies: readonly unknown[]) => bodies.map((body) => [site, body] as const);

  it('has the same event and order id, whatever the person and the value', async () => {
    const first = purchase({ orderId: 'A', value: 10 });
    const bodies: [over: object, outcome: string][] = [
      [{}, 'received'],
      [{ value: 20, email: 'other@example.com' }, 'deduplicated'],
      [{ event: 'refund' }, 'received'],
      [{ orderId: 'B' }, 'received'],
      [{ orderId: 'a' }, 'received'],
      [{ orderId: ' A' }, 'deduplicated'],
      [{ event: ' purchase\n' }, 'deduplicated'],
      [{ orderId: 'fu\u0308r' }, 'received'],
      [{ orderId: 'f\u00fcr' }, 'deduplicated'],
    ];
    const expected = bodies.map(([, outcome]) => outcome);
    expect(await outcomes(ofSite(bodies.map(([over]) => ({ ...first, ...over }))))).toEqual(expected);
  });

  it('may send its order id as a number or as a string', async () => {
    const body = (orderId: string) => `{"email":"n@example.com","event":"purchase","orderId":${orderId}}`;
    const large = ['1234567890123456789', '"1234567890123456789"', '1234567890123456788'];
    expect(await outcomes(ofSite(large.map(body)))).toEqual(['received', 'deduplicated', 'received']);
    expect(await outcomes(ofSite(['7', '"7"', '"07"'].map(body)))).toEqual(['received', 'deduplicated', 'received']);
  });

  it('is found among the conversions of trial keys or of live keys, never across', async () => {
    const { key, id } = await operator.issueKey(site.host, 'trial');
    await service.refreshSites();
    const trial: TestSite = { host: site.host, key, keyId: id };
    const body = purchase();
    const events = await storedInTurn([trial, site, trial, site].map((each) => [each, body] as const));
    const [first, second] = events.map(({ data }) => data['conversionId']);
    expect(events.map(({ type, data }) => [type, data['trial'], data['firstConversionId']])).toEqual([
      ['conversion.received.v1', true, undefined],
      ['conversion.received.v1', false, undefined],
      ['conversion.deduplicated.v1', true, first],
      ['conversion.deduplicated.v1', false, second],
    ]);
  });

  it('is recognised across the keys of a site, not across sites', async () => {
    const { key, id } = await operator.issueKey(site.host);
    const elsewhere = await newSite();
    const body = purchase();
    const sites = [site, { host: site.host, key, keyId: id }, elsewhere];
    const expected = ['received', 'deduplicated', 'received'];
    expect(await outcomes(sites.map((each) => [each, body] as const))).toEqual(expected);
  });

  it('is not recognised with a dedup window of 0', async () => {
    await set(site, 'dedup-window', '0s');
    const body = purchase();
    const events = await storedInTurn(ofSite([body, body, body]));
    expect(events.map(({ type }) => type)).toEqual(Array(3).fill('conversion.received.v1'));
    // With a window of 24 hours the newest of them is the first conversion.
    await set(site, 'dedup-window', '24h');
    const repeated = await storedBy(await post(service, site, body));
    expect(repeated.data['firstConversionId']).toBe(events.at(-1)?.data['conversionId']);
  });

  it('is not recognised after the dedup window, which duplicates do not extend', async () => {
    await set(site, 'dedup-window', '2s');
    const body = purchase();
    const first = await storedBy(await post(service, site, body));
    const later = await eventually(
      async () => storedBy(await post(service, site, body)),
      { type: 'conversion.received.v1' },
      { everyMs: 50 },
    );
    expect(Date.parse(later.time) - Date.parse(first.time)).toBeGreaterThanOrEqual(2_000);
    const between = (await operator.conversions(site.host)).slice(1, -1);
    expect(between.length).toBeGreaterThan(0);
    expect(between.every(({ type }) => type === 'conversion.deduplicated.v1')).toBe(true);
  });

  it.each([
    ['an address', 'block', 'Spam@Example.com', 'spam@example.com', 'blocked_address'],
    ['a domain', 'block', '@Spam.example', 'anyone@spam.example', 'blocked_domain'],
    ['the domain of a disposable address', 'block-disposable', 'yes', 'x@mailinator.com', 'disposable_address'],
  ])('of a filtered conversion is deduplicated until %s is unblocked, then received', async (...row) => {
    const [, flag, value, email, reason] = row;
    const body = purchase({ email });
    const twice = () => storedInTurn(ofSite([body, body]));
    await set(site, flag, value);
    const [filtered, repeat] = await twice();
    expect(filtered).toMatchObject({ type: 'conversion.filtered.v1', data: { reason } });
    const firstConversionId = filtered?.data['conversionId'];
    expect(repeat).toMatchObject({ type: 'conversion.deduplicated.v1', data: { firstConversionId } });

    await operator.unset(site.host, flag);
    await service.refreshSites();
    const [received, duplicate] = await twice();
    expect([received?.type, duplicate?.type]).toEqual(['conversion.received.v1', 'conversion.deduplicated.v1']);

    await set(site, flag, value);
    const again = await post(service, site, body);
    expect(again.body).toBe('{"ok":true,"deduped":true}');
    expect((await storedBy(again)).data['firstConversionId']).toBe(received?.data['conversionId']);
  });

  it('of a received conversion is deduplicated even if its own address is blocked', async () => {
    await set(site, 'block', '@spam.example');
    const body = purchase();
    expect(await outcomes(ofSite([body, { ...body, email: 'x@spam.example' }]))).toEqual(['received', 'deduplicated']);
  });
});

describe('a receipt', () => {
  let site: TestSite;
  let received: Reply;
  let repeated: Reply;
  let filtered: Reply;
  const body = { email: 'r@example.com', event: 'purchase', orderId: 'R 1/ü' };
  beforeAll(async () => {
    site = await newSite();
    await set(site, 'block', '@spam.example');
    received = await post(service, site, body);
    repeated = await post(service, site, body);
    filtered = await post(service, site, { ...body, email: 'x@spam.example', orderId: 'R2' });
  });

  it('is found by conversion id and equals the original answer', async () => {
    for (const reply of [received, repeated, filtered]) {
      const receipt = await getReceipt(service, site, `/${conversionId(reply)}`);
      expect(receipt).toMatchObject({ status: 200, type: JSON_TYPE, body: reply.body });
      expect(conversionId(receipt)).toBe(conversionId(reply));
      expect(receipt.headers['x-request-id']).toMatch(UUID);
    }
    expect((await getReceipt(service, site, `/${conversionId(received).toUpperCase()}`)).body).toBe(received.body);
  });

  it('found by order id is that of the first conversion, not of its duplicate', async () => {
    const receipt = await getReceipt(service, site, `?orderId=${encodeURIComponent(body.orderId)}`);
    expect([receipt.status, receipt.body, conversionId(receipt)]).toEqual([200, received.body, conversionId(received)]);
    const other = await getReceipt(service, site, '?orderId=R2');
    expect([other.status, other.body, conversionId(other)]).toEqual([200, filtered.body, conversionId(filtered)]);
  });

  it('is found by order id and event', async () => {
    const lead = await post(service, site, { ...body, event: 'lead' });
    const order = `?orderId=${encodeURIComponent(body.orderId)}`;
    expect(conversionId(await getReceipt(service, site, `${order}&event=lead`))).toBe(conversionId(lead));
    expect(conversionId(await getReceipt(service, site, `${order}&event=purchase`))).toBe(conversionId(received));
    expect(await getReceipt(service, site, `${order}&event=refund`)).toMatchObject({ status: 404 });
  });

  it('of an order with a trial and a live conversion depends on the kind of the key', async () => {
    const { key, id } = await operator.issueKey(site.host, 'trial');
    await service.refreshSites();
    const trial: TestSite = { host: site.host, key, keyId: id };
    const live = await post(service, site, purchase({ orderId: 'R3' }));
    const trialReply = await post(service, trial, purchase({ orderId: 'R3' }));
    expect(conversionId(await getReceipt(service, site, '?orderId=R3'))).toBe(conversionId(live));
    expect(conversionId(await getReceipt(service, trial, '?orderId=R3'))).toBe(conversionId(trialReply));
  });

  it('of an unknown or malformed id or order, or of another site, is 404', async () => {
    const elsewhere = await newSite();
    const notFound = { status: 404, type: JSON_TYPE, body: failure('Conversion not found') };
    const id = conversionId(received);
    const queries = [`/${randomUUID()}`, `/${id}x`, `/${id.slice(1)}`, '/1', '/%00', '/%zz', `/${'9'.repeat(5_000)}`];
    queries.push('?orderId=none', '?orderId=', '?orderId=%00', '?orderId=a%00b', '?orderId=%ff', '?orderId=%ud800');
    queries.push('?orderId=R2&event=%00', `?orderId=${'x'.repeat(10_000)}`);
    for (const query of queries) {
      expect({ query, ...(await getReceipt(service, site, query)) }).toMatchObject({ query, ...notFound });
    }
    expect(await getReceipt(service, elsewhere, `/${id}`)).toMatchObject(notFound);
    expect(await getReceipt(service, elsewhere, `?orderId=${encodeURIComponent(body.orderId)}`)).toMatchObject(
      notFound,
    );
  });

  it('requires a key of the site and shares the checks and the throttle of the POST', async () => {
    const closed = await newSite();
    const path = `/${conversionId(received)}`;
    const refused = await getReceipt(service, site, path, { headers: { 'X-CC-Api-Key': undefined } });
    expect(refused).toMatchObject({ status: 401, type: JSON_TYPE, body: failure('Invalid API key') });
    const wrong = { 'X-CC-Api-Key': generateApiKey() };
    const statuses = await runConcurrently(1, Array(21).fill(path), async (query) => {
      return (await getReceipt(service, closed, query, { headers: wrong })).status;
    });
    expect(statuses).toEqual([...Array(20).fill(401), 429]);
    expect((await post(service, closed, purchase(), { headers: wrong })).status).toBe(429);
    const unknown = await getReceipt(service, site, path, { headers: { Host: 'unknown.example' } });
    expect(unknown).toMatchObject({ status: 403, body: failure('Inbound webhook not enabled') });
  });

  it('rejects a POST to its path', async () => {
    const reply = await post(service, site, body, { path: `${INBOUND}/${conversionId(received)}` });
    expect(reply).toMatchObject({ status: 405, type: TEXT_TYPE, headers: { allow: 'GET' } });
  });
});

describe('the metrics', () => {
  it('count every request by outcome', async () => {
    const site = await newSite();
    await set(site, 'block', '@spam.example');
    const before = await metrics(service);
    const body = purchase();
    for (const each of [body, body, body, purchase(), purchase({ email: 'x@spam.example' }), { event: 'x' }]) {
      await post(service, site, each);
    }
    await post(service, site, '{');
    await post(service, site, body, { headers: { 'Content-Type': 'text/plain' } });
    await post(service, site, TOO_LARGE);
    await post(service, site, body, { headers: { Host: 'unknown.example' } });
    for (let turn = 0; turn < 23; turn += 1) await post(service, site, body, { headers: { 'X-CC-Api-Key': 'x' } });
    const after = await metrics(service);
    const expected = {
      received: 2,
      deduplicated: 2,
      filtered: 1,
      invalid: 1,
      malformed: 3,
      unauthorized: 20,
      throttled: 3,
      disabled: 1,
      unavailable: 0,
    };
    const counted = Object.keys(expected).map((outcome) => {
      const name = `cc_inbound_requests_total{outcome="${outcome}"}`;
      return [outcome, (after.get(name) ?? Number.NaN) - (before.get(name) ?? Number.NaN)];
    });
    expect(Object.fromEntries(counted)).toEqual(expected);
  });

  it('report the batch size and duration of appends and the lag of log readers', async () => {
    const before = (await metrics(service)).get('cc_log_append_batch_size_sum') ?? 0;
    const site = await newSite();
    await Promise.all(Array.from({ length: 50 }, () => post(service, site, purchase())));
    const after = await metrics(service);
    expect(after.get('cc_log_append_batch_size_sum')).toBeGreaterThanOrEqual(before + 50);
    expect(after.get('cc_log_append_batch_size_count')).toBeGreaterThan(0);
    expect(after.get('cc_log_append_seconds_count')).toBe(after.get('cc_log_append_batch_size_count'));
    expect(after.get('cc_log_append_seconds_sum')).toBeGreaterThan(0);
    for (const reader of ['sites', 'auth']) {
      expect(after.get(`cc_log_tail_lag_events{reader="${reader}"}`)).toBeGreaterThanOrEqual(0);
    }
  });
});

describe('the API documentation', () => {
  it('describes the POST with the fields of the parser', async () => {
    const { status, type, body } = await send(service, { path: '/docs/openapi.json' });
    expect({ status, type }).toEqual({ status: 200, type: JSON_TYPE });
    const { post: described, get } = JSON.parse(body).paths[INBOUND];
    const { schema } = described.requestBody.content['application/json'];
    expect(schema).toEqual(JSON.parse(JSON.stringify(bodySchema({ isStrict: false }))));
    const fields = ['email', 'hashed_email', 'event', 'value', 'currency', 'orderId', 'firstName', 'lastName', 'phone'];
    expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(fields));
    const statuses = [200, 400, 401, 403, 405, 408, 413, 415, 429, 431, 500, 503].map(String);
    expect(Object.keys(described.responses)).toEqual(statuses);
    expect(get.parameters.map(({ name }: { name: string }) => name)).toEqual(['orderId', 'event']);
    expect(JSON.parse(body).paths).toHaveProperty([`${INBOUND}/{id}`, 'get']);
  });

  it('describes status, headers and body of every answer', async () => {
    const described = JSON.parse((await send(service, { path: '/docs/openapi.json' })).body).paths;
    const ajv = new Ajv({ strict: false, allErrors: true, formats: { uuid: true } });
    const site = await newSite();
    const body = purchase();
    const sent = await post(service, site, body);
    const key = { Host: site.host, 'X-CC-Api-Key': site.key };
    const wrong = { headers: { 'X-CC-Api-Key': 'cc_wrong' } };
    const type = (value: string) => ({ headers: { 'Content-Type': value } });
    const [inbound, batch, id] = [INBOUND, `${INBOUND}/batch`, `${INBOUND}/{id}`];
    const replies: [path: string, method: string, status: number, reply: Reply][] = [
      [inbound, 'post', 200, sent],
      [inbound, 'post', 200, await post(service, site, body)],
      [inbound, 'post', 200, await post(service, site, purchase({ orderId: 'jane@example.com' }))],
      [inbound, 'post', 400, await post(service, site, {})],
      [inbound, 'post', 400, await post(service, site, '[')],
      [inbound, 'post', 401, await post(service, site, body, wrong)],
      [inbound, 'post', 403, await post(service, site, body, { headers: { Host: 'unknown.example' } })],
      [inbound, 'post', 405, await post(service, site, body, { method: 'PUT' })],
      [inbound, 'post', 413, await post(service, site, TOO_LARGE)],
      [inbound, 'post', 415, await post(service, site, body, type('text/csv'))],
      [inbound, 'post', 431, await post(service, site, body, { headers: { 'X-Long': 'x'.repeat(17_000) } })],
      [inbound, 'get', 200, await getReceipt(service, site, `?orderId=${body['orderId']}`)],
      [inbound, 'get', 404, await getReceipt(service, site, '?orderId=none')],
      [inbound, 'get', 405, await getReceipt(service, site, '')],
      [id, 'get', 200, await getReceipt(service, site, `/${conversionId(sent)}`)],
      [id, 'get', 404, await getReceipt(service, site, `/${randomUUID()}`)],
      [id, 'get', 405, await getReceipt(service, site, `/${randomUUID()}`, { method: 'DELETE' })],
      [batch, 'post', 200, await post(service, site, [purchase(), body, {}, null], { path: batch })],
      [batch, 'post', 400, await post(service, site, '{}', { path: batch })],
      [batch, 'post', 405, await post(service, site, '[]', { path: batch, method: 'PUT' })],
      [batch, 'post', 415, await post(service, site, '[]', { path: batch, ...type('text/csv') })],
      ['/__cc/tag.js', 'get', 200, await send(service, { path: '/__cc/tag.js', headers: key })],
      ['/__cc/tag.js', 'get', 404, await send(service, { path: '/__cc/tag.js' })],
      ['/__cc/tag.js', 'get', 405, await send(service, { path: '/__cc/tag.js', method: 'PUT', headers: key })],
      ['/__cc/collect', 'post', 403, await post(service, site, '{"v":1}', { path: '/__cc/collect' })],
      ['/__cc/collect', 'post', 405, await send(service, { path: '/__cc/collect', headers: key })],
      ['/healthz', 'get', 200, await send(service, { path: '/healthz' })],
      ['/healthz', 'get', 405, await send(service, { path: '/healthz', method: 'POST' })],
      ['/readyz', 'get', 200, await send(service, { path: '/readyz' })],
    ];
    // Headers that HTTP itself needs.
    const framing = ['content-type', 'content-length', 'date', 'connection', 'keep-alive', 'transfer-encoding'];
    for (const [path, method, status, reply] of replies) {
      const name = `${method} ${path} ${status}`;
      expect([name, reply.status]).toEqual([name, status]);
      const { headers = {}, content } = described[path][method].responses[status];
      const media = reply.type.split(';')[0] as string;
      const json = media === 'application/json';
      const isValid = content[media] && ajv.compile(content[media].schema);
      expect([name, media, isValid?.(json ? JSON.parse(reply.body) : reply.body), isValid?.errors]).toEqual([
        ...[name, media, true, null],
      ]);
      const names = Object.keys(headers).map((header) => header.toLowerCase());
      const undescribed = Object.keys(reply.headers).filter(
        (header) => !framing.includes(header) && !names.includes(header),
      );
      const required = Object.keys(headers).filter((header) => headers[header].required);
      const missing = required.filter((header) => reply.headers[header.toLowerCase()] === undefined);
      // A malformed body and a request that is not HTTP share a status, and only one of them has headers.
      expect([name, status === 400 ? [] : undescribed, missing]).toEqual([name, [], []]);
    }
  });

  it('serves the HTML page and every asset it loads', async () => {
    const page = await send(service, { path: '/docs' });
    expect(page).toMatchObject({ status: 200, type: expect.stringContaining('text/html') });
    const loaded = [...page.body.matchAll(/(?:src|href)="\.?\/?(?:docs\/)?([^"/]+)"/g)].map(([, name]) => name);
    expect(loaded.length).toBeGreaterThan(2);
    for (const name of loaded)
      expect([name, (await send(service, { path: `/docs/${name}` })).status]).toEqual([name, 200]);
  });
});
