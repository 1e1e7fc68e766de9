import { hash } from 'node:crypto';
import { acceptedIn, bodyOf, itFailsOnDemand, requestToken } from '../../../test/support/platform-doubles.js';
import { FAILURE_KINDS, type Memory, sandboxRequest } from '../double.js';
import { double as microsoftAds } from './microsoft_ads.js';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const HASH = hash('sha256', 'janedoe@example.com');
const HEADERS = { authorization: 'Bearer token', 'content-type': 'application/json' };
const MSCLKID = '00112233445566778899aabbccddeeff';

function post(path: string, headers: Record<string, string>, body: unknown) {
  const request = sandboxRequest('POST', path, { headers, body: JSON.stringify(body), nowMs: NOW_MS });
  const answer = microsoftAds.answer(request);
  return { ...answer, json: bodyOf(answer) };
}

describe('double of microsoft_ads: UET Conversions API', () => {
  const event = {
    eventType: 'custom',
    eventName: 'purchase',
    eventId: 'evt-1001',
    eventTime: 1772360130,
    eventSourceUrl: 'https://shop.example/thanks',
    adStorageConsent: 'G',
    userData: { msclkid: MSCLKID, em: HASH, ph: HASH, anonymousId: 'UETVID', clientIpAddress: '203.0.113.10' },
    customData: {
      value: 129.9,
      currency: 'EUR',
      transactionId: 'ORD-1001',
      pageType: 'purchase',
      ecommTotalValue: 129.9,
      itemIds: ['SKU-1'],
      items: [{ id: 'SKU-1', quantity: 1, price: 129.9 }],
    },
  };
  const path = '/v1/12345678/events';
  const send = (data: unknown, change: object = {}, headers: Record<string, string> = HEADERS) =>
    post(path, headers, { data, dataProvider: 'relay', ...change });

  it('accepts an event with a click id or a hash', () => {
    const { status, json, received } = send([event, { ...event, userData: { em: HASH } }]);
    expect([status, json]).toEqual([200, { eventsReceived: 2 }]);
    expect(received?.[0]).toEqual({
      eventId: 'evt-1001',
      event: 'purchase',
      problems: [],
      accepted: true,
      bodySha256: hash('sha256', JSON.stringify(event)),
      dedupKey: 'purchase evt-1001',
    });
  });

  it.each([
    ['an unknown type', { eventType: 'purchase' }, 'eventType'],
    ['no name', { eventName: undefined }, 'eventName'],
    ['a time in milliseconds', { eventTime: 1772360130000 }, 'eventTime'],
    ['a time eight days ago', { eventTime: 1772360130 - 8 * 86_400 }, 'eventTime'],
    ['a time in the future', { eventTime: 1772370000 + 86_400 }, 'eventTime'],
    ['no page URL', { eventType: 'pageLoad', eventSourceUrl: undefined }, 'eventSourceUrl'],
    ['an invalid consent', { adStorageConsent: 'GRANTED' }, 'adStorageConsent'],
    ['no identifier', { userData: {} }, 'userData'],
    ['a click id with the cookie prefix', { userData: { msclkid: `_uet${MSCLKID}` } }, 'userData.msclkid'],
    ['a plain email', { userData: { em: 'jane.doe@example.com' } }, 'userData.em'],
    ['a plain phone number', { userData: { ph: '+15550104477' } }, 'userData.ph'],
    ['an invalid IP address', { userData: { em: HASH, clientIpAddress: 'here' } }, 'userData.clientIpAddress'],
    ['an amount as a string', { customData: { value: '129.90', currency: 'EUR' } }, 'customData.value'],
    ['an amount without a currency', { customData: { value: 129.9 } }, 'customData.currency'],
    ['an unknown page type', { customData: { pageType: 'checkout' } }, 'customData.pageType'],
    ['numbers as item ids', { customData: { itemIds: [1] } }, 'customData.itemIds'],
    ['an item without an id', { customData: { items: [{}] } }, 'customData.items[0].id'],
    ['half an item', { customData: { items: [{ id: '1', quantity: 0.5 }] } }, 'customData.items[0].quantity'],
    ['an item with a number as name', { customData: { items: [{ id: '1', name: 7 }] } }, 'customData.items[0].name'],
    [
      'an item with a category',
      { customData: { items: [{ id: '1', category: 'x' }] } },
      'customData.items[0].category',
    ],
    ['a price without a currency', { customData: { items: [{ id: '1', price: 1 }] } }, 'customData.items[0].price'],
    ['an empty external id', { userData: { em: HASH, externalId: '' } }, 'userData.externalId'],
    ['a city', { userData: { em: HASH, city: HASH } }, 'userData.city'],
  ])('refuses all for an event with %s, or only that one with continueOnValidationError', (_, change, propertyName) => {
    const data = [event, { ...event, ...change }];
    const refused = send(data);
    expect(refused.status).toBe(400);
    expect(refused.json.error.details).toMatchObject([{ index: 1, propertyName }]);
    expect(refused.received?.map(({ accepted }) => accepted)).toEqual([false, false]);
    const reported = send(data, { continueOnValidationError: true });
    expect(reported.status).toBe(200);
    expect(reported.json).toMatchObject({ eventsReceived: 1, error: { details: [{ index: 1, propertyName }] } });
    expect(reported.received?.map(({ accepted }) => accepted)).toEqual([true, false]);
    expect(JSON.stringify(reported.received)).not.toMatch(/jane\.doe|0104477/);
  });

  it('accepts an event that cannot be attributed, with a warning', () => {
    const { status, json, received } = send([{ ...event, userData: { anonymousId: 'UETVID' } }]);
    expect([status, json.eventsReceived, json.error.details[0].isWarning]).toEqual([200, 1, true]);
    expect(received).toMatchObject([{ accepted: true, problems: [expect.stringContaining('msclkid')] }]);
  });

  it('accepts only 1 to 1000 events, a boolean flag, and JSON', () => {
    expect(send([]).status).toBe(400);
    expect(send(Array(1_001).fill(event)).status).toBe(400);
    expect(send([event], { continueOnValidationError: 'yes' }).status).toBe(400);
    expect(send([event], {}, { ...HEADERS, 'content-type': 'text/plain' }).status).toBe(400);
    expect(send('text').status).toBe(400);
  });

  it.each([
    [{}, 401],
    [{ authorization: 'Bearer bad' }, 401],
    [{ authorization: 'Bearer forbidden' }, 403],
  ])('answers the credentials %j with %i', (given, status) => {
    const headers = { 'content-type': 'application/json', ...given } as Record<string, string>;
    const code = status === 401 ? 'Unauthorized' : 'Forbidden';
    expect(send([event], {}, headers)).toMatchObject({ status, json: { error: { code } } });
  });

  const two = JSON.stringify({ data: [event, event], continueOnValidationError: true });
  itFailsOnDemand(
    microsoftAds,
    sandboxRequest('POST', path, { body: two }),
    { refuse: 200, refuse_one: 200, throttle: 429, server_error: 503, unauthorized: 401, forbidden: 403 },
    (kind, answer) => {
      if (kind === 'refuse') expect(acceptedIn(answer)).toEqual([false, false]);
      if (kind === 'refuse_one') expect(acceptedIn(answer)).toEqual([false, true]);
    },
  );

  it('refuses all events on refuse_one without continueOnValidationError', () => {
    const request = sandboxRequest('POST', path, { body: JSON.stringify({ data: [event, event] }) });
    const answer = microsoftAds.fail('refuse_one', request);
    expect(answer.status).toBe(400);
    expect(bodyOf(answer).error.details).toMatchObject([{ index: 0 }]);
    expect(answer.received?.map(({ accepted }) => accepted)).toEqual([false, false]);
  });
});

describe('double of microsoft_ads: offline conversions', () => {
  const conversion = {
    MicrosoftClickId: MSCLKID,
    ConversionName: 'Purchase',
    ConversionTime: '2026-03-01T10:15:30Z',
    ConversionValue: 129.9,
    ConversionCurrencyCode: 'EUR',
    HashedEmailAddress: HASH,
    HashedPhoneNumber: HASH,
  };
  const path = '/CampaignManagement/v13/OfflineConversions/Apply';
  const headers = { ...HEADERS, developertoken: 'developer', customerid: '1', customeraccountid: '2' };
  const apply = (conversions: unknown[], given: Record<string, string> = headers) =>
    post(path, given, { OfflineConversions: conversions });

  it('accepts conversions with a click id or a hash', () => {
    const { MicrosoftClickId: _, ...byHash } = conversion;
    const { status, json, received } = apply([conversion, byHash]);
    expect([status, json]).toEqual([200, { PartialErrors: [] }]);
    expect(received?.map(({ dedupKey }) => dedupKey)).toEqual([
      `Purchase ${MSCLKID} 2026-03-01T10:15:30Z`,
      `Purchase ${HASH} 2026-03-01T10:15:30Z`,
    ]);
  });

  it.each([
    [
      'no identifier',
      { MicrosoftClickId: undefined, HashedEmailAddress: undefined, HashedPhoneNumber: undefined },
      5603,
    ],
    ['an invalid click id', { MicrosoftClickId: 'MSCLKID' }, 5604],
    ['a plain email', { HashedEmailAddress: 'jane.doe@example.com' }, 5604],
    ['no name', { ConversionName: '' }, 5606],
    ['no time', { ConversionTime: undefined }, 5607],
    ['a time that is not in UTC', { ConversionTime: '2026-03-01T10:15:30+01:00' }, 5608],
    ['a time in the future', { ConversionTime: '2026-03-02T10:15:30Z' }, 5614],
    ['a time 91 days ago', { ConversionTime: '2025-11-29T10:15:30Z' }, 5609],
    ['an amount as a string', { ConversionValue: '129.90' }, 5610],
    ['a currency in lower case', { ConversionCurrencyCode: 'eur' }, 5611],
  ])('refuses a conversion with %s and accepts the others', (_, change, Code) => {
    const { status, json, received } = apply([conversion, { ...conversion, ...change }]);
    expect(status).toBe(200);
    expect(json.PartialErrors).toMatchObject([{ Index: 1, Code }]);
    expect(received?.map(({ accepted }) => accepted)).toEqual([true, false]);
  });

  it('accepts 1 to 1000 conversions', () => {
    expect(apply([]).status).toBe(400);
    expect(apply(Array(1_001).fill(conversion))).toMatchObject({
      status: 400,
      json: { OperationErrors: [{ Code: 5601 }] },
    });
  });

  it('requires all of its headers', () => {
    const without = ({ ...given }: Record<string, string>, name: string) => {
      delete given[name];
      return given;
    };
    const fault = (Code: number) => ({ Errors: [{ Code }], TrackingId: expect.any(String) });
    expect(apply([conversion], without(headers, 'developertoken'))).toMatchObject({ status: 401, json: fault(105) });
    expect(apply([conversion], without(headers, 'authorization'))).toMatchObject({ status: 401, json: fault(105) });
    expect(apply([conversion], { ...headers, developertoken: 'forbidden' })).toMatchObject({
      status: 403,
      json: fault(106),
    });
    expect(apply([conversion], without(headers, 'customerid')).status).toBe(400);
    expect(apply([conversion], without(headers, 'customeraccountid')).status).toBe(400);
  });

  const two = JSON.stringify({ OfflineConversions: [conversion, conversion] });
  itFailsOnDemand(
    microsoftAds,
    sandboxRequest('POST', path, { body: two }),
    { refuse: 200, refuse_one: 200, throttle: 429, server_error: 500, unauthorized: 401, forbidden: 403 },
    (kind, answer) => {
      if (kind === 'throttle') expect(bodyOf(answer).Errors).toMatchObject([{ Code: 117 }]);
      if (kind === 'refuse_one') expect(acceptedIn(answer)).toEqual([false, true]);
    },
  );
});

describe('double of microsoft_ads: token endpoint', () => {
  const form = {
    grant_type: 'refresh_token',
    refresh_token: 'first',
    client_id: 'id',
    client_secret: 'secret',
    scope: 'https://ads.microsoft.com/msads.manage offline_access',
  };
  const path = '/common/oauth2/v2.0/token';
  const token = (fields: Record<string, string>, memory?: Memory) => requestToken(microsoftAds, path, fields, memory);

  it('returns a new refresh token each time and revokes the old one', () => {
    const memory: Memory = new Map();
    const first = token(form, memory);
    expect(first).toMatchObject({ status: 200, json: { access_token: 'sandbox-token-1', expires_in: 3_600 } });
    const second = token({ ...form, refresh_token: first.json.refresh_token }, memory);
    expect(second.status).toBe(200);
    expect(second.json.refresh_token).not.toBe(first.json.refresh_token);
    for (const old of ['first', first.json.refresh_token as string]) {
      expect(token({ ...form, refresh_token: old }, memory)).toMatchObject({
        status: 400,
        json: { error: 'invalid_grant' },
      });
    }
  });

  it('requires the scope, a valid refresh token and a form', () => {
    expect(token({ ...form, scope: 'offline_access' }, new Map()).json.error).toBe('invalid_scope');
    expect(token({ ...form, refresh_token: 'bad' }, new Map()).json.error).toBe('invalid_grant');
    const answer = microsoftAds.answer(sandboxRequest('POST', path, { body: '{}' }));
    expect(answer.status).toBe(400);
  });

  it.each(FAILURE_KINDS)('fails on demand: %s', (kind) => {
    const request = sandboxRequest('POST', path);
    expect(microsoftAds.callKind?.(request)).toBe('token');
    expect(bodyOf(microsoftAds.fail(kind, request))).toHaveProperty('error');
  });
});

it('double of microsoft_ads has nothing at other URLs', () => {
  expect(post('/v1/tag/events', HEADERS, {}).status).toBe(404);
});
