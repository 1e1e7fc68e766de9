import { describeDoubleContract } from '../../../test/support/platform-double-contract.js';
import { acceptedIn, bodyOf, poster, problemsIn } from '../../../test/support/platform-doubles.js';
import type { SandboxAnswer } from '../double.js';
import { double as segment } from './segment.js';

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

const EVENT = {
  type: 'track',
  messageId: 'evt-1001',
  userId: 'user-42',
  anonymousId: 'anon-1',
  event: 'Order Completed',
  timestamp: '2026-03-01T10:15:30.000Z',
  properties: {
    order_id: 'ORD-1001',
    revenue: 129.9,
    value: 129.9,
    currency: 'EUR',
    products: [{ product_id: 'SKU-1', quantity: 1, price: 129.9 }],
  },
  context: {
    ip: '203.0.113.10',
    userAgent: 'UA',
    page: { url: 'https://shop.example/thanks?gclid=GCLID', referrer: 'https://www.google.com/' },
    campaign: { name: 'spring', source: 'google' },
    library: { name: 'relay', version: '1' },
  },
  integrations: { All: true },
};

const postJson = poster('/v1/track', { authorization: basic('key:') });
/** A body with a `batch` goes to the batch endpoint. */
const post: typeof postJson = (body, options = {}) => {
  const isBatch = typeof body === 'object' && body !== null && 'batch' in body;
  return postJson(body, { url: isBatch ? '/v1/batch' : '/v1/track', ...options });
};
const track = (event: unknown, headers = {}) => segment.answer(post(event, { headers }));
const batch = (...events: unknown[]) => segment.answer(post({ batch: events }));

const REFUSED = { success: false, message: expect.any(String) };

/** Segment accepts the event silently; only the ledger contains the problem. */
function expectInvalid(answer: SandboxAnswer, ...problems: unknown[]) {
  expect(answer.status).toBe(200);
  expect(bodyOf(answer)).toEqual({ success: true });
  expect(answer.received?.every((item) => item.accepted)).toBe(true);
  expect(problemsIn(answer)).toEqual(problems.map((problem) => (problem === undefined ? [] : [problem])));
}

describeDoubleContract(segment, {
  post,
  envelope: (events) => (events.length === 1 ? events[0] : { batch: events }),
  event: EVENT,
  withId: (messageId) => ({ ...EVENT, messageId }),
  changed: { ...EVENT, userId: 'other' },
  recorded: { event: 'Order Completed' },
  accepted: () => ({ success: true }),
  variants: [
    ['only a user id', { messageId: 'm', event: 'Signed Up', userId: 'u' }],
    ['only an anonymous id', { messageId: 'm', event: 'Signed Up', anonymousId: 'a' }],
    ['an old event', { ...EVENT, timestamp: '2020-01-01T00:00:00Z' }],
  ],
  deduplication: { keys: [[EVENT, undefined]], windowMs: 24 * 3_600_000 },
  expectInvalid,
  invalidFields: [
    ['event', undefined, 'event is missing'],
    ['event', 7, 'event is not a string'],
    ['type', 'identify', 'type is not track'],
    ['messageId', undefined, 'messageId is missing: duplicates cannot be detected'],
    ['messageId', 'x'.repeat(101), 'messageId is longer than 100 characters'],
    ['messageId', 7, 'messageId is not a string'],
    ['userId', 42, 'userId is not a string'],
    ['anonymousId', '', 'anonymousId is empty'],
    ['timestamp', 1772360130, 'timestamp is not an ISO 8601 time with a time zone'],
    ['timestamp', '2026-03-01 10:15:30', 'timestamp is not an ISO 8601 time with a time zone'],
    ['properties', [], 'properties is not an object'],
    ['properties', { revenue: '129.90' }, 'properties.revenue is not a number'],
    ['properties', { value: '129.90' }, 'properties.value is not a number'],
    ['properties', { currency: '€' }, 'properties.currency is not a currency code of three upper-case letters'],
    ['properties', { order_id: 1001 }, 'properties.order_id is not a string'],
    ['properties', { products: {} }, 'properties.products is not a list'],
    ['properties', { products: [{}] }, 'properties.products.0.product_id is missing'],
    [
      'properties',
      { products: [{ product_id: 'a', quantity: '1' }] },
      'properties.products.0.quantity is not a whole number',
    ],
    ['properties', { products: [{ product_id: 'a', price: '1' }] }, 'properties.products.0.price is not a number'],
    ['properties', { products: [{ product_id: 7 }] }, 'properties.products.0.product_id is not a string'],
    ['properties', { products: [{ product_id: 'a', quantity: 0 }] }, 'properties.products.0.quantity is zero'],
    ['properties', { products: [{ product_id: 'a', name: 7 }] }, 'properties.products.0.name is not a string'],
    ['properties', { products: [{ product_id: 'a', category: '' }] }, 'properties.products.0.category is empty'],
    ['properties', { source: ['website'] }, 'properties.source is not a string'],
    ['context', 'x', 'context is not an object'],
    ['context', { ip: 'x' }, 'context.ip is not an IP address'],
    ['context', { userAgent: 7 }, 'context.userAgent is not a string'],
    ['context', { page: { url: 'x' } }, 'context.page.url is not an http or https URL'],
    ['context', { page: { referrer: 7 } }, 'context.page.referrer is not a string'],
    ['context', { campaign: { name: 7 } }, 'context.campaign.name is not a string'],
    ['integrations', [], 'integrations is not an object'],
  ],
  invalidRequests: [
    ['invalid JSON', post('{'), 400, REFUSED],
    ['a list', post('[]'), 400, REFUSED],
    ['a batch that is not a list', post({ batch: {} }), 400, REFUSED],
    ['a batch request without a batch', post({}, { url: '/v1/batch' }), 400, REFUSED],
    ['a message that is too large', post({ ...EVENT, properties: { note: 'x'.repeat(33_000) } }), 400, REFUSED],
    [
      'a batch that is too large',
      post({ batch: Array(20).fill({ ...EVENT, properties: { note: 'x'.repeat(30_000) } }) }),
      400,
      REFUSED,
    ],
  ],
  unknownUrls: [['/v1/tracks'], 404],
  getAnswer: [405],
  failures: {
    refuse: [400, REFUSED],
    throttle: [429, REFUSED],
    server_error: [500, REFUSED],
    unauthorized: [401, REFUSED],
    forbidden: [403, REFUSED],
  },
  refusesAll: ['refuse'],
  // A refused event is silently dropped.
  isFailure: () => true,
});

describe('double of segment', () => {
  it('accepts the write key in the body, also with a bearer token', () => {
    const event = { ...EVENT, writeKey: 'key' };
    expect(problemsIn(track(event, { authorization: undefined }))).toEqual([[]]);
    expect(problemsIn(track(event, { authorization: 'Bearer token' }))).toEqual([[]]);
  });

  it('records an event without a user', () => {
    expectInvalid(track({ ...EVENT, userId: undefined, anonymousId: undefined }), 'no_user_anon_id');
  });

  it('records the problems of each event of a batch', () => {
    const answer = batch(EVENT, { ...EVENT, type: undefined }, 'x');
    expectInvalid(answer, undefined, 'type is not track', 'message is not an object');
  });

  it('records a message of a batch that is too large on its own', () => {
    const answer = batch({ ...EVENT, properties: { note: 'x'.repeat(33_000) } });
    expectInvalid(answer, 'message is larger than 32 kB');
  });

  it('silently drops a batch with too many events', () => {
    const small = { type: 'track', messageId: 'm', userId: 'u', event: 'e' };
    expect(problemsIn(batch(...Array(2_500).fill(small)))?.[0]).toEqual([]);
    const answer = batch(...Array(2_501).fill(small));
    expectInvalid(answer, ...Array(2_501).fill('batch has more than 2500 events'));
  });

  it('records another content type', () => {
    expectInvalid(track(EVENT, { 'content-type': 'text/plain' }), 'content-type is not application/json');
  });

  it.each([
    [undefined, 'write key is missing'],
    [basic(':'), 'write key is missing'],
    ['Bearer token', 'write key is missing'],
    [basic('key'), 'write key is not followed by a colon'],
    [basic('a-bad-one:'), 'write key is wrong'],
    [basic('forbidden:'), 'write key is wrong'],
  ])('silently accepts the credentials %j and records the problem', (authorization, problem) => {
    expectInvalid(track(EVENT, { authorization }), problem);
  });

  it('reports the waiting time when it throttles', () => {
    const { headers } = segment.fail('throttle', post(EVENT));
    expect(headers).toMatchObject({ 'retry-after': '1', 'x-ratelimit-reset': '1' });
  });

  it('silently drops the first event on refuse_one', () => {
    const answer = segment.fail('refuse_one', post({ batch: [EVENT, EVENT] }));
    expect(answer.status).toBe(200);
    expect(bodyOf(answer)).toEqual({ success: true });
    expect(acceptedIn(answer)).toEqual([false, true]);
  });
});
