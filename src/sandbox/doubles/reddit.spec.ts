import { describeDoubleContract } from '../../../test/support/platform-double-contract.js';
import { acceptedIn, bodyOf, HASH, NOW_MS, poster, problemsIn } from '../../../test/support/platform-doubles.js';
import type { SandboxAnswer } from '../double.js';
import { double as reddit } from './reddit.js';

const TIME_MS = NOW_MS - 30_000;
const DAY_MS = 86_400_000;
const URL = '/api/v3/pixels/a2_abc123/conversion_events';

const USER = {
  email: HASH,
  phone_number: HASH,
  external_id: HASH,
  uuid: '1677712978045.b8f7eb7d-b357-437b-8bd3-e1c8166c7132',
  ip_address: '203.0.113.10',
  user_agent: 'UA',
};
const METADATA = {
  conversion_id: 'evt-1001',
  currency: 'EUR',
  value: 129.9,
  item_count: 1,
  products: [{ id: 'SKU-1', name: 'Thing', category: 'X', quantity: 1, item_price: 129.9 }],
};
const EVENT = {
  event_at: TIME_MS,
  action_source: 'WEBSITE',
  event_source_url: 'https://shop.example/thanks',
  click_id: 'RDT_CID',
  type: { tracking_type: 'PURCHASE' },
  user: USER,
  metadata: METADATA,
};

const post = poster(URL, { authorization: 'Bearer token', 'user-agent': 'relay/1.0 (shop.example)' });
const envelope = (events: readonly unknown[]) => ({ data: { events } });
const withUser = (user: object) => ({ ...EVENT, user: { ...USER, ...user } });
const withMetadata = (metadata: object) => ({ ...EVENT, metadata: { ...METADATA, ...metadata } });

const invalid = (count: number) => ({
  message: `There were ${count} invalid conversion events. None were processed.`,
});
const refusal = (reason: string) => ({ success: false, error: { reason, explanation: expect.any(String) } });
const BAD_REQUEST = { message: 'Bad Request' };

const WITH_AMOUNT = 'metadata has an amount, which is not allowed for events of this type';

/** The answer contains only the number of invalid events. */
function expectInvalid(answer: SandboxAnswer, problem: unknown, problems = 1) {
  expect(answer.status).toBe(400);
  expect(bodyOf(answer)).toEqual(invalid(1));
  expect(problemsIn(answer)?.[0]).toContainEqual(problem);
  expect(problemsIn(answer)?.[0]).toHaveLength(problems);
  expect(acceptedIn(answer)).toEqual([false]);
}

describeDoubleContract(reddit, {
  post,
  envelope,
  event: EVENT,
  withId: (conversion_id) => withMetadata({ conversion_id }),
  changed: withMetadata({ value: 1 }),
  recorded: { event: 'PURCHASE', dedupKey: 'PURCHASE WEBSITE evt-1001' },
  accepted: (count) => ({ data: { message: `Successfully processed ${count} conversion events.` } }),
  variants: [
    ['only a click id', { ...EVENT, user: undefined }],
    ['only an email', { ...EVENT, click_id: undefined, user: { email: HASH } }],
    ['only an external id that is not hashed', { ...EVENT, click_id: undefined, user: { external_id: 'user-42' } }],
    [
      'only IP address and user agent',
      { ...EVENT, click_id: undefined, user: { ip_address: '::1', user_agent: 'UA' } },
    ],
    ['a hashed IP address', withUser({ ip_address: HASH })],
    ['a custom event', { ...EVENT, type: { tracking_type: 'CUSTOM', custom_event_name: 'Demo' } }],
    ['an event without an amount', { ...EVENT, metadata: { conversion_id: 'evt-1001' } }],
    ['a clock that is slightly fast', { ...EVENT, event_at: NOW_MS + 4 * 60_000 }],
  ],
  deduplication: {
    keys: [
      [{ ...EVENT, type: { tracking_type: 'LEAD' } }, 'LEAD WEBSITE evt-1001'],
      [{ ...EVENT, action_source: 'OTHER' }, 'PURCHASE OTHER evt-1001'],
    ],
    windowMs: 2 * DAY_MS,
  },
  expectInvalid,
  invalidFields: [
    ['event_at', undefined, 'event_at is missing'],
    ['event_at', '2026-03-01T10:15:30Z', 'event_at is not a Unix time in milliseconds'],
    ['event_at', TIME_MS / 1_000, 'event_at is not a Unix time in milliseconds'],
    ['event_at', TIME_MS - 7 * DAY_MS, 'event_at is older than 168 hours'],
    ['event_at', NOW_MS + 6 * 60_000, 'event_at is in the future'],
    ['action_source', undefined, 'action_source is missing'],
    ['action_source', 'website', 'action_source is not one of WEBSITE, APP, OTHER, PHYSICAL_STORE'],
    ['event_source_url', 'shop.example', 'event_source_url is not an http or https URL'],
    ['click_id', HASH, 'click_id must not be hashed'],
    ['type', undefined, 'type is missing'],
    ['type', 'PURCHASE', 'type is not an object'],
    ['type', {}, 'type.tracking_type is missing'],
    ['type', { tracking_type: 'Purchase' }, expect.stringMatching(/^type\.tracking_type is not one of/)],
    ['type', { tracking_type: 'CUSTOM' }, 'type.custom_event_name is missing'],
    [
      'type',
      { tracking_type: 'CUSTOM', custom_event_name: 'x'.repeat(65) },
      'type.custom_event_name is longer than 64 characters',
    ],
    ['type', { tracking_type: 'LEAD', custom_event_name: 'x' }, 'type.custom_event_name is allowed for CUSTOM only', 2],
    ['type', { tracking_type: 'LEAD' }, 'metadata.item_count is not allowed for events of this type'],
    ['type', { tracking_type: 'PAGE_VISIT' }, WITH_AMOUNT, 2],
    ['user', 'x', 'user is not an object'],
    ['metadata', 'x', 'metadata is not an object', 2],
    ['event_type', {}, 'event_type is a field of an obsolete API version'],
    ['event_metadata', {}, 'event_metadata is a field of an obsolete API version'],
  ],
  invalidNestedFields: [
    [
      'user.',
      withUser,
      [
        ['email', 'jane.doe@example.com', expect.stringMatching(/^user\.email is not a SHA-256/)],
        ['email', HASH.toUpperCase(), expect.stringMatching(/^user\.email is not a SHA-256/)],
        ['email', [HASH], expect.stringMatching(/^user\.email is not a SHA-256/)],
        ['phone_number', '+15550104477', expect.stringMatching(/^user\.phone_number is not a SHA-256/)],
        ['external_id', 42, 'user.external_id is not a string'],
        ['uuid', 'b8f7eb7d-b357-437b-8bd3-e1c8166c7132', 'user.uuid is not <ms>.<uuid>'],
        ['ip_address', 'x', 'user.ip_address is not an IP address'],
        ['user_agent', HASH, 'user.user_agent must not be hashed'],
        ['opt_out', true, 'user.opt_out is a field of an obsolete API version'],
      ],
    ],
    [
      'metadata.',
      withMetadata,
      [
        ['conversion_id', 1001, 'metadata.conversion_id is not a string'],
        ['value', '129.90', 'metadata.value is not a number'],
        ['value_decimal', 129.9, 'metadata.value_decimal is a field of an obsolete API version'],
        ['currency', 'eur', 'metadata.currency is not a currency code of three upper-case letters'],
        ['item_count', '1', 'metadata.item_count is not a whole number'],
        ['products', {}, 'metadata.products is not a list'],
        ['products', [{}], 'metadata.products.0.id is missing'],
        ['products', [{ id: 'a', name: 7 }], 'metadata.products.0.name is not a string'],
        ['products', [{ id: 'a', category: 7 }], 'metadata.products.0.category is not a string'],
        ['products', [{ id: 'a', quantity: '1' }], 'metadata.products.0.quantity is not a whole number'],
        ['products', [{ id: 'a', quantity: 0 }], 'metadata.products.0.quantity is 0'],
        ['products', [{ id: 'a', item_price: '1' }], 'metadata.products.0.item_price is not a number'],
      ],
    ],
  ],
  insufficientUsers: {
    users: [undefined, {}, { ip_address: '203.0.113.10' }, { user_agent: 'UA' }],
    event: (user) => ({ ...EVENT, click_id: undefined, user }),
    expected: ['user has no sufficient identifier'],
  },
  refusedBatch: {
    invalid: { ...withMetadata({ conversion_id: 'evt-1002' }), event_at: undefined },
    problem: 'event_at is missing',
    itemName: 'event',
    answer: [400, invalid(2)],
  },
  idField: 'metadata.conversion_id',
  personal: withUser({ email: 'jane@example.com', uuid: 'jane' }),
  invalidRequests: [
    ['invalid JSON', post('{'), 400, BAD_REQUEST],
    ['events without the data object', post({ events: [EVENT] }), 400, BAD_REQUEST],
    ['an object instead of a list', post({ data: { events: {} } }), 400, BAD_REQUEST],
    ['an empty list', post(envelope([])), 400, BAD_REQUEST],
    ['several test events', post({ data: { events: [EVENT, EVENT], test_id: 'T' } }), 400, BAD_REQUEST],
    ['the obsolete test mode', post({ data: { events: [EVENT], test_mode: true } }), 400, BAD_REQUEST],
    ['another content type', post(envelope([EVENT]), { headers: { 'content-type': 'text/plain' } }), 400],
  ],
  batchMax: [1_000, 400, BAD_REQUEST],
  unknownUrls: [['/api/v2.0/conversions/events/a2_abc123', '/api/v3/pixels/conversion_events', `${URL}/`, '/'], 404],
  getAnswer: [405],
  credentials: [
    [{ headers: { authorization: 'Bearer a-bad-one' } }, 401, refusal('UNAUTHORIZED')],
    [{ headers: { authorization: 'Bearer forbidden' } }, 403, refusal('FORBIDDEN')],
  ],
  failures: {
    refuse: [400, invalid(2)],
    refuse_one: [400, invalid(1)],
    throttle: [429, { message: 'Too Many Requests' }],
    server_error: [500, { message: expect.stringContaining('No conversion events were processed.') }],
    unauthorized: [401, refusal('UNAUTHORIZED')],
    forbidden: [403, refusal('FORBIDDEN')],
  },
  refusesAll: ['refuse', 'refuse_one'],
});

describe('double of reddit', () => {
  it('refuses the price of a product where an amount is not allowed', () => {
    const search = (product: object) => ({
      ...EVENT,
      type: { tracking_type: 'SEARCH' },
      metadata: { conversion_id: 'evt-1001', products: [product] },
    });
    expect(reddit.answer(post(envelope([search({ id: 'a', quantity: 1 })]))).status).toBe(200);
    expectInvalid(reddit.answer(post(envelope([search({ id: 'a', item_price: 1 })]))), WITH_AMOUNT);
  });

  it('accepts one test event', () => {
    expect(reddit.answer(post({ data: { events: [EVENT], test_id: 'T' } })).status).toBe(200);
  });

  it.each([undefined, '', 'node', 'undici', 'axios/1.7.0', 'curl/8.5.0', 'python-requests/2.31', 'Go-http-client/2.0'])(
    'throttles the user agent %j',
    (agent) => {
      const answer = reddit.answer(post(envelope([EVENT]), { headers: { 'user-agent': agent } }));
      expect(answer.status).toBe(429);
      expect(answer.received).toBeUndefined();
    },
  );

  it.each([undefined, 'Basic token', 'Bearer '])('answers the credentials %j in plain text', (authorization) => {
    const answer = reddit.answer(post(envelope([EVENT]), { headers: { authorization } }));
    expect(answer).toMatchObject({ status: 401, body: 'Authorization Required' });
    expect(answer.received).toBeUndefined();
  });
});
