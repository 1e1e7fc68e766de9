import { problems, said } from '../../../test/support/platform-doubles.js';
import { FAILURE_KINDS, type SandboxAnswer, sandboxRequest } from '../double.js';
import { tiktok } from './tiktok.js';

const NOW_MS = Date.parse('2026-03-01T10:16:00Z');
const TIME = NOW_MS / 1_000 - 30;
const DAY = 86_400;
const HASH = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';
const PATH = '/open_api/v1.3/event/track/';

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

function post(body: unknown, headers: Record<string, string> = {}) {
  return sandboxRequest('POST', PATH, {
    headers: { 'access-token': 'token', 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    nowMs: NOW_MS,
  });
}
const send = (...data: unknown[]) => tiktok.answer(post({ ...ENVELOPE, data }));
const withUser = (user: object) => ({ ...EVENT, user: { ...USER, ...user } });
const withProperties = (properties: object) => ({ ...EVENT, properties: { ...PROPERTIES, ...properties } });

/** HTTP 200 all the same, and the whole batch left out. */
function expectRefused(answer: SandboxAnswer, message: unknown) {
  expect(answer.status).toBe(200);
  expect(said(answer)).toEqual({ code: 40002, message, request_id: expect.any(String), data: {} });
  expect(answer.received?.every((item) => !item.accepted)).not.toBe(false);
}

describe('the double of TikTok', () => {
  describe('when everything is right', () => {
    it('takes one event', () => {
      const answer = send(EVENT);
      expect(answer.status).toBe(200);
      expect(said(answer)).toEqual({ code: 0, message: 'OK', request_id: expect.any(String), data: {} });
      expect(answer.received).toEqual([
        {
          eventId: 'evt-1001',
          event: 'CompletePayment',
          problems: [],
          accepted: true,
          bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          dedupKey: 'CompletePayment evt-1001',
        },
      ]);
    });

    it('takes a batch in its order', () => {
      const answer = send(EVENT, { ...EVENT, event_id: 'evt-1002' });
      expect(said(answer)).toMatchObject({ code: 0 });
      expect(answer.received?.map((item) => [item.eventId, item.accepted])).toEqual([
        ['evt-1001', true],
        ['evt-1002', true],
      ]);
    });

    it.each([
      ['a click alone', { ...EVENT, user: { ttclid: 'E.C.P.x' } }],
      ['an email alone', { ...EVENT, user: { email: HASH } }],
      ['an address with its agent', { ...EVENT, user: { ip: '2001:db8::1', user_agent: 'UA' } }],
      ['hashed names and a plain city', withUser({ first_name: HASH, zip_code: HASH, city: 'berlin', country: 'de' })],
      ['no properties at all', { ...EVENT, properties: undefined, page: undefined }],
    ])('takes %s', (_, event) => {
      expect(said(send(event))).toMatchObject({ code: 0 });
      expect(problems(send(event))).toEqual([[]]);
    });

    it('takes a lead of a CRM that is known by its id, and a shop sale of three weeks ago', () => {
      const lead = { ...EVENT, user: undefined, lead: { lead_id: '1', lead_event_source: 'crm' } };
      const sale = { ...EVENT, event_time: TIME - 21 * DAY };
      expect(said(tiktok.answer(post({ ...ENVELOPE, event_source: 'crm', data: [lead] })))).toMatchObject({ code: 0 });
      expect(said(tiktok.answer(post({ ...ENVELOPE, event_source: 'offline', data: [sale] })))).toMatchObject({
        code: 0,
      });
    });
  });

  describe('when an event is wrong', () => {
    it.each([
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
    ])('refuses %s = %j', (field, value, message) => {
      expectRefused(send({ ...EVENT, [field]: value }), message);
    });

    it.each([
      ['email', 'jane.doe@example.com', /^Batch\.0\.user\.email: is not a SHA-256/],
      ['email', HASH.toUpperCase(), /^Batch\.0\.user\.email: is not a SHA-256/],
      ['email', [], /^Batch\.0\.user\.email: is empty/],
      ['phone', [HASH, '+15550104477'], /^Batch\.0\.user\.phone: is not a SHA-256/],
      ['external_id', 'user-42', /^Batch\.0\.user\.external_id: is not a SHA-256/],
      ['first_name', 'jane', /^Batch\.0\.user\.first_name: is not a SHA-256/],
      ['zip_code', '10115', /^Batch\.0\.user\.zip_code: is not a SHA-256/],
      ['ttclid', HASH, /^Batch\.0\.user\.ttclid: must not be hashed/],
      ['ttclid', '', /^Batch\.0\.user\.ttclid: is empty/],
      ['city', HASH, /^Batch\.0\.user\.city: must not be hashed/],
      ['country', 'DE', /^Batch\.0\.user\.country: is not in lower case/],
      ['ip', HASH, /^Batch\.0\.user\.ip: is not an IP address/],
      ['phone_number', HASH, /^Batch\.0\.user\.phone_number: is a field of an obsolete API version/],
    ])('refuses user.%s = %j', (field, value, message) => {
      expectRefused(send(withUser({ [field]: value })), expect.stringMatching(message));
    });

    it.each([
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
      ['contents', [{}], 'Batch.0.properties.contents.0.content_id: Missing data for required field'],
      [
        'contents',
        [{ content_id: 'a' }, { content_id: 'b', price: '1' }],
        'Batch.0.properties.contents.1.price: Not a valid number',
      ],
    ])('refuses properties.%s = %j', (field, value, message) => {
      expectRefused(send(withProperties({ [field]: value })), message);
    });

    it.each([[{}], [{ ip: '203.0.113.10' }], [{ user_agent: 'UA' }], [{ country: 'de', city: 'berlin' }]])(
      'refuses a user known only by %j',
      (user) => {
        expectRefused(send({ ...EVENT, user }), 'Batch.0.user: has no sufficient identifier');
      },
    );

    it('refuses a shop sale of last month', () => {
      const data = [{ ...EVENT, event_time: TIME - 29 * DAY }];
      const answer = tiktok.answer(post({ ...ENVELOPE, event_source: 'offline', data }));
      expectRefused(answer, 'Batch.0.event_time: is older than 672 hours');
    });

    it('refuses the good ones of the batch with it, and says which was the first', () => {
      const answer = send(EVENT, { ...EVENT, event_id: 'evt-1002', event: undefined }, 'x');
      expectRefused(answer, 'Batch.1.event: Missing data for required field');
      expect(answer.received?.map(({ eventId, accepted }) => [eventId, accepted])).toEqual([
        ['evt-1001', false],
        ['evt-1002', false],
        ['', false],
      ]);
      expect(problems(answer)).toEqual([[], ['event is missing'], ['event is not an object']]);
    });

    it('takes an event without an id, and notes that its repeats cannot be told', () => {
      const answer = send({ ...EVENT, event_id: undefined });
      expect(said(answer)).toMatchObject({ code: 0 });
      expect(answer.received).toMatchObject([{ eventId: '', accepted: true }]);
      expect(answer.received?.[0]).not.toHaveProperty('dedupKey');
      expect(problems(answer)).toEqual([['event_id is missing: duplicates cannot be detected']]);
    });

    it('takes one test event, and notes when several come at once', () => {
      const test = (...data: unknown[]) => tiktok.answer(post({ ...ENVELOPE, test_event_code: 'TEST1', data }));
      expect(problems(test(EVENT))).toEqual([[]]);
      expect(said(test(EVENT, EVENT))).toMatchObject({ code: 0 });
      expect(problems(test(EVENT, EVENT))?.[1]).toEqual(['test_event_code is for one event at a time']);
    });

    it('never repeats a value', () => {
      expect(JSON.stringify(send(withUser({ email: 'jane.doe@example.com', ip: 'jane' })))).not.toContain('jane');
    });
  });

  describe('when the request is wrong', () => {
    it.each([
      ['{', 'body: is not a JSON object'],
      ['[]', 'body: is not a JSON object'],
      [{ ...ENVELOPE }, 'data: Missing data for required field'],
      [{ ...ENVELOPE, data: {} }, 'data: is not a list'],
      [{ ...ENVELOPE, data: [] }, 'data: is empty'],
      [{ event_source_id: 'P', data: [EVENT] }, 'event_source: Missing data for required field'],
      [{ ...ENVELOPE, event_source: 'website', data: [EVENT] }, 'event_source: is not one of web, app, offline, crm'],
      [{ event_source: 'web', data: [EVENT] }, 'event_source_id: Missing data for required field'],
      [{ ...ENVELOPE, event_source_id: 7, data: [EVENT] }, 'event_source_id: Not a valid string'],
      [{ ...ENVELOPE, partner_name: 7, data: [EVENT] }, 'partner_name: Not a valid string'],
      [{ ...ENVELOPE, test_event_code: 7, data: [EVENT] }, 'test_event_code: Not a valid string'],
      [{ ...ENVELOPE, pixel_code: 'P', data: [EVENT] }, 'pixel_code: is a field of an obsolete API version'],
    ])('refuses %j', (body, message) => {
      const answer = tiktok.answer(post(body));
      expectRefused(answer, message);
      expect(answer.received).toBeUndefined();
    });

    it('takes a thousand events and no more', () => {
      expect(said(send(...Array(1_000).fill(EVENT)))).toMatchObject({ code: 0 });
      expectRefused(send(...Array(1_001).fill(EVENT)), 'data: has more than 1000 elements');
    });

    it('refuses another content type', () => {
      const answer = tiktok.answer(post({ ...ENVELOPE, data: [EVENT] }, { 'content-type': 'text/plain' }));
      expectRefused(answer, 'Content-Type must be application/json');
    });

    it.each(['/open_api/v1.3/event/track', '/open_api/v1.3/pixel/track/', '/open_api/v1.2/event/track/', '/'])(
      'has nothing at %s',
      (path) => {
        expect(tiktok.answer({ ...post({ ...ENVELOPE, data: [EVENT] }), path }).status).toBe(404);
      },
    );

    it('knows no GET', () => {
      expect(tiktok.answer(sandboxRequest('GET', PATH)).status).toBe(405);
    });
  });

  describe('when the credentials are wrong', () => {
    it.each([
      ['', 40104, /^Access token is null/],
      ['a-bad-one', 40105, /incorrect/],
      ['forbidden', 40001, /^No permission to operate pixel code: PIXELCODE\./],
    ])('answers %j with HTTP 200 and code %d', (token, code, message) => {
      const answer = tiktok.answer(post({ ...ENVELOPE, data: [EVENT] }, { 'access-token': token }));
      expect(answer.status).toBe(200);
      expect(said(answer)).toMatchObject({ code, message: expect.stringMatching(message) });
      expect(answer.received).toBeUndefined();
    });

    it('does not take a bearer token', () => {
      const request = post({ ...ENVELOPE, data: [EVENT] });
      const headers = { 'content-type': 'application/json', authorization: 'Bearer token' };
      expect(said(tiktok.answer({ ...request, headers }))).toMatchObject({ code: 40104 });
    });
  });

  describe('when an event comes again', () => {
    it('answers as at first, with the same key and body', () => {
      const [first, second] = [send(EVENT), send(EVENT)];
      expect(said(second)).toMatchObject({ code: 0 });
      expect(second.received).toEqual(first.received);
    });

    it('shows that the body changed', () => {
      const [first, second] = [send(EVENT).received?.[0], send(withProperties({ value: 1 })).received?.[0]];
      expect(second?.dedupKey).toBe(first?.dedupKey);
      expect(second?.bodySha256).not.toBe(first?.bodySha256);
    });

    it('tells events of another name apart, and remembers for 48 hours', () => {
      expect(send({ ...EVENT, event: 'Lead' }).received?.[0]?.dedupKey).toBe('Lead evt-1001');
      expect(tiktok.dedupWindowMs).toBe(48 * 3_600_000);
    });
  });

  describe('when told to fail', () => {
    it.each([
      ['refuse', 40002, /Invalid parameter/],
      ['refuse_one', 40002, /^Batch\.0\..*: Not a valid string$/],
      ['throttle', 40100, /^Too many requests\./],
      ['server_error', 50000, /^System error/],
      ['unauthorized', 40105, /^Access token is incorrect/],
      ['forbidden', 40001, /^No permission to operate pixel code: PIXELCODE/],
    ] as const)('answers %s with HTTP 200 and code %d', (kind, code, message) => {
      const answer = tiktok.fail(kind, post({ ...ENVELOPE, data: [EVENT] }));
      expect(answer.status).toBe(200);
      expect(said(answer)).toEqual({
        code,
        message: expect.stringMatching(message),
        request_id: expect.any(String),
        data: {},
      });
    });

    it.each(['refuse', 'refuse_one'] as const)('leaves the whole batch out at %s', (kind) => {
      const answer = tiktok.fail(kind, post({ ...ENVELOPE, data: [EVENT, EVENT] }));
      expect(answer.received?.map(({ accepted, problems }) => [accepted, problems])).toEqual([
        [false, []],
        [false, []],
      ]);
    });

    it.each(FAILURE_KINDS)('has an answer to %s of something unreadable', (kind) => {
      expect(said(tiktok.fail(kind, post('{')))['code']).not.toBe(0);
    });
  });
});
