import { problems, said } from '../../../test/support/platform-doubles.js';
import { FAILURE_KINDS, type SandboxAnswer, sandboxRequest } from '../double.js';
import { pinterest } from './pinterest.js';

const NOW_MS = Date.parse('2026-03-01T10:16:00Z');
const TIME = NOW_MS / 1_000 - 30;
const HASH = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';
const PATH = '/v5/ad_accounts/549755885175/events';

const USER = {
  em: [HASH],
  ph: [HASH],
  external_id: [HASH],
  client_ip_address: '203.0.113.10',
  client_user_agent: 'UA',
  click_id: 'EPIK',
};
const CUSTOM = {
  currency: 'EUR',
  value: '129.90',
  order_id: 'ORD-1001',
  content_ids: ['SKU-1'],
  contents: [{ id: 'SKU-1', item_price: '129.90', quantity: 1 }],
  num_items: 1,
};
const EVENT = {
  event_name: 'checkout',
  action_source: 'web',
  event_time: TIME,
  event_id: 'evt-1001',
  event_source_url: 'https://shop.example/thanks',
  user_data: USER,
  custom_data: CUSTOM,
};
const PROCESSED = { status: 'processed', error_message: null, warning_message: null };

function post(body: unknown, headers: Record<string, string> = {}, address = PATH) {
  return sandboxRequest('POST', address, {
    headers: { authorization: 'Bearer token', 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    nowMs: NOW_MS,
  });
}
const send = (...data: unknown[]) => pinterest.answer(post({ data }));
const withUser = (user: object) => ({ ...EVENT, user_data: { ...USER, ...user } });
const withCustom = (custom: object) => ({ ...EVENT, custom_data: { ...CUSTOM, ...custom } });

/** A 200 all the same, in which the event itself has failed. */
function expectFailed(answer: SandboxAnswer, problem: unknown) {
  expect(answer.status).toBe(200);
  expect(said(answer)).toEqual({
    num_events_received: 1,
    num_events_processed: 0,
    events: [{ status: 'failed', error_message: problem, warning_message: null }],
  });
  expect(answer.received).toMatchObject([{ accepted: false, problems: [problem] }]);
}

describe('the double of Pinterest', () => {
  describe('when everything is right', () => {
    it('takes one event', () => {
      const answer = send(EVENT);
      expect(answer.status).toBe(200);
      expect(said(answer)).toEqual({ num_events_received: 1, num_events_processed: 1, events: [PROCESSED] });
      expect(answer.received).toEqual([
        {
          eventId: 'evt-1001',
          event: 'checkout',
          problems: [],
          accepted: true,
          bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      ]);
    });

    it('takes a batch in its order', () => {
      const answer = send(EVENT, { ...EVENT, event_id: 'evt-1002' });
      expect(said(answer)).toEqual({ num_events_received: 2, num_events_processed: 2, events: [PROCESSED, PROCESSED] });
      expect(answer.received?.map((item) => [item.eventId, item.accepted])).toEqual([
        ['evt-1001', true],
        ['evt-1002', true],
      ]);
    });

    it.each([
      ['an email alone', { ...EVENT, user_data: { em: [HASH] } }],
      ['a device alone', { ...EVENT, user_data: { hashed_maids: [HASH] } }],
      ['an address with its agent', { ...EVENT, user_data: { client_ip_address: '::1', client_user_agent: 'UA' } }],
      ['no custom data', { ...EVENT, custom_data: undefined }],
      ['an event of long ago', { ...EVENT, event_time: TIME - 400 * 86_400 }],
    ])('takes %s', (_, event) => {
      expect(problems(send(event))).toEqual([[]]);
      expect(said(send(event))).toMatchObject({ num_events_processed: 1 });
    });

    it('takes a name that it does not know with a warning', () => {
      const answer = send({ ...EVENT, event_name: 'find_location' });
      const warning = 'event_name is not a standard event';
      expect(said(answer)).toMatchObject({ events: [{ ...PROCESSED, warning_message: warning }] });
      expect(answer.received).toMatchObject([{ accepted: true, problems: [warning] }]);
    });
  });

  describe('when it is a test', () => {
    const test = (body: unknown) => post(body, {}, `${PATH}?test=true`);

    it('checks and answers as always, and writes nothing down', () => {
      const answer = pinterest.answer(test({ data: [EVENT, { ...EVENT, event_id: undefined }] }));
      expect(said(answer)).toMatchObject({ num_events_received: 2, num_events_processed: 1 });
      expect(answer).not.toHaveProperty('received');
      expect(pinterest.fail('refuse', test({ data: [EVENT] }))).not.toHaveProperty('received');
      expect(pinterest.fail('refuse_one', test({ data: [EVENT] }))).not.toHaveProperty('received');
    });

    it('is no call with events', () => {
      expect(pinterest.callKind?.(test({}))).toBe('test');
      expect(pinterest.callKind?.(post({}))).toBe('events');
      expect(pinterest.callKind?.(post({}, {}, `${PATH}?test=false`))).toBe('events');
    });
  });

  describe('when an event is wrong', () => {
    it.each([
      ['event_name', undefined, 'event_name is missing'],
      ['event_name', 7, 'event_name is not a string'],
      ['event_name', 'Purchase', 'event_name is not an event name'],
      ['action_source', undefined, 'action_source is missing'],
      ['action_source', 'website', 'action_source is not one of web, app_android, app_ios, offline'],
      ['event_time', undefined, 'event_time is missing'],
      ['event_time', String(TIME), 'event_time is not a Unix time in seconds'],
      ['event_time', TIME * 1_000, 'event_time is not a Unix time in seconds'],
      ['event_id', undefined, 'event_id is missing'],
      ['event_id', 1001, 'event_id is not a string'],
      ['event_source_url', 'shop.example', 'event_source_url is not an http or https URL'],
      ['partner_name', 7, 'partner_name is not a string'],
      ['opt_out', 'no', 'opt_out is not a boolean'],
      ['user_data', undefined, 'user_data is missing'],
      ['user_data', [], 'user_data is not an object'],
      ['user_data', {}, 'user_data has no sufficient identifier'],
      ['user_data', { click_id: 'EPIK' }, 'user_data has no sufficient identifier'],
      ['user_data', { client_ip_address: '203.0.113.10' }, 'user_data has no sufficient identifier'],
      ['user_data', { ph: [HASH], external_id: [HASH] }, 'user_data has no sufficient identifier'],
      ['custom_data', 'x', 'custom_data is not an object'],
      ['order_id', 'ORD-1001', 'order_id is not a known property'],
    ])('fails %s = %j', (field, value, problem) => {
      expectFailed(send({ ...EVENT, [field]: value }), problem);
    });

    it.each([
      ['em', HASH, 'user_data.em is not a list'],
      ['em', [], 'user_data.em is empty'],
      ['em', ['jane.doe@example.com'], expect.stringMatching(/^user_data\.em is not a SHA-256/)],
      ['em', [HASH.toUpperCase()], expect.stringMatching(/^user_data\.em is not a SHA-256/)],
      ['ph', [HASH, '15550104477'], expect.stringMatching(/^user_data\.ph is not a SHA-256/)],
      ['external_id', ['user-42'], expect.stringMatching(/^user_data\.external_id is not a SHA-256/)],
      ['country', ['de'], expect.stringMatching(/^user_data\.country is not a SHA-256/)],
      ['client_ip_address', HASH, 'user_data.client_ip_address is not an IP address'],
      ['client_user_agent', HASH, 'user_data.client_user_agent must not be hashed'],
      ['click_id', HASH, 'user_data.click_id must not be hashed'],
      ['partner_id', 7, 'user_data.partner_id is not a string'],
      ['email', HASH, 'user_data.email is not a known property'],
    ])('fails user_data.%s = %j', (field, value, problem) => {
      expectFailed(send(withUser({ [field]: value })), problem);
    });

    it.each([
      ['value', 129.9, 'custom_data.value is not a string'],
      ['value', '129,90', 'custom_data.value is not a decimal number'],
      ['predicted_ltv', 500, 'custom_data.predicted_ltv is not a string'],
      ['currency', 'eur', 'custom_data.currency is not a currency code of three upper-case letters'],
      ['num_items', '1', 'custom_data.num_items is not a whole number'],
      ['order_id', 1001, 'custom_data.order_id is not a string'],
      ['content_ids', 'SKU-1', 'custom_data.content_ids is not a list of strings'],
      ['contents', {}, 'custom_data.contents is not a list'],
      ['contents', ['SKU-1'], 'custom_data.contents.0 is not an object'],
      ['contents', [{ id: 7 }], 'custom_data.contents.0.id is not a string'],
      ['contents', [{ id: 'a', item_price: 129.9 }], 'custom_data.contents.0.item_price is not a string'],
      ['contents', [{ id: 'a', quantity: '1' }], 'custom_data.contents.0.quantity is not a whole number'],
      ['contents', [{ id: 'a', price: '1' }], 'custom_data.contents.0.price is not a known property'],
      ['orderId', 'x', 'custom_data.orderId is not a known property'],
    ])('fails custom_data.%s = %j', (field, value, problem) => {
      expectFailed(send(withCustom({ [field]: value })), problem);
    });

    it('takes the others of the batch, each in its place', () => {
      const answer = send('x', EVENT, { ...EVENT, event_id: 'evt-1002', user_data: {} });
      expect(answer.status).toBe(200);
      expect(said(answer)).toMatchObject({
        num_events_received: 3,
        num_events_processed: 1,
        events: [{ status: 'failed', error_message: 'event is not an object' }, PROCESSED, { status: 'failed' }],
      });
      expect(answer.received?.map(({ eventId, accepted }) => [eventId, accepted])).toEqual([
        ['', false],
        ['evt-1001', true],
        ['evt-1002', false],
      ]);
    });

    it('never repeats a value', () => {
      expect(JSON.stringify(send(withUser({ em: ['jane@example.com'], client_ip_address: 'jane' })))).not.toContain(
        'jane',
      );
    });
  });

  describe('when the request is wrong', () => {
    it.each([
      ['no JSON', '{'],
      ['no object', '[]'],
      ['no list', { data: {} }],
      ['no events', { data: [] }],
      ['more than events', { data: [EVENT], test: true }],
      ['too many events', { data: Array(1_001).fill(EVENT) }],
    ])('refuses %s', (_, body) => {
      const answer = pinterest.answer(post(body));
      expect(answer.status).toBe(400);
      expect(said(answer)).toEqual({ code: 4196, message: expect.stringContaining('invalid') });
      expect(answer.received).toBeUndefined();
    });

    it('takes as many events as may be', () => {
      expect(said(send(...Array(1_000).fill(EVENT)))).toMatchObject({ num_events_processed: 1_000 });
    });

    it('refuses another content type', () => {
      expect(pinterest.answer(post({ data: [EVENT] }, { 'content-type': 'text/plain' })).status).toBe(400);
    });

    it.each(['/v5/ad_accounts/abc/events', '/v3/ad_accounts/1/events', '/v5/ad_accounts/1/events/', '/'])(
      'has nothing at %s',
      (path) => {
        expect(pinterest.answer(post({ data: [EVENT] }, {}, path)).status).toBe(404);
      },
    );

    it('knows no GET', () => {
      expect(pinterest.answer(sandboxRequest('GET', PATH)).status).toBe(405);
    });
  });

  describe('when the credentials are wrong', () => {
    it.each([
      ['', 401, 2],
      ['Basic token', 401, 2],
      ['Bearer a-bad-one', 401, 2],
      ['Bearer forbidden', 403, 29],
    ])('answers %j with %d and code %d', (authorization, status, code) => {
      const answer = pinterest.answer(post({ data: [EVENT] }, { authorization }));
      expect(answer.status).toBe(status);
      expect(said(answer)).toEqual({ code, message: expect.any(String) });
      expect(answer.received).toBeUndefined();
    });
  });

  describe('when an event comes again', () => {
    it('answers as at first, with the same id and body', () => {
      const [first, second] = [send(EVENT), send(EVENT)];
      expect(said(second)).toMatchObject({ num_events_processed: 1 });
      expect(second.received).toEqual(first.received);
    });

    it('shows that the body changed', () => {
      const [first, second] = [send(EVENT).received?.[0], send(withCustom({ value: '1' })).received?.[0]];
      expect(second?.eventId).toBe(first?.eventId);
      expect(second?.bodySha256).not.toBe(first?.bodySha256);
    });

    it('goes by the event id alone, without a window', () => {
      expect(send(EVENT).received?.[0]).not.toHaveProperty('dedupKey');
      expect(pinterest.dedupWindowMs).toBeUndefined();
    });
  });

  describe('when told to fail', () => {
    it.each([
      ['refuse', 400, 4196],
      ['throttle', 429, 8],
      ['server_error', 503, 4197],
      ['unauthorized', 401, 2],
      ['forbidden', 403, 29],
    ] as const)('answers %s with %d and code %d', (kind, status, code) => {
      const answer = pinterest.fail(kind, post({ data: [EVENT] }));
      expect(answer.status).toBe(status);
      expect(said(answer)).toEqual({ code, message: expect.any(String) });
    });

    it('leaves the whole batch out at refuse', () => {
      const answer = pinterest.fail('refuse', post({ data: [EVENT, EVENT] }));
      expect(answer.received?.map((item) => item.accepted)).toEqual([false, false]);
    });

    it('fails the first one at refuse_one, and takes the others', () => {
      const answer = pinterest.fail('refuse_one', post({ data: [EVENT, EVENT] }));
      expect(answer.status).toBe(200);
      expect(said(answer)).toMatchObject({
        num_events_received: 2,
        num_events_processed: 1,
        events: [{ status: 'failed', error_message: expect.any(String) }, PROCESSED],
      });
      expect(answer.received?.map(({ accepted, problems }) => [accepted, problems])).toEqual([
        [false, []],
        [true, []],
      ]);
    });

    it.each(FAILURE_KINDS)('has an answer to %s of something unreadable', (kind) => {
      expect(pinterest.fail(kind, post('{')).status).toBeGreaterThanOrEqual(400);
    });
  });
});
