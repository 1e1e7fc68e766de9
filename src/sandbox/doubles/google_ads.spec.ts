import { hash } from 'node:crypto';
import { acceptedIn, bodyOf, itFailsOnDemand, requestToken } from '../../../test/support/platform-doubles.js';
import { type Memory, sandboxRequest } from '../double.js';
import { double as googleAds } from './google_ads.js';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const HASH = hash('sha256', 'jane.doe@example.com');
const HEADERS = { authorization: 'Bearer token', 'content-type': 'application/json' };
const ACCOUNT = { accountType: 'GOOGLE_ADS', accountId: '1234567890' };
const DESTINATION = { operatingAccount: ACCOUNT, productDestinationId: '987654321' };

const byClick = {
  eventTimestamp: '2026-03-01T10:15:30Z',
  transactionId: 'ORD-1001',
  eventSource: 'WEB',
  adIdentifiers: { gclid: 'GCLID' },
  conversionValue: 129.9,
  currency: 'EUR',
};
const byUser = {
  destinationReferences: ['d1'],
  eventTimestamp: '2026-03-01T10:15:30Z',
  transactionId: 'ORD-1002',
  eventSource: 'WEB',
  userData: { userIdentifiers: [{ emailAddress: HASH }, { phoneNumber: HASH }] },
  consent: { adUserData: 'CONSENT_GRANTED', adPersonalization: 'CONSENT_GRANTED' },
  conversionValue: 129.9,
  currency: 'EUR',
  userProperties: { customerType: 'NEW' },
  cartData: { merchantId: '555', items: [{ merchantProductId: 'SKU-1', quantity: '1', unitPrice: 129.9 }] },
};
const full = {
  destinations: [{ reference: 'd1', loginAccount: { ...ACCOUNT, accountId: '1112223333' }, ...DESTINATION }],
  encoding: 'HEX',
  validateOnly: false,
  events: [byUser],
};
const minimal = { destinations: [DESTINATION], events: [byClick] };

function ingest(body: unknown, headers: Record<string, string> = HEADERS, memory: Memory = new Map()) {
  const call = { headers, body: JSON.stringify(body), nowMs: NOW_MS, memory };
  const answer = googleAds.answer(sandboxRequest('POST', '/v1/events:ingest', call));
  return { ...answer, json: JSON.parse(answer.body) };
}

const violations = (json: { error: { details: { fieldViolations?: object[] }[] } }) =>
  json.error.details.flatMap(({ fieldViolations = [] }) => fieldViolations) as { field: string; reason: string }[];

describe('double of google_ads: Data Manager', () => {
  it.each([
    ['a click id', minimal],
    ['user data', full],
    ['an address', { ...full, events: [{ ...byUser, userData: { userIdentifiers: [address()] } }] }],
  ])('accepts a conversion with %s', (_, body) => {
    const { status, json, received } = ingest(body);
    expect(status).toBe(200);
    expect(json).toEqual({ requestId: 'sandbox-1-1-0-987654321' });
    expect(received).toMatchObject([{ event: '987654321', problems: [], accepted: true }]);
  });

  it('records an event once for each destination, and reports their status separately', () => {
    const [destination] = minimal.destinations;
    const memory: Memory = new Map();
    const destinations = [destination, { ...destination, reference: 'second', productDestinationId: '111' }];
    const { json, received } = ingest({ ...minimal, destinations }, HEADERS, memory);
    expect(received?.map(({ event, dedupKey }) => [event, dedupKey])).toEqual([
      ['987654321', '987654321 ORD-1001 129.9'],
      ['111', '111 ORD-1001 129.9'],
    ]);
    googleAds.control?.({ mode: 'status', status: 'FAILED', reason: 'CLICK_NOT_FOUND', action: '111' }, memory);
    const statuses = retrieve(json.requestId, memory).json.requestStatusPerDestination as { requestStatus: string }[];
    expect(statuses.map(({ requestStatus }) => requestStatus)).toEqual(['SUCCESS', 'FAILED']);
  });

  it('deduplicates by transaction id and value, and without an id by click id and time', () => {
    const { transactionId: _, ...anonymous } = byClick;
    const { received } = ingest({ ...minimal, events: [byClick, anonymous] });
    expect(received?.map(({ dedupKey }) => dedupKey)).toEqual([
      '987654321 ORD-1001 129.9',
      '987654321 GCLID 2026-03-01T10:15:30Z 129.9',
    ]);
    expect(received?.[0]?.bodySha256).toBe(hash('sha256', JSON.stringify(byClick)));
  });

  it.each([
    ['no identifier', { adIdentifiers: undefined }, '', 'NO_IDENTIFIERS_PROVIDED'],
    [
      'only a landing page device',
      { adIdentifiers: { landingPageDeviceInfo: { userAgent: 'UA' } } },
      '',
      'NO_IDENTIFIERS_PROVIDED',
    ],
    ['no time', { eventTimestamp: undefined }, '.eventTimestamp', 'EVENT_TIME_INVALID'],
    ['a time as a number', { eventTimestamp: 1772360130 }, '.eventTimestamp', 'EVENT_TIME_INVALID'],
    ['a time without a zone', { eventTimestamp: '2026-03-01T10:15:30' }, '.eventTimestamp', 'EVENT_TIME_INVALID'],
    ['a time far in the future', { eventTimestamp: '2026-04-01T10:15:30Z' }, '.eventTimestamp', 'EVENT_TIME_INVALID'],
    ['an amount as a string', { conversionValue: '129.90' }, '.conversionValue', 'INVALID_ARGUMENT'],
    ['a currency in lower case', { currency: 'eur' }, '.currency', 'INVALID_CURRENCY_CODE'],
    ['a hashed click id', { adIdentifiers: { gclid: HASH } }, '.adIdentifiers.gclid', 'INVALID_GCLID'],
    ['an unknown field', { orderId: 'ORD-1001' }, '.orderId', 'INVALID_ARGUMENT'],
    [
      'the consent format of the upload',
      { consent: { adUserData: 'GRANTED' } },
      '.consent.adUserData',
      'INVALID_ARGUMENT',
    ],
    ['an unknown destination', { destinationReferences: ['d2'] }, '.destinationReferences', 'INVALID_DESTINATION'],
    ['an unknown source', { eventSource: 'CRM' }, '.eventSource', 'INVALID_ARGUMENT'],
    [
      'an invalid IP address',
      { eventDeviceInfo: { ipAddress: 'here' } },
      '.eventDeviceInfo.ipAddress',
      'INVALID_ARGUMENT',
    ],
    [
      'a product without an id',
      { cartData: { items: [{}] } },
      '.cartData.items[0].merchantProductId',
      'INVALID_ARGUMENT',
    ],
    ['a cart without items', { cartData: { items: [] } }, '.cartData.items', 'INVALID_ARGUMENT'],
    ['the product id of the upload', cart({ productId: 'SKU-1' }), '.cartData.items[0].productId', 'INVALID_ARGUMENT'],
    ['a quantity of zero', cart({ quantity: '0' }), '.cartData.items[0].quantity', 'INVALID_ARGUMENT'],
    ['half a product', cart({ quantity: 1.5 }), '.cartData.items[0].quantity', 'INVALID_ARGUMENT'],
    ['a price as a string', cart({ unitPrice: '1.50' }), '.cartData.items[0].unitPrice', 'INVALID_ARGUMENT'],
    [
      'a price without a currency',
      { ...cart({ unitPrice: 1.5 }), currency: undefined },
      '.cartData.items[0].unitPrice',
      'INVALID_CURRENCY_CODE',
    ],
    ['a merchant id with letters', cart({}, { merchantId: 'm1' }), '.cartData.merchantId', 'INVALID_MERCHANT_ID'],
    [
      'a language with a country',
      cart({}, { merchantFeedLanguageCode: 'de-DE' }),
      '.cartData.merchantFeedLanguageCode',
      'INVALID_MERCHANT_FEED_LANGUAGE_CODE',
    ],
  ])('refuses the whole request for an event with %s', (_, change, field, reason) => {
    const { status, json, received } = ingest({ ...minimal, events: [byClick, { ...byClick, ...change }] });
    expect(status).toBe(400);
    expect(json.error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' });
    expect(violations(json)).toMatchObject([{ field: `events[1]${field}`, reason }]);
    expect(received?.map(({ accepted, problems }) => [accepted, problems.length])).toEqual([
      [false, 0],
      [false, 1],
    ]);
  });

  it.each([
    ['a plain email', { emailAddress: 'jane.doe@example.com' }],
    ['an upper-case hash', { emailAddress: HASH.toUpperCase() }],
    ['the hash of an empty string', { phoneNumber: hash('sha256', '') }],
    ['two identifiers in one', { emailAddress: HASH, phoneNumber: HASH }],
    ['an unknown identifier', { externalId: HASH }],
    ['an address without a region', { address: { givenName: HASH, familyName: HASH, postalCode: '1' } }],
    ['an address without a postal code', { address: { givenName: HASH, familyName: HASH, regionCode: 'US' } }],
    ['a hashed postal code', { address: { ...address().address, postalCode: HASH } }],
    ['a country in lower case', { address: { ...address().address, regionCode: 'us' } }],
    ['a plain name', { address: { ...address().address, givenName: 'jane' } }],
    ['an unknown part of an address', { address: { ...address().address, street: 'Main' } }],
  ])('refuses %s as a user identifier', (_, identifier) => {
    const { status, received } = ingest({
      ...full,
      events: [{ ...byUser, userData: { userIdentifiers: [identifier] } }],
    });
    expect(status).toBe(400);
    expect(JSON.stringify(received)).not.toContain('jane.doe');
  });

  it.each([
    ['with user data but without an encoding', { encoding: undefined }, 'encoding'],
    ['without destinations', { destinations: [] }, 'destinations'],
    [
      'with an account that has hyphens',
      destination({ operatingAccount: { ...ACCOUNT, accountId: '123-456-7890' } }),
      'accountId',
    ],
    [
      'with a name instead of a conversion action id',
      destination({ productDestinationId: 'purchase' }),
      'productDestinationId',
    ],
    ['without events', { events: [] }, 'events'],
    ['with too many events', { events: Array(2_001).fill(byUser) }, 'events'],
    ['with an unknown field', { partialFailure: true }, 'partialFailure'],
  ])('refuses a request %s', (_, change, field) => {
    const { status, json } = ingest({ ...full, ...change });
    expect(status).toBe(400);
    expect(violations(json)[0]?.field).toContain(field);
  });

  it.each([
    ['no token', {}, 401, 'UNAUTHENTICATED'],
    ['a bad token', { authorization: 'Bearer bad-token' }, 401, 'UNAUTHENTICATED'],
    ['a token without permission', { authorization: 'Bearer forbidden-token' }, 403, 'PERMISSION_DENIED'],
  ])('refuses %s', (_, headers, status, name) => {
    const answer = ingest(minimal, { 'content-type': 'application/json', ...headers } as Record<string, string>);
    expect(answer).toMatchObject({ status, json: { error: { code: status, status: name } } });
    expect(answer.received).toBeUndefined();
  });

  it('refuses other content types and anything but JSON', () => {
    expect(ingest(minimal, { ...HEADERS, 'content-type': 'text/plain' }).status).toBe(400);
    expect(ingest('text').status).toBe(400);
  });

  it('does not record a validation', () => {
    const { status, received } = ingest({ ...minimal, validateOnly: true });
    expect([status, received]).toEqual([200, undefined]);
  });

  it('accepts a conversion without consent, fails it later, and records the problem', () => {
    const memory: Memory = new Map();
    const denied = { ...byClick, consent: { adUserData: 'CONSENT_DENIED' } };
    const { json, received } = ingest({ ...minimal, events: [denied, byClick] }, HEADERS, memory);
    expect(received?.[0]?.problems).toEqual([expect.stringContaining('denied')]);
    const { requestStatusPerDestination } = retrieve(json.requestId, memory).json;
    expect(requestStatusPerDestination[0]).toEqual({
      destination: { productDestinationId: '987654321' },
      requestStatus: 'PARTIAL_SUCCESS',
      errorInfo: { errorCounts: [{ recordCount: '1', reason: 'PROCESSING_ERROR_REASON_DENIED_CONSENT' }] },
      eventsIngestionStatus: { recordCount: '2' },
    });
  });

  const two = JSON.stringify({ ...minimal, events: [byClick, byClick] });
  itFailsOnDemand(
    googleAds,
    sandboxRequest('POST', '/v1/events:ingest', { headers: HEADERS, body: two, nowMs: NOW_MS }),
    { refuse: 400, refuse_one: 400, throttle: 429, server_error: 503, unauthorized: 401, forbidden: 403 },
    (kind, answer) => {
      const { error } = bodyOf(answer);
      expect(error.code).toBe(answer.status);
      if (kind === 'refuse_one') expect(violations({ error }).map(({ field }) => field)).toEqual(['events[0]']);
      if (kind === 'refuse') expect(violations({ error })).toHaveLength(2);
      expect(acceptedIn(answer) ?? []).not.toContain(true);
    },
  );
});

describe('double of google_ads: request status', () => {
  const memory: Memory = new Map();
  const { requestId } = ingest(minimal, HEADERS, memory).json;
  afterEach(() => googleAds.control?.({ mode: 'ok' }, memory));

  it('is SUCCESS by default', () => {
    expect(retrieve(requestId, memory)).toMatchObject({
      status: 200,
      json: {
        requestStatusPerDestination: [{ requestStatus: 'SUCCESS', eventsIngestionStatus: { recordCount: '1' } }],
      },
    });
  });

  it.each(['', 'sandbox-2-1-0-987654321', 'REQ'])('is not found for the id %j', (unknown) => {
    expect(retrieve(unknown, memory).status).toBe(404);
  });

  it('is the configured one for the given number of requests', () => {
    expect(googleAds.control?.({ mode: 'status', status: 'PROCESSING', times: 2 }, memory)).toBeUndefined();
    const statuses = [1, 2, 3].map(
      () => retrieve(requestId, memory).json.requestStatusPerDestination[0].requestStatus as string,
    );
    expect(statuses).toEqual(['PROCESSING', 'PROCESSING', 'SUCCESS']);
  });

  it('contains the configured reason with its prefix', () => {
    googleAds.control?.({ mode: 'status', status: 'FAILED', reason: 'CLICK_NOT_FOUND' }, memory);
    expect(retrieve(requestId, memory).json.requestStatusPerDestination[0].errorInfo).toEqual({
      errorCounts: [{ recordCount: '1', reason: 'PROCESSING_ERROR_REASON_CLICK_NOT_FOUND' }],
    });
  });

  it.each([
    { mode: 'stats' },
    { mode: 'status' },
    { mode: 'status', status: 'DONE' },
    { mode: 'status', status: 'FAILED', reason: 'not found' },
    { mode: 'status', status: 'FAILED', times: 0 },
  ])('cannot be configured with %j', (request) => {
    expect(googleAds.control?.(request, memory)).toEqual(expect.any(String));
  });
});

describe('double of google_ads: click upload', () => {
  const action = 'customers/1234567890/conversionActions/987654321';
  const click = {
    gclid: 'GCLID',
    conversionAction: action,
    conversionDateTime: '2026-03-01 10:15:30+00:00',
    conversionValue: 129.9,
    currencyCode: 'EUR',
    orderId: 'ORD-1001',
    userIdentifiers: [{ userIdentifierSource: 'FIRST_PARTY', hashedEmail: HASH }, { hashedPhoneNumber: HASH }],
    consent: { adUserData: 'GRANTED' },
  };
  const headers = { ...HEADERS, 'developer-token': 'developer' };
  const path = '/v25/customers/1234567890:uploadClickConversions';

  function upload(conversions: unknown[], change: object = {}, given: Record<string, string> = headers) {
    const body = JSON.stringify({ conversions, partialFailure: true, ...change });
    const answer = googleAds.answer(sandboxRequest('POST', path, { headers: given, body, nowMs: NOW_MS }));
    return { ...answer, json: JSON.parse(answer.body) };
  }

  it('accepts conversions with a click id or user data', () => {
    const { gclid: _, ...byIdentifiers } = click;
    const { status, json, received } = upload([{ ...click, ...uploadCart({ productId: 'SKU-1' }) }, byIdentifiers]);
    expect(status).toBe(200);
    expect(json.partialFailureError).toBeUndefined();
    expect(json.results).toEqual([
      { gclid: 'GCLID', conversionAction: action, conversionDateTime: click.conversionDateTime },
      { conversionAction: action, conversionDateTime: click.conversionDateTime },
    ]);
    expect(received?.map(({ accepted, dedupKey }) => [accepted, dedupKey])).toEqual(
      Array(2).fill([true, '987654321 ORD-1001']),
    );
  });

  it.each([
    [
      'another customer’s action',
      { conversionAction: 'customers/1/conversionActions/2' },
      'NO_CONVERSION_ACTION_FOUND',
    ],
    ['the time format of the Data Manager', { conversionDateTime: '2026-03-01T10:15:30Z' }, 'INVALID_DATE_TIME'],
    ['both braids', { gclid: undefined, gbraid: 'G', wbraid: 'W' }, 'GBRAID_WBRAID_BOTH_SET'],
    ['two click ids', { gbraid: 'G' }, 'VALUE_MUST_BE_UNSET'],
    ['an email in the order id', { orderId: 'jane@example.com' }, 'ORDER_ID_CONTAINS_PII'],
    ['a plain email', { userIdentifiers: [{ hashedEmail: 'jane@example.com' }] }, 'INVALID_USER_IDENTIFIER'],
    ['a name', { userIdentifiers: [{ addressInfo: {} }] }, 'UNSUPPORTED_USER_IDENTIFIER'],
    ['six identifiers', { userIdentifiers: Array(6).fill({ hashedEmail: HASH }) }, 'INVALID_USER_IDENTIFIER'],
    [
      'consent to personalisation',
      { consent: { adUserData: 'GRANTED', adPersonalization: 'GRANTED' } },
      'INVALID_CONSENT',
    ],
    ['no identifier', { gclid: undefined, userIdentifiers: undefined }, 'UNPARSEABLE_GCLID'],
    ['a cart without a merchant', { cartData: { items: [{ productId: 'SKU-1' }] } }, 'INVALID_ARGUMENT'],
    ['a quantity as a string', uploadCart({ productId: 'SKU-1', quantity: '1' }), 'INVALID_ARGUMENT'],
    ['a price as a string', uploadCart({ productId: 'SKU-1', unitPrice: '1' }), 'INVALID_ARGUMENT'],
    ['an item without an id', uploadCart({ quantity: 1 }), 'INVALID_ARGUMENT'],
    ['the item of the Data Manager', uploadCart({ productId: '1', merchantProductId: '1' }), 'INVALID_ARGUMENT'],
  ])('refuses a conversion with %s and accepts the others', (_, change, code) => {
    const { status, json, received } = upload([click, { ...click, ...change }]);
    expect(status).toBe(200);
    expect(json.partialFailureError).toMatchObject({
      code: 3,
      details: [
        {
          '@type': 'type.googleapis.com/google.ads.googleads.v25.errors.GoogleAdsFailure',
          errors: [
            {
              errorCode: { conversionUploadError: code },
              location: { fieldPathElements: [{ fieldName: 'conversions', index: 1 }, expect.anything()] },
            },
          ],
        },
      ],
    });
    expect(json.results[1]).toEqual({});
    expect(received?.map(({ accepted }) => accepted)).toEqual([true, false]);
  });

  it('requires partialFailure, 1 to 2000 conversions and a numeric login-customer-id', () => {
    expect(upload([click], { partialFailure: false }).status).toBe(400);
    expect(upload([]).status).toBe(400);
    expect(upload(Array(2_001).fill(click)).status).toBe(400);
    expect(upload([click], {}, { ...headers, 'login-customer-id': '111-222-3333' }).status).toBe(400);
  });

  it('requires an access token, and no developer token', () => {
    expect(upload([click], {}, HEADERS).status).toBe(200);
    expect(upload([click], {}, { ...headers, authorization: 'Bearer forbidden' }).status).toBe(403);
  });

  it('does not record a validation', () => {
    expect(upload([click], { validateOnly: true })).toMatchObject({ status: 200, json: {} });
    expect(upload([click], { validateOnly: true }).received).toBeUndefined();
  });

  const body = JSON.stringify({ conversions: [click, click], partialFailure: true });
  itFailsOnDemand(
    googleAds,
    sandboxRequest('POST', path, { headers, body }),
    { refuse: 200, refuse_one: 200, throttle: 429, server_error: 503, unauthorized: 401, forbidden: 403 },
    (kind, answer) => {
      if (kind === 'refuse_one') expect(acceptedIn(answer)).toEqual([false, true]);
      if (kind === 'refuse') expect(bodyOf(answer).results).toEqual([{}, {}]);
    },
  );
});

describe('double of google_ads: token endpoint', () => {
  const form = { grant_type: 'refresh_token', refresh_token: 'refresh', client_id: 'id', client_secret: 'secret' };
  const token = (fields: Record<string, string>, memory?: Memory) => requestToken(googleAds, '/token', fields, memory);

  it('returns a new access token each time, and no new refresh token', () => {
    const memory: Memory = new Map();
    expect(token(form, memory)).toEqual({
      status: 200,
      json: { token_type: 'Bearer', access_token: 'sandbox-token-1', expires_in: 3_600 },
    });
    expect(token(form, memory).json.access_token).toBe('sandbox-token-2');
  });

  it.each([
    ['a revoked refresh token', { refresh_token: 'bad-refresh' }, 400, 'invalid_grant'],
    ['a wrong secret', { client_secret: 'bad-secret' }, 401, 'invalid_client'],
    ['another grant', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['a missing field', { client_id: '' }, 400, 'invalid_request'],
  ])('refuses %s', (_, change, status, error) => {
    expect(token({ ...form, ...change })).toMatchObject({ status, json: { error } });
  });

  it('is distinguished from other requests', () => {
    const kindOf = (path: string) => googleAds.callKind?.(sandboxRequest('POST', path));
    expect(['/token', '/v1/requestStatus:retrieve', '/v1/events:ingest'].map(kindOf)).toEqual([
      'token',
      'status',
      'events',
    ]);
  });
});

it('double of google_ads has nothing at other URLs', () => {
  const call = { headers: HEADERS };
  expect(googleAds.answer(sandboxRequest('GET', '/v1/events:ingest', call)).status).toBe(404);
  expect(
    googleAds.answer(sandboxRequest('POST', '/v25/customers/123-456-7890:uploadClickConversions', call)).status,
  ).toBe(404);
});

function address() {
  return { address: { givenName: HASH, familyName: HASH, regionCode: 'US', postalCode: '94107' } };
}

function cart(item: object, change: object = {}) {
  return { cartData: { items: [{ merchantProductId: 'SKU-1', ...item }], ...change } };
}

function uploadCart(item: object) {
  return { cartData: { merchantId: '555', feedCountryCode: 'DE', feedLanguageCode: 'de', items: [item] } };
}

function destination(change: object) {
  return { destinations: [{ ...full.destinations[0], ...change }] };
}

function retrieve(requestId: string, memory: Memory) {
  const path = `/v1/requestStatus:retrieve?requestId=${requestId}`;
  const answer = googleAds.answer(sandboxRequest('GET', path, { headers: HEADERS, memory }));
  return { status: answer.status, json: JSON.parse(answer.body) };
}
