import { createHmac } from 'node:crypto';
import { answer } from '../../../test/support/platform-answers.js';
import { ANONYMOUS, SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Call, Platform } from '../platform.js';
import { DEFINITION, definedPlatform } from './compile.js';
import { parseDefinition } from './parse-definition.js';

const BASE = {
  name: 'crm',
  settings: {
    account: { required: true, help: 'Account.' },
    key: { required: true, secret: true, help: 'Key.' },
    region: { default: 'eu', help: 'Region.' },
  },
  url: 'https://{region}.crm.example/v1/{account}/events?v=1',
  body: { id: '/event_id', value: '/value' },
};
const SETTINGS = { account: 'a/b?c' };
const SECRETS = { key: 's3cret-key' };
const PURCHASE = SAMPLE_CONVERSIONS['with-click-id'];
const DETAILED = SAMPLE_CONVERSIONS['with-details'];

const platformWith = (changes: object): Platform =>
  parseDefinition(JSON.stringify({ ...BASE, ...changes }), 'crm.json');
const settingsOf = ({ definition = '' }: Platform, more: object = {}) => ({
  ...SETTINGS,
  [DEFINITION]: definition,
  ...more,
});
const itemOf = (platform: Platform, conversion: Conversion = PURCHASE, settings = {}) => {
  const payload = platform.payload(conversion, settingsOf(platform, settings));
  return 'skip' in payload ? payload : payload.item;
};
const requestOf = (platform: Platform, items: readonly string[] = ['{"a":1}'], call: Partial<Call> = {}) =>
  platform.request(items, {
    connection: { settings: settingsOf(platform), secrets: SECRETS },
    nowMs: 1_772_360_131_999,
    ...call,
  });

describe('the body', () => {
  it('has the values of the conversion, without what is absent', () => {
    const body = {
      type: "'sale'",
      event: '/event',
      uuid: '/event_uuid',
      user: { email: '/hashes/email', phone: '/hashes/phone', plan: '/custom/plan' },
      nothing: { a: '/custom/a', list: ['/custom/b'] },
      ids: ['/order_id', '/custom/none'],
      at: '/time/seconds | text',
      eu: true,
      version: 2,
      who: '/settings/account',
      region: '/settings/region',
    };
    expect(itemOf(platformWith({ body, events: { purchase: 'Sale' } }))).toEqual({
      type: 'sale',
      event: 'Sale',
      uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      user: { email: PURCHASE.hashes.subject },
      ids: ['ORD-1001'],
      at: String(PURCHASE.timeMs / 1_000),
      eu: true,
      version: 2,
      who: 'a/b?c',
      region: 'eu',
    });
  });

  it('leaves out an object without content, unless it is to be kept', () => {
    const body = { user: { $keep: true, name: '/custom/a' }, device: { name: '/custom/a' }, at: '/time/microseconds' };
    expect(itemOf(platformWith({ body }))).toEqual({ user: {}, at: PURCHASE.timeMs * 1_000 });
  });

  it('has lists with an element for each, and fields of the connection that replace none of its own', () => {
    const body = {
      $merge: '/fields',
      id: '/event_id',
      lines: { $each: '/items', $of: { sku: '/id', price: '/price' } },
    };
    const settings = { 'field.plan': 'event', 'field.id': '"other"' };
    expect(itemOf(platformWith({ body }), DETAILED, settings)).toEqual({
      plan: 'purchase',
      id: DETAILED.eventId,
      lines: [{ sku: 'SKU-1', price: 49.95 }, { sku: 'SKU-2', price: 30 }, { sku: 'SKU-3' }],
    });
  });

  it('is what the earlier version of the definition says, for a connection that had it', () => {
    const [first, second] = [
      platformWith({}),
      platformWith({ body: { other: '/event_id' }, url: 'https://new.example/' }),
    ];
    expect(second.payload(PURCHASE, settingsOf(first))).toEqual(first.payload(PURCHASE, settingsOf(first)));
    const call = { connection: { settings: settingsOf(first), secrets: SECRETS } };
    expect(requestOf(second, ['{}'], call)).toEqual(requestOf(first, ['{}'], call));
  });
});

describe('a conversion', () => {
  it.each<[string, object, object, object]>([
    ['has no event that is mapped', { other_events: 'skip' }, PURCHASE, { skip: 'event_not_mapped' }],
    ['has no value', { value_required: true }, { ...PURCHASE, value: undefined }, { skip: 'value_required' }],
    ['has no identifier', { identifiers: ['phone'] }, PURCHASE, { skip: 'no_identifier' }],
    ['has none of its click ids', { identifiers: ['/clicks/qclid', 'phone'] }, PURCHASE, { skip: 'no_identifier' }],
    ['is of a person who opted out', {}, { ...PURCHASE, consent: 'denied' }, { skip: 'consent_denied' }],
    ['may have nothing personal', {}, ANONYMOUS, { skip: 'consent_denied' }],
  ])('is skipped that %s', (_, changes, conversion, skip) => {
    expect(itemOf(platformWith(changes), conversion as Conversion)).toEqual(skip);
  });

  it('has nothing personal after an opt-out where the definition takes it so', () => {
    const body = {
      id: '/event_id',
      email: '/hashes/email',
      ip: '/visit/ip',
      click: '/clicks/gclid',
      who: '/external_id',
    };
    const platform = platformWith({ consent: 'anonymous', identifiers: ['email'], body });
    expect(platform.takesAnonymous?.(settingsOf(platform))).toBe(true);
    for (const conversion of [ANONYMOUS, { ...PURCHASE, consent: 'denied' as const }])
      expect(itemOf(platform, conversion)).toEqual({ id: conversion.eventId });
  });

  it('is sent that has the click id of the destination', () => {
    const platform = platformWith({ identifiers: ['/clicks/gclid'] });
    expect(itemOf(platform)).toMatchObject({ id: PURCHASE.eventId });
    expect(platform.sufficient).toEqual([]);
  });

  it('is marked after an opt-out where the destination has a field for it', () => {
    const body = { email: '/hashes/email', consent: '/consent' };
    expect(itemOf(platformWith({ consent: 'marked', body }), { ...PURCHASE, consent: 'denied' })).toEqual({
      email: PURCHASE.hashes.subject,
      consent: 'denied',
    });
  });
});

describe('the request', () => {
  it('is limited in its rate', () => {
    const rateLimit = { requests: 10, perMs: 60_000 };
    expect(platformWith({ rate_limit: { requests: 10, per: '1m' } })).toMatchObject({ rateLimit });
    expect(platformWith({})).not.toHaveProperty('rateLimit');
  });

  it('goes to the address with the settings, which change neither host nor path', () => {
    const { url, headers, method } = requestOf(platformWith({}));
    expect(url).toBe('https://eu.crm.example/v1/a%2Fb%3Fc/events?v=1');
    expect(headers).toEqual({ 'content-type': 'application/json' });
    expect(method).toBe('POST');
    const platform = platformWith({});
    for (const region of ['evil.example/', 'a@evil.example', 'eu:8080', 'x#'])
      expect(platform.check?.({ settings: settingsOf(platform, { region }), secrets: SECRETS })).toContain(
        'region must be',
      );
  });

  it.each<[object, object]>([
    [{ type: 'bearer', secret: 'key' }, { authorization: 'Bearer s3cret-key' }],
    [{ type: 'basic', user: 'account', password: 'key' }, { authorization: `Basic ${btoa('a/b?c:s3cret-key')}` }],
    [{ type: 'basic', user: 'key' }, { authorization: `Basic ${btoa('s3cret-key:')}` }],
    [{ type: 'header', header: 'Authorization', secret: 'key', prefix: 'Key ' }, { authorization: 'Key s3cret-key' }],
    [{ type: 'header', header: 'X-Key', secret: 'key', prefix: 'Key ' }, { 'x-key': 'Key s3cret-key' }],
    [
      { type: 'hmac', header: 'X-Sig', secret: 'key', hash: 'sha256', encoding: 'hex', prefix: 'sha256=' },
      { 'x-sig': `sha256=${createHmac('sha256', 's3cret-key').update('{"a":1}').digest('hex')}` },
    ],
    [
      { type: 'hmac', header: 'X-Sig', secret: 'key', hash: 'sha512', encoding: 'base64', timestamp_header: 'X-Time' },
      {
        'x-sig': createHmac('sha512', 's3cret-key').update('1772360131.{"a":1}').digest('base64'),
        'x-time': '1772360131',
      },
    ],
  ])('authenticates by %j', (authentication, headers) => {
    expect(requestOf(platformWith({ authentication })).headers).toEqual({
      'content-type': 'application/json',
      ...headers,
    });
  });

  it('authenticates in the query, and by an access token', () => {
    const query = platformWith({ authentication: { type: 'query', parameter: 'api_key', secret: 'key' } });
    expect(requestOf(query).url).toBe('https://eu.crm.example/v1/a%2Fb%3Fc/events?v=1&api_key=s3cret-key');
    const oauth = platformWith({
      authentication: {
        type: 'oauth_client_credentials',
        token_url: 'https://login.crm.example/token',
        client_id: 'account',
        client_secret: 'key',
        scope: 'events',
      },
    });
    expect(requestOf(oauth, ['{}'], { accessToken: 't0ken' }).headers).toMatchObject({ authorization: 'Bearer t0ken' });
    expect(oauth.token?.({ settings: settingsOf(oauth), secrets: SECRETS })).toEqual({
      url: 'https://login.crm.example/token',
      form: { grant_type: 'client_credentials', client_id: 'a/b?c', client_secret: 's3cret-key', scope: 'events' },
    });
  });

  it('contains a batch byte for byte', () => {
    const items = ['{"a":1}', '{"b":2.50,"c":"$& é"}'];
    expect(requestOf(platformWith({ batch: { max: 5 } }), items).body).toBe(`[${items.join()}]`);
    const body = { key: '/settings/account', data: { events: '/batch' } };
    expect(requestOf(platformWith({ batch: { max: 5, body } }), items).body).toBe(
      `{"key":"a/b?c","data":{"events":[${items.join()}]}}`,
    );
  });
});

describe('an answer', () => {
  const definition = {
    batch: { max: 5 },
    success: { when: '/ok = true' },
    reason: '/error/text',
    request_id: '/id',
    refused: { list: '/bad', index: '/at', reason: '/why' },
    errors: [
      { status: [409], means: 'reject' },
      { when: '/error/code = quota', means: 'throttle', retry_after: '/error/wait' },
      { status: ['460-469'], means: 'park' },
      { status: [418], when: '/error/code = later', means: 'retry' },
    ],
  };
  const platform = platformWith(definition);

  it.each<[number, unknown, number, unknown]>([
    [200, { ok: true, id: 'r-1' }, 2, { kind: 'delivered', requestId: 'r-1' }],
    [200, { ok: false, error: { text: 'no' } }, 1, { kind: 'rejected', reason: 'no' }],
    [200, { ok: false, error: { text: 'no' } }, 2, { kind: 'split', reason: 'no' }],
    [200, '<html>', 1, { kind: 'retry', reason: 'server_error' }],
    [200, {}, 2, { kind: 'retry', reason: 'server_error' }],
    [207, { ok: true, bad: [{ at: 1, why: 'old' }] }, 2, [{ kind: 'delivered' }, { kind: 'rejected', reason: 'old' }]],
    [200, { ok: true, bad: [{ at: 7 }] }, 2, { kind: 'delivered' }],
    [409, {}, 1, { kind: 'rejected', reason: 'HTTP 409' }],
    [200, { error: { code: 'quota', wait: 90 } }, 1, { kind: 'retry', reason: 'throttled', afterMs: 90_000 }],
    [200, { error: { code: 'quota', wait: 1e9 } }, 1, { kind: 'retry', reason: 'throttled', afterMs: 86_400_000 }],
    [465, { error: { text: 'pay' } }, 1, { kind: 'misconfigured', reason: 'pay' }],
    [418, { error: { code: 'later' } }, 1, { kind: 'retry', reason: 'server_error' }],
    [418, {}, 1, { kind: 'rejected', reason: 'HTTP 418' }],
    [401, {}, 1, { kind: 'unauthorized' }],
    [400, { error: { text: 'mail jane@example.com' } }, 1, { kind: 'rejected', reason: 'mail …' }],
    [429, {}, 1, { kind: 'retry', reason: 'throttled' }],
    [503, {}, 1, { kind: 'retry', reason: 'server_error' }],
    [302, '', 1, { kind: 'rejected', reason: 'HTTP 302' }],
  ])('%i %j to %i conversions', (status, body, items, verdict) => {
    expect(platform.verdict(answer(status, body), items)).toMatchObject(verdict as object);
  });
});

it('is not a platform where this version cannot read it', () => {
  for (const text of ['', 'null', '{}', '{"name":"x"}', '{"name":"x","body":{"a":"/nothing"}}'])
    expect(definedPlatform(text)).toBeUndefined();
});
