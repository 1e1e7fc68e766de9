import { describeDoubleContract } from '../../../test/support/platform-double-contract.js';
import { bodyOf, HASH, NOW_MS, poster, problemsIn } from '../../../test/support/platform-doubles.js';
import type { SandboxAnswer } from '../double.js';
import { double as tiktok } from './tiktok.js';

const TIME = NOW_MS / 1_000 - 30;
const DAY = 86_400;

const USER = { ttclid: 'E.C.P.x', ttp: 'TTP', email: HASH, phone: [HASH], ip: '203.0.113.10', user_agent: 'UA' };
const PROPERTIES = {
  value: 129.9,
  currency: 'EUR',
  content_type: 'product',
  order_id: 'ORD-1001',
  contents: [{ content_id: 'SKU-1', quantity: 1, price: 129.9 }],
};
const EVENT = {
  event: 'CompletePayment',
  event_time: TIME,
  event_id: 'evt-1001',
  user: USER,
  properties: PROPERTIES,
  page: { url: 'https://shop.example/thanks' },
};
const ENVELOPE = { event_source: 'web', event_source_id: 'PIXELCODE' };

const post = poster('/open_api/v1.3/event/track/', { 'access-token': 'token' });
const withUser = (user: object) => ({ ...EVENT, user: { ...USER, ...user } });
const withProperties = (properties: object) => ({ ...EVENT, properties: { ...PROPERTIES, ...properties } });

const result = (code: number, message: unknown) => ({ code, message, request_id: expect.any(String), data: {} });
const refused = (message: string) => [200, result(40002, message)] as const;

/** The whole request is refused with HTTP 200. */
function expectInvalid(answer: SandboxAnswer, message: unknown) {
  expect(answer.status).toBe(200);
  expect(bodyOf(answer)).toEqual(result(40002, message));
  expect(answer.received?.every((item) => !item.accepted)).toBe(true);
}

describeDoubleContract(tiktok, {
  post,
  envelope: (data) => ({ ...ENVELOPE, data }),
  event: EVENT,
  withId: (event_id) => ({ ...EVENT, event_id }),
  changed: withProperties({ value: 1 }),
  recorded: { event: 'CompletePayment', dedupKey: 'CompletePayment evt-1001' },
  accepted: () => result(0, 'OK'),
  variants: [
    ['only a click id', { ...EVENT, user: { ttclid: 'E.C.P.x' } }],
    ['only an email', { ...EVENT, user: { email: HASH } }],
    ['only IP address and user agent', { ...EVENT, user: { ip: '2001:db8::1', user_agent: 'UA' } }],
    ['hashed names and a plain city', withUser({ first_name: HASH, zip_code: HASH, city: 'berlin', country: 'de' })],
    ['no properties', { ...EVENT, properties: undefined, page: undefined }],
  ],
  deduplication: { keys: [[{ ...EVENT, event: 'Lead' }, 'Lead evt-1001']], windowMs: 48 * 3_600_000 },
  expectInvalid,
  invalidFields: [
    ['event', undefined, 'Batch.0.event: Missing data for required field'],
    ['event', 7, 'Batch.0.event: Not a valid string'],
    ['event_time', undefined, 'Batch.0.event_time: Missing data for required field'],
    ['event_time', String(TIME), 'Batch.0.event_time: is not a Unix time in seconds'],
    ['event_time', TIME * 1_000, 'Batch.0.event_time: is not a Unix time in seconds'],
    ['event_time', TIME - 7 * DAY, 'Batch.0.event_time: is older than 168 hours'],
    ['event_id', 1001, 'Batch.0.event_id: Not a valid string'],
    ['user', undefined, 'Batch.0.user: has no sufficient identifier'],
    ['user', 'x', 'Batch.0.user: is not an object'],
    ['properties', [], 'Batch.0.properties: is not an object'],
    ['page', 'https://shop.example', 'Batch.0.page: is not an object'],
    ['page', { referrer: 7 }, 'Batch.0.page.referrer: Not a valid string'],
    ['page', { url: 'shop.example' }, 'Batch.0.page.url: is not an http or https URL'],
    ['limited_data_use', 'yes', 'Batch.0.limited_data_use: is not a boolean'],
    ['timestamp', '2026-03-01T10:15:30Z', 'Batch.0.timestamp: is a field of an obsolete API version'],
    ['context', {}, 'Batch.0.context: is a field of an obsolete API version'],
  ],
  invalidNestedFields: [
    [
      'user.',
      withUser,
      [
        ['email', 'jane.doe@example.com', expect.stringMatching(/^Batch\.0\.user\.email: is not a SHA-256/)],
        ['email', HASH.toUpperCase(), expect.stringMatching(/^Batch\.0\.user\.email: is not a SHA-256/)],
        ['email', [], 'Batch.0.user.email: is empty'],
        ['phone', [HASH, '+15550104477'], expect.stringMatching(/^Batch\.0\.user\.phone: is not a SHA-256/)],
        ['external_id', 'user-42', expect.stringMatching(/^Batch\.0\.user\.external_id: is not a SHA-256/)],
        ['first_name', 'jane', expect.stringMatching(/^Batch\.0\.user\.first_name: is not a SHA-256/)],
        ['zip_code', '10115', expect.stringMatching(/^Batch\.0\.user\.zip_code: is not a SHA-256/)],
        ['ttclid', HASH, 'Batch.0.user.ttclid: must not be hashed'],
        ['ttclid', '', 'Batch.0.user.ttclid: is empty'],
        ['city', HASH, 'Batch.0.user.city: must not be hashed'],
        ['city', 'Berlin', 'Batch.0.user.city: is not in lower case'],
        ['city', 'los angeles', 'Batch.0.user.city: has more than letters and digits'],
        ['state', 'rhône', 'Batch.0.user.state: has more than letters and digits'],
        ['country', 'DE', 'Batch.0.user.country: is not in lower case'],
        ['country', 'deu', 'Batch.0.user.country: is not a country code'],
        ['ip', HASH, 'Batch.0.user.ip: is not an IP address'],
        ['phone_number', HASH, 'Batch.0.user.phone_number: is a field of an obsolete API version'],
      ],
    ],
    [
      'properties.',
      withProperties,
      [
        ['value', '129.90', 'Batch.0.properties.value: Not a valid number'],
        ['currency', 'XAF', 'Batch.0.properties.currency: is not a currency that TikTok accepts'],
        ['currency', 'eur', 'Batch.0.properties.currency: is not a currency that TikTok accepts'],
        ['content_type', 'thing', 'Batch.0.properties.content_type: is not one of product, product_group'],
        ['order_id', 1001, 'Batch.0.properties.order_id: Not a valid string'],
        ['contents', {}, 'Batch.0.properties.contents: is not a list'],
        ['contents', [{ content_id: 1 }], 'Batch.0.properties.contents.0.content_id: Not a valid string'],
        [
          'contents',
          [{ content_id: 'a', quantity: '1' }],
          'Batch.0.properties.contents.0.quantity: is not a whole number',
        ],
        ['contents', [{ content_id: 'a', quantity: 0 }], 'Batch.0.properties.contents.0.quantity: is 0'],
        [
          'contents',
          [{ content_id: 'a', content_name: 7 }],
          'Batch.0.properties.contents.0.content_name: Not a valid string',
        ],
        [
          'contents',
          [{ content_id: 'a', content_category: 7 }],
          'Batch.0.properties.contents.0.content_category: Not a valid string',
        ],
        ['contents', [{}], 'Batch.0.properties.contents.0.content_id: Missing data for required field'],
        [
          'contents',
          [{ content_id: 'a' }, { content_id: 'b', price: '1' }],
          'Batch.0.properties.contents.1.price: Not a valid number',
        ],
      ],
    ],
  ],
  insufficientUsers: {
    users: [{}, { ip: '203.0.113.10' }, { user_agent: 'UA' }, { country: 'de', city: 'berlin' }],
    event: (user) => ({ ...EVENT, user }),
    expected: ['Batch.0.user: has no sufficient identifier'],
  },
  refusedBatch: {
    invalid: { ...EVENT, event_id: 'evt-1002', event: undefined },
    problem: 'event is missing',
    itemName: 'event',
    answer: refused('Batch.1.event: Missing data for required field'),
  },
  idField: 'event_id',
  personal: withUser({ email: 'jane.doe@example.com', ip: 'jane' }),
  invalidRequests: [
    ['invalid JSON', post('{'), ...refused('body: is not a JSON object')],
    ['a list', post('[]'), ...refused('body: is not a JSON object')],
    ['no data', post({ ...ENVELOPE }), ...refused('data: Missing data for required field')],
    ['an object instead of a list', post({ ...ENVELOPE, data: {} }), ...refused('data: is not a list')],
    ['an empty list', post({ ...ENVELOPE, data: [] }), ...refused('data: is empty')],
    [
      'no event source',
      post({ event_source_id: 'P', data: [EVENT] }),
      ...refused('event_source: Missing data for required field'),
    ],
    [
      'an unknown event source',
      post({ ...ENVELOPE, event_source: 'website', data: [EVENT] }),
      ...refused('event_source: is not one of web, app, offline, crm'),
    ],
    [
      'no event source id',
      post({ event_source: 'web', data: [EVENT] }),
      ...refused('event_source_id: Missing data for required field'),
    ],
    [
      'a number as event source id',
      post({ ...ENVELOPE, event_source_id: 7, data: [EVENT] }),
      ...refused('event_source_id: Not a valid string'),
    ],
    [
      'a number as partner name',
      post({ ...ENVELOPE, partner_name: 7, data: [EVENT] }),
      ...refused('partner_name: Not a valid string'),
    ],
    [
      'a number as test code',
      post({ ...ENVELOPE, test_event_code: 7, data: [EVENT] }),
      ...refused('test_event_code: Not a valid string'),
    ],
    [
      'an obsolete field',
      post({ ...ENVELOPE, pixel_code: 'P', data: [EVENT] }),
      ...refused('pixel_code: is a field of an obsolete API version'),
    ],
    [
      'another content type',
      post({ ...ENVELOPE, data: [EVENT] }, { headers: { 'content-type': 'text/plain' } }),
      ...refused('Content-Type must be application/json'),
    ],
  ],
  batchMax: [1_000, ...refused('data: has more than 1000 elements')],
  unknownUrls: [['/open_api/v1.3/event/track', '/open_api/v1.3/pixel/track/', '/open_api/v1.2/event/track/', '/'], 404],
  getAnswer: [405],
  credentials: [
    [{ headers: { 'access-token': '' } }, 200, result(40104, expect.stringMatching(/^Access token is null/))],
    [{ headers: { 'access-token': 'a-bad-one' } }, 200, result(40105, expect.stringMatching(/incorrect/))],
    [
      { headers: { 'access-token': 'forbidden' } },
      200,
      result(40001, expect.stringMatching(/^No permission to operate pixel code: PIXELCODE\./)),
    ],
    // TikTok does not read a bearer token.
    [{ headers: { 'access-token': undefined, authorization: 'Bearer token' } }, 200, result(40104, expect.any(String))],
  ],
  failures: {
    refuse: [200, result(40002, expect.stringMatching(/Invalid parameter/))],
    refuse_one: [200, result(40002, expect.stringMatching(/^Batch\.0\..*: Not a valid string$/))],
    throttle: [200, result(40100, expect.stringMatching(/^Too many requests\./))],
    server_error: [200, result(50000, expect.stringMatching(/^System error/))],
    unauthorized: [200, result(40105, expect.stringMatching(/^Access token is incorrect/))],
    forbidden: [200, result(40001, expect.stringMatching(/^No permission to operate pixel code: PIXELCODE/))],
  },
  refusesAll: ['refuse', 'refuse_one'],
  isFailure: (answer) => bodyOf(answer).code !== 0,
});

describe('double of tiktok', () => {
  it('accepts a CRM lead by its lead id, and a store sale of three weeks ago', () => {
    const lead = { ...EVENT, user: undefined, lead: { lead_id: '1', lead_event_source: 'crm' } };
    const sale = { ...EVENT, event_time: TIME - 21 * DAY };
    expect(bodyOf(tiktok.answer(post({ ...ENVELOPE, event_source: 'crm', data: [lead] })))).toMatchObject({ code: 0 });
    expect(bodyOf(tiktok.answer(post({ ...ENVELOPE, event_source: 'offline', data: [sale] })))).toMatchObject({
      code: 0,
    });
  });

  it('refuses a store sale of last month', () => {
    const data = [{ ...EVENT, event_time: TIME - 29 * DAY }];
    const answer = tiktok.answer(post({ ...ENVELOPE, event_source: 'offline', data }));
    expectInvalid(answer, 'Batch.0.event_time: is older than 672 hours');
  });

  it('accepts one test event, and several with a warning', () => {
    const test = (...data: unknown[]) => tiktok.answer(post({ ...ENVELOPE, test_event_code: 'TEST1', data }));
    expect(problemsIn(test(EVENT))).toEqual([[]]);
    expect(bodyOf(test(EVENT, EVENT))).toMatchObject({ code: 0 });
    expect(problemsIn(test(EVENT, EVENT))?.[1]).toEqual(['test_event_code is for one event at a time']);
  });
});
