import { describeDoubleContract } from '../../../test/support/platform-double-contract.js';
import { acceptedIn, bodyOf, HASH, NOW_MS, poster, problemsIn } from '../../../test/support/platform-doubles.js';
import type { SandboxAnswer } from '../double.js';
import { double as x } from './x.js';

const URL = '/12/measurement/conversions/o8z6j';
const REQUEST = { params: { account_id: expect.any(String) } };

const CONVERSION = {
  conversion_time: '2026-03-01T10:15:30.000Z',
  event_id: 'tw-o8z6j-o87ne',
  conversion_id: 'evt-1001',
  value: '129.90',
  number_items: 1,
  identifiers: [
    { twclid: 'TWCLID' },
    { hashed_email: HASH },
    { hashed_phone_number: HASH },
    { ip_address: '203.0.113.10', user_agent: 'UA' },
  ],
  contents: [{ content_id: 'SKU-1', content_price: 129.9, num_items: 1 }],
};

const post = poster(URL, { 'x-pixel-token': 'token' });
const envelope = (conversions: readonly unknown[]) => ({ conversions });
const send = (...conversions: unknown[]) => x.answer(post(envelope(conversions)));

const errors = (...fields: object[]) => ({
  errors: fields.map((field) => expect.objectContaining({ message: expect.any(String), ...field })),
  request: REQUEST,
});
/** An error that concerns no parameter. */
const refusal = (code: string) => ({ errors: [{ code, message: expect.any(String) }], request: REQUEST });
const INVALID = errors({ code: 'INVALID_PARAMETER' });

function expectInvalid(answer: SandboxAnswer, parameter: string, details: string) {
  const code = details === 'is missing' ? 'MISSING_PARAMETER' : 'INVALID_PARAMETER';
  expect(answer.status).toBe(400);
  expect(bodyOf(answer).errors[0]).toEqual({ code, parameter, message: `${parameter} ${details}`, details });
  expect(bodyOf(answer).request).toEqual(REQUEST);
  expect(acceptedIn(answer)).toEqual([false]);
  expect(problemsIn(answer)?.[0]).toContain(`${parameter} ${details}`);
}

describeDoubleContract(x, {
  post,
  envelope,
  event: CONVERSION,
  withId: (conversion_id) => ({ ...CONVERSION, conversion_id }),
  changed: { ...CONVERSION, value: '1' },
  recorded: { event: 'tw-o8z6j-o87ne', dedupKey: 'tw-o8z6j-o87ne evt-1001' },
  accepted: (count) => ({ request: REQUEST, data: { conversions_processed: count, debug_id: expect.any(String) } }),
  variants: [
    ['only a click id', { ...CONVERSION, identifiers: [{ twclid: 'TWCLID' }] }],
    ['only an email', { ...CONVERSION, identifiers: [{ hashed_email: HASH }] }],
    ['an IP address with an email', { ...CONVERSION, identifiers: [{ hashed_email: HASH, ip_address: '::1' }] }],
    ['only IP address and user agent', { ...CONVERSION, identifiers: [{ ip_address: '::1', user_agent: 'UA' }] }],
    ['a short event id', { ...CONVERSION, event_id: 'o87ne' }],
    ['no amount', { ...CONVERSION, value: undefined, number_items: undefined, contents: undefined }],
    ['an old conversion', { ...CONVERSION, conversion_time: '2024-03-01T10:15:30Z' }],
  ],
  deduplication: { keys: [[{ ...CONVERSION, event_id: 'o87nf' }, 'o87nf evt-1001']], windowMs: undefined },
  expectInvalid,
  invalidFields: [
    ['conversion_time', undefined, 'conversion_time', 'is missing'],
    ['conversion_time', 1772360130, 'conversion_time', 'is not an ISO 8601 time with a time zone'],
    ['conversion_time', '2026-02-31T99:15:30Z', 'conversion_time', 'is not a valid time'],
    ['conversion_time', '2026-03-01T11:15:30+01:00', 'conversion_time', 'is not in UTC'],
    ['event_id', undefined, 'event_id', 'is missing'],
    ['event_id', 7, 'event_id', 'is not a string'],
    ['event_id', 'Purchase', 'event_id', 'is not an event id'],
    ['conversion_id', 1001, 'conversion_id', 'is not a string'],
    ['value', 129.9, 'value', 'is not a string'],
    ['value', '129,90', 'value', 'is not a decimal number'],
    ['price_currency', 'Euro', 'price_currency', 'is not a currency code of three upper-case letters'],
    ['number_items', '1', 'number_items', 'is not a whole number'],
    ['description', 7, 'description', 'is not a string'],
    ['identifiers', undefined, 'identifiers', 'is missing'],
    ['identifiers', {}, 'identifiers', 'is not a list'],
    ['identifiers', [], 'identifiers', 'is empty'],
    ['identifiers', ['x'], 'identifiers.0', 'is not an object'],
    ['identifiers', [{}], 'identifiers.0', 'is empty'],
    ['identifiers', [{ ip_address: '::1' }], 'identifiers.0.ip_address', 'requires another identifier'],
    ['identifiers', [{ user_agent: 'UA' }], 'identifiers.0.user_agent', 'requires another identifier'],
    [
      'identifiers',
      [{ ip_address: '::1' }, { user_agent: 'UA' }],
      'identifiers.0.ip_address',
      'requires another identifier',
    ],
    ['identifiers', [{ email: HASH }], 'identifiers.0.email', 'is not a known identifier'],
    ['identifiers', [{ twclid: HASH }], 'identifiers.0.twclid', 'must not be hashed'],
    ['identifiers', [{ twclid: 'T', ip_address: HASH }], 'identifiers.0.ip_address', 'is not an IP address'],
    ['contents', {}, 'contents', 'is not a list'],
    ['contents', ['x'], 'contents.0', 'is not an object'],
    ['contents', [{ content_id: 1 }], 'contents.0.content_id', 'is not a string'],
    ['contents', [{ num_items: '1' }], 'contents.0.num_items', 'is not a whole number'],
    ['contents', [{ num_items: 0 }], 'contents.0.num_items', 'is zero'],
    ['contents', [{ content_name: 7 }], 'contents.0.content_name', 'is not a string'],
    ['contents', [{ id: 'SKU-1' }], 'contents.0.id', 'is not a known property'],
    ['number_items', 0, 'number_items', 'is zero'],
    ['contents', [{ content_price: '1' }], 'contents.0.content_price', 'is not a number'],
  ],
  refusedBatch: {
    invalid: { ...CONVERSION, conversion_id: 'evt-1002', event_id: undefined },
    problem: 'event_id is missing',
    itemName: 'conversion',
    answer: [400, errors({ parameter: 'event_id' }, { parameter: 'conversion' })],
  },
  idField: 'conversion_id',
  invalidRequests: [
    ['invalid JSON', post('{'), 400, INVALID],
    ['a list', post('[]'), 400, INVALID],
    ['an empty object', post({}), 400, errors({ code: 'MISSING_PARAMETER' })],
    ['an object instead of a list', post({ conversions: {} }), 400, INVALID],
    ['an empty list', post(envelope([])), 400, INVALID],
    ['another content type', post(envelope([CONVERSION]), { headers: { 'content-type': 'text/plain' } }), 400],
  ],
  batchMax: [500, 400, INVALID],
  unknownUrls: [
    ['/measurement/conversions/o8z6j', '/12/measurement/conversions', `${URL}/`, '/'],
    404,
    errors({ code: 'ROUTE_NOT_FOUND' }),
  ],
  getAnswer: [405],
  credentials: [
    [{ headers: { 'x-pixel-token': undefined } }, 401, refusal('UNAUTHORIZED_ACCESS')],
    [{ headers: { 'x-pixel-token': '' } }, 401, refusal('UNAUTHORIZED_ACCESS')],
    [{ headers: { 'x-pixel-token': undefined, authorization: 'Bearer token' } }, 401, refusal('UNAUTHORIZED_ACCESS')],
    [{ headers: { 'x-pixel-token': 'a-bad-one' } }, 401, refusal('UNAUTHORIZED_ACCESS')],
    [{ headers: { 'x-pixel-token': 'forbidden' } }, 403, refusal('UNAUTHORIZED_CLIENT_APPLICATION')],
  ],
  failures: {
    refuse: [400, INVALID],
    refuse_one: [400, INVALID],
    throttle: [429, errors({ code: 'TOO_MANY_REQUESTS' })],
    server_error: [500, errors({ code: 'INTERNAL_ERROR' })],
    unauthorized: [401, errors({ code: 'UNAUTHORIZED_ACCESS' })],
    forbidden: [403, errors({ code: 'UNAUTHORIZED_CLIENT_APPLICATION' })],
  },
  refusesAll: ['refuse', 'refuse_one'],
});

describe('double of x', () => {
  it('accepts an OAuth 1.0a token', () => {
    const authorization = 'OAuth oauth_consumer_key="k", oauth_token="token", oauth_signature="s"';
    const headers = { 'x-pixel-token': undefined, authorization };
    expect(x.answer(post(envelope([CONVERSION]), { headers })).status).toBe(200);
  });

  it.each([
    ['hashed_email', 'jane.doe@example.com'],
    ['hashed_email', HASH.toUpperCase()],
    ['hashed_phone_number', '+15550104477'],
  ])('refuses %s = %j and does not echo the value', (name, value) => {
    const answer = send({ ...CONVERSION, identifiers: [{ [name]: value }] });
    expect(answer.status).toBe(400);
    expect(bodyOf(answer)).toMatchObject({ errors: [{ parameter: `identifiers.0.${name}` }] });
    expect(answer.body).not.toContain(value);
  });

  it('reports the end of the rate limit window', () => {
    const { headers } = x.fail('throttle', post(envelope([CONVERSION])));
    const reset = String(NOW_MS / 1_000 + 1);
    expect(headers).toMatchObject({ 'x-rate-limit-reset': reset, 'x-account-rate-limit-reset': reset });
  });
});
