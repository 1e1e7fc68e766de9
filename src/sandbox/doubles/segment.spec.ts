import { problems, said } from '../../../test/support/platform-doubles.js';
import { FAILURE_KINDS, type SandboxAnswer, sandboxRequest } from '../double.js';
import { segment } from './segment.js';

const NOW_MS = Date.parse('2026-03-01T10:16:00Z');
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

function post(path: string, body: unknown, headers: Record<string, string | undefined> = {}) {
  return sandboxRequest('POST', path, {
    headers: { authorization: basic('key:'), 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    nowMs: NOW_MS,
  });
}
const track = (event: unknown, headers = {}) => segment.answer(post('/v1/track', event, headers));
const batch = (...events: unknown[]) => segment.answer(post('/v1/batch', { batch: events }));

function expectAccepted(answer: SandboxAnswer) {
  expect(answer.status).toBe(200);
  expect(said(answer)).toEqual({ success: true });
  expect(answer.received?.every((item) => item.accepted)).toBe(true);
}

describe('the double of Segment', () => {
  describe('when everything is right', () => {
    it('takes one event', () => {
      const answer = track(EVENT);
      expectAccepted(answer);
      expect(answer.received).toEqual([
        {
          eventId: 'evt-1001',
          event: 'Order Completed',
          problems: [],
          accepted: true,
          bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      ]);
    });

    it('takes a batch in its order', () => {
      const answer = batch(EVENT, { ...EVENT, messageId: 'evt-1002' });
      expectAccepted(answer);
      expect(answer.received?.map((item) => [item.eventId, item.problems])).toEqual([
        ['evt-1001', []],
        ['evt-1002', []],
      ]);
    });

    it.each([
      ['a user alone', { messageId: 'm', event: 'Signed Up', userId: 'u' }],
      ['a visitor alone', { messageId: 'm', event: 'Signed Up', anonymousId: 'a' }],
    ])('takes %s', (_, event) => {
      expect(problems(track(event))).toEqual([[]]);
    });

    it('takes the write key of the body, also beside a bearer token', () => {
      const event = { ...EVENT, writeKey: 'key' };
      expect(problems(track(event, { authorization: undefined }))).toEqual([[]]);
      expect(problems(track(event, { authorization: 'Bearer token' }))).toEqual([[]]);
    });
  });

  describe('when an event is wrong', () => {
    it.each([
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
      ['context', 'x', 'context is not an object'],
      ['context', { ip: 'x' }, 'context.ip is not an IP address'],
      ['context', { userAgent: 7 }, 'context.userAgent is not a string'],
      ['context', { page: { url: 'x' } }, 'context.page.url is not an http or https URL'],
      ['context', { page: { referrer: 7 } }, 'context.page.referrer is not a string'],
      ['context', { campaign: { name: 7 } }, 'context.campaign.name is not a string'],
      ['integrations', [], 'integrations is not an object'],
    ])('takes %s = %j without a word, and notes it', (field, value, problem) => {
      const answer = track({ ...EVENT, [field]: value });
      expectAccepted(answer);
      expect(problems(answer)).toEqual([[problem]]);
    });

    it('takes an event of nobody, and notes it', () => {
      const answer = track({ ...EVENT, userId: undefined, anonymousId: undefined });
      expectAccepted(answer);
      expect(problems(answer)).toEqual([['no_user_anon_id']]);
    });

    it('notes only the bad ones of a batch', () => {
      const answer = batch(EVENT, { ...EVENT, type: undefined }, 'x');
      expectAccepted(answer);
      expect(problems(answer)).toEqual([[], ['type is not track'], ['message is not an object']]);
    });

    it('notes a message of a batch that is too large for one', () => {
      const answer = batch({ ...EVENT, properties: { note: 'x'.repeat(33_000) } });
      expectAccepted(answer);
      expect(problems(answer)).toEqual([['message is larger than 32 kB']]);
    });

    it('has no limit of age', () => {
      expect(problems(track({ ...EVENT, timestamp: '2020-01-01T00:00:00Z' }))).toEqual([[]]);
    });
  });

  describe('when the request is wrong', () => {
    it.each([
      ['/v1/track', '{'],
      ['/v1/track', '[]'],
      ['/v1/batch', '{"batch":{}}'],
      ['/v1/batch', '{}'],
      ['/v1/track', { ...EVENT, properties: { note: 'x'.repeat(33_000) } }],
      ['/v1/batch', { batch: Array(20).fill({ ...EVENT, properties: { note: 'x'.repeat(30_000) } }) }],
    ])('refuses what it cannot read, or what is too large, at %s', (path, body) => {
      const answer = segment.answer(post(path, body));
      expect(answer.status).toBe(400);
      expect(said(answer)).toEqual({ success: false, message: expect.any(String) });
      expect(answer.received).toBeUndefined();
    });

    it('drops a batch of too many events without a word', () => {
      const small = { type: 'track', messageId: 'm', userId: 'u', event: 'e' };
      expect(problems(batch(...Array(2_500).fill(small)))?.[0]).toEqual([]);
      const answer = batch(...Array(2_501).fill(small));
      expectAccepted(answer);
      expect(problems(answer)?.[2_500]).toEqual(['batch has more than 2500 events']);
    });

    it('notes another content type', () => {
      expect(problems(track(EVENT, { 'content-type': 'text/plain' }))).toEqual([
        ['content-type is not application/json'],
      ]);
    });

    it('has nothing elsewhere, and knows no GET', () => {
      expect(segment.answer(post('/v1/tracks', EVENT)).status).toBe(404);
      expect(segment.answer(sandboxRequest('GET', '/v1/track')).status).toBe(405);
    });
  });

  describe('when the credentials are wrong', () => {
    it.each([
      [undefined, 'write key is missing'],
      [basic(':'), 'write key is missing'],
      ['Bearer token', 'write key is missing'],
      [basic('key'), 'write key is not followed by a colon'],
      [basic('a-bad-one:'), 'write key is wrong'],
      [basic('forbidden:'), 'write key is wrong'],
    ])('takes %j without a word, and notes it', (authorization, problem) => {
      const answer = track(EVENT, { authorization });
      expectAccepted(answer);
      expect(problems(answer)).toEqual([[problem]]);
    });
  });

  describe('when an event comes again', () => {
    it('answers as at first, with the same id and body', () => {
      const [first, second] = [track(EVENT), track(EVENT)];
      expectAccepted(second);
      expect(second.received).toEqual(first.received);
    });

    it('shows that the body changed', () => {
      const [first, second] = [track(EVENT).received?.[0], track({ ...EVENT, userId: 'other' }).received?.[0]];
      expect(second?.eventId).toBe(first?.eventId);
      expect(second?.bodySha256).not.toBe(first?.bodySha256);
    });

    it('goes by the message id alone, for 24 hours', () => {
      expect(track(EVENT).received?.[0]).not.toHaveProperty('dedupKey');
      expect(segment.dedupWindowMs).toBe(24 * 3_600_000);
    });
  });

  describe('when told to fail', () => {
    it.each([
      ['refuse', 400],
      ['throttle', 429],
      ['server_error', 500],
      ['unauthorized', 401],
      ['forbidden', 403],
    ] as const)('answers %s with %d', (kind, status) => {
      const answer = segment.fail(kind, post('/v1/track', EVENT));
      expect(answer.status).toBe(status);
      expect(said(answer)).toEqual({ success: false, message: expect.any(String) });
    });

    it('says how long to wait', () => {
      const { headers } = segment.fail('throttle', post('/v1/track', EVENT));
      expect(headers).toMatchObject({ 'retry-after': '1', 'x-ratelimit-reset': '1' });
    });

    it('leaves everything out at refuse', () => {
      const answer = segment.fail('refuse', post('/v1/batch', { batch: [EVENT, EVENT] }));
      expect(answer.received?.map((item) => item.accepted)).toEqual([false, false]);
    });

    it('lets the first one vanish at refuse_one', () => {
      const answer = segment.fail('refuse_one', post('/v1/batch', { batch: [EVENT, EVENT] }));
      expect(answer.status).toBe(200);
      expect(said(answer)).toEqual({ success: true });
      expect(answer.received?.map((item) => item.accepted)).toEqual([false, true]);
    });

    it.each(FAILURE_KINDS)('has an answer to %s of something unreadable', (kind) => {
      expect(segment.fail(kind, post('/v1/batch', '{')).received ?? []).toEqual([]);
    });
  });
});
