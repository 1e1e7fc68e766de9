import { problems, said } from '../../../test/support/platform-doubles.js';
import { FAILURE_KINDS, type SandboxAnswer, sandboxRequest } from '../double.js';
import { snapchat } from './snapchat.js';

const NOW_MS = Date.parse('2026-03-01T10:16:00Z');
const TIME = NOW_MS / 1_000 - 30;
const HASH = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';
const PATH = '/v3/0f1e2d3c-pixel/events';

const USER = {
  em: [HASH],
  ph: [HASH],
  client_ip_address: '203.0.113.10',
  client_user_agent: 'UA',
  sc_click_id: 'SCCID',
  sc_cookie1: 'SCID',
  external_id: [HASH],
};
const CUSTOM = {
  currency: 'EUR',
  value: 129.9,
  order_id: 'ORD-1001',
  content_ids: ['SKU-1'],
  contents: [{ id: 'SKU-1', quantity: 1, item_price: 129.9 }],
  num_items: 1,
};
const EVENT = {
  event_name: 'PURCHASE',
  event_time: TIME,
  event_id: 'evt-1001',
  action_source: 'WEB',
  event_source_url: 'https://shop.example/thanks',
  user_data: USER,
  custom_data: CUSTOM,
};

function post(body: unknown, address = `${PATH}?access_token=token`, type = 'application/json') {
  return sandboxRequest('POST', address, {
    headers: { 'content-type': type },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    nowMs: NOW_MS,
  });
}
const send = (...data: unknown[]) => snapchat.answer(post({ data }));
const withUser = (user: object) => ({ ...EVENT, user_data: { ...USER, ...user } });
const withCustom = (custom: object) => ({ ...EVENT, custom_data: { ...CUSTOM, ...custom } });

/** The envelope of a refused event; everything is left out with it. */
function expectInvalid(answer: SandboxAnswer, event: number, ...messages: unknown[]) {
  expect(answer.status).toBe(400);
  expect(said(answer)).toEqual({
    status: 'INVALID',
    event,
    reason: expect.any(String),
    errors: { codes: messages.map(() => expect.any(String)), error_msgs: messages },
  });
  expect(answer.received?.every((item) => !item.accepted)).toBe(true);
  expect(problems(answer)?.[event]).toEqual(messages);
}

describe('the double of Snapchat', () => {
  describe('when everything is right', () => {
    it('takes one event', () => {
      const answer = send(EVENT);
      expect(answer.status).toBe(200);
      expect(said(answer)).toEqual({ status: 'VALID', reason: 'Events have been processed successfully.' });
      expect(answer.received).toEqual([
        {
          eventId: 'evt-1001',
          event: 'PURCHASE',
          problems: [],
          accepted: true,
          bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      ]);
    });

    it('takes a batch in its order', () => {
      const answer = send(EVENT, { ...EVENT, event_id: 'evt-1002' });
      expect(said(answer)).toMatchObject({ status: 'VALID' });
      expect(answer.received?.map((item) => [item.eventId, item.accepted])).toEqual([
        ['evt-1001', true],
        ['evt-1002', true],
      ]);
    });

    it.each([
      ['an email alone', { ...EVENT, user_data: { em: [HASH] } }],
      ['a phone alone', { ...EVENT, user_data: { ph: [HASH] } }],
      ['a device alone', { ...EVENT, action_source: 'MOBILE_APP', user_data: { madid: 'device' } }],
      ['an address with its agent', { ...EVENT, user_data: { client_ip_address: '::1', client_user_agent: 'UA' } }],
      ['the other spelling of the web', { ...EVENT, action_source: 'website' }],
      ['an amount as text', withCustom({ value: '129.90', contents: [{ id: 'a', quantity: '1', item_price: '2.5' }] })],
      ['a signup without an amount', { ...EVENT, event_name: 'SIGN_UP', custom_data: undefined }],
      ['a sale without a page', { ...EVENT, action_source: 'OFFLINE', event_source_url: undefined }],
      ['an event of last month', { ...EVENT, event_time: TIME - 36 * 86_400 }],
      ['limited data use', { ...EVENT, data_processing_options: ['LDU'] }],
    ])('takes %s', (_, event) => {
      expect(problems(send(event))).toEqual([[]]);
      expect(said(send(event))).toMatchObject({ status: 'VALID' });
    });
  });

  describe('when it only validates', () => {
    const validation = (body: unknown) => post(body, `${PATH}/validate?access_token=token`);

    it('says that all is well, and writes nothing down', () => {
      const answer = snapchat.answer(validation({ data: [EVENT] }));
      expect(answer.status).toBe(200);
      expect(said(answer)).toEqual({
        status: 'VALID',
        test_event: true,
        reason: expect.any(String),
        event_logs: [{ event: 0, status: 'VALID', errors: { codes: [], error_msgs: [] }, warnings: [] }],
      });
      expect(answer).not.toHaveProperty('received');
    });

    it('says of each event what is wrong, with HTTP 200', () => {
      const data = [
        { ...EVENT, event_id: undefined },
        { ...EVENT, event_time: undefined },
      ];
      const answer = snapchat.answer(validation({ data }));
      expect(answer.status).toBe(200);
      expect(said(answer)).toMatchObject({
        status: 'INVALID',
        test_event: true,
        event_logs: [
          { event: 0, status: 'VALID', warnings: ['event_id is missing: duplicates cannot be detected'] },
          { event: 1, status: 'INVALID', errors: { error_msgs: ['event_time is missing'] } },
        ],
      });
      expect(answer).not.toHaveProperty('received');
    });

    it('wants the token and the body as always, and is no call with events', () => {
      expect(snapchat.answer(post({ data: [EVENT] }, `${PATH}/validate`)).status).toBe(401);
      expect(snapchat.answer(validation({ data: [] })).status).toBe(400);
      expect(snapchat.fail('refuse', validation({ data: [EVENT] }))).not.toHaveProperty('received');
      expect(snapchat.callKind?.(validation({}))).toBe('test');
      expect(snapchat.callKind?.(post({}))).toBe('events');
    });
  });

  describe('when an event is wrong', () => {
    it.each([
      ['event_name', undefined, 'event_name is missing'],
      ['event_name', 7, 'event_name is not a string'],
      ['event_name', 'purchase', 'event_name is not an event name'],
      ['event_time', undefined, 'event_time is missing'],
      ['event_time', String(TIME), 'event_time is not a Unix time in seconds'],
      ['event_time', TIME * 1_000, 'event_time is not a Unix time in seconds'],
      ['event_time', TIME - 37 * 86_400, 'event_time is older than 888 hours'],
      ['event_id', 1001, 'event_id is not a string'],
      ['action_source', undefined, 'action_source is missing'],
      ['action_source', 'web', 'action_source is not one of WEB, website, MOBILE_APP, app, OFFLINE'],
      ['event_source_url', undefined, 'event_source_url is missing'],
      ['event_source_url', 'shop.example', 'event_source_url is not an http or https URL'],
      ['data_processing_options', 'LDU', 'data_processing_options is not a list of strings'],
      ['user_data', undefined, 'user_data is missing'],
      ['user_data', [], 'user_data is not an object'],
      ['user_data', {}, 'user_data has no sufficient identifier'],
      ['user_data', { sc_click_id: 'SCCID' }, 'user_data has no sufficient identifier'],
      ['user_data', { client_user_agent: 'UA' }, 'user_data has no sufficient identifier'],
      ['user_data', { external_id: [HASH], fn: [HASH] }, 'user_data has no sufficient identifier'],
      ['custom_data', 'x', 'custom_data is not an object'],
    ])('refuses %s = %j', (field, value, problem) => {
      expectInvalid(send({ ...EVENT, [field]: value }), 0, problem);
    });

    it.each([
      ['em', HASH, 'user_data.em is not a list'],
      ['em', [], 'user_data.em is empty'],
      ['em', ['jane.doe@example.com'], expect.stringMatching(/^user_data\.em is not a SHA-256/)],
      ['em', [HASH.toUpperCase()], expect.stringMatching(/^user_data\.em is not a SHA-256/)],
      ['ph', [HASH, '15550104477'], expect.stringMatching(/^user_data\.ph is not a SHA-256/)],
      ['external_id', ['user-42'], expect.stringMatching(/^user_data\.external_id is not a SHA-256/)],
      ['client_ip_address', HASH, 'user_data.client_ip_address is not an IP address'],
      ['client_user_agent', HASH, 'user_data.client_user_agent must not be hashed'],
      ['sc_click_id', HASH, 'user_data.sc_click_id must not be hashed'],
      ['sc_cookie1', '', 'user_data.sc_cookie1 is empty'],
    ])('refuses user_data.%s = %j', (field, value, problem) => {
      expectInvalid(send(withUser({ [field]: value })), 0, problem);
    });

    it.each([
      ['currency', undefined, 'custom_data.currency is missing'],
      ['currency', 'eur', 'custom_data.currency is not a currency code of three upper-case letters'],
      ['value', undefined, 'custom_data.value is missing'],
      ['value', 'much', 'custom_data.value is not an amount'],
      ['value', null, 'custom_data.value is not an amount'],
      ['order_id', 1001, 'custom_data.order_id is not a string'],
      ['num_items', '1', 'custom_data.num_items is not a whole number'],
      ['content_ids', [1], 'custom_data.content_ids is not a list of strings'],
      ['contents', {}, 'custom_data.contents is not a list'],
      ['contents', [{ quantity: 1 }], 'custom_data.contents.0.id is missing'],
      ['contents', [{ id: 'a', quantity: 'x' }], 'custom_data.contents.0.quantity is not an amount'],
      ['contents', [{ id: 'a', item_price: 'x' }], 'custom_data.contents.0.item_price is not an amount'],
    ])('refuses custom_data.%s = %j', (field, value, problem) => {
      expectInvalid(send(withCustom({ [field]: value })), 0, problem);
    });

    it('refuses a purchase without any amount', () => {
      const answer = send({ ...EVENT, custom_data: undefined });
      expectInvalid(answer, 0, 'custom_data.currency is missing', 'custom_data.value is missing');
    });

    it('refuses the good ones of the batch with it, and says which was the first', () => {
      const answer = send(EVENT, { ...EVENT, event_id: 'evt-1002', event_time: undefined }, 'x');
      expectInvalid(answer, 1, 'event_time is missing');
      expect(answer.received?.map(({ eventId, accepted }) => [eventId, accepted])).toEqual([
        ['evt-1001', false],
        ['evt-1002', false],
        ['', false],
      ]);
      expect(problems(answer)).toEqual([[], ['event_time is missing'], ['event is not an object']]);
    });

    it('takes an event without an id, and notes that its repeats cannot be told', () => {
      const answer = send({ ...EVENT, event_id: undefined });
      expect(said(answer)).toMatchObject({ status: 'VALID' });
      expect(answer.received).toMatchObject([{ eventId: '', accepted: true }]);
      expect(problems(answer)).toEqual([['event_id is missing: duplicates cannot be detected']]);
    });

    it('never repeats a value', () => {
      expect(JSON.stringify(send(withUser({ em: ['jane@example.com'], client_ip_address: 'jane' })))).not.toContain(
        'jane',
      );
    });
  });

  describe('when the request is wrong', () => {
    it.each([
      ['{', 'body is not a JSON object'],
      ['[]', 'body is not a JSON object'],
      [{}, 'data is missing'],
      [{ data: {} }, 'data is not a list'],
      [{ data: [] }, 'data is empty'],
    ])('refuses %j', (body, problem) => {
      const answer = snapchat.answer(post(body));
      expect(answer.status).toBe(400);
      expect(said(answer)).toEqual({
        status: 'INVALID',
        reason: problem,
        errors: { codes: [expect.any(String)], error_msgs: [problem] },
      });
      expect(answer.received).toBeUndefined();
    });

    it('takes two thousand events and no more', () => {
      expect(said(send(...Array(2_000).fill(EVENT)))).toMatchObject({ status: 'VALID' });
      expect(said(send(...Array(2_001).fill(EVENT)))).toMatchObject({ reason: 'data has more than 2000 elements' });
    });

    it('refuses another content type', () => {
      expect(snapchat.answer(post({ data: [EVENT] }, `${PATH}?access_token=token`, 'text/plain')).status).toBe(400);
    });

    it.each(['/v2/conversion', '/v3/events', `${PATH}/`, '/'])('has nothing at %s', (path) => {
      expect(snapchat.answer(post({ data: [EVENT] }, `${path}?access_token=token`)).status).toBe(404);
    });

    it('knows no GET', () => {
      expect(snapchat.answer(sandboxRequest('GET', PATH)).status).toBe(405);
    });
  });

  describe('when the credentials are wrong', () => {
    it.each([
      ['', 401],
      ['?access_token=', 401],
      ['?access_token=a-bad-one', 401],
      ['?access_token=forbidden', 403],
    ])('answers %j with %d', (query, status) => {
      const answer = snapchat.answer(post({ data: [EVENT] }, PATH + query));
      expect(answer.status).toBe(status);
      expect(said(answer)).toMatchObject({ status: 'INVALID', reason: expect.any(String) });
      expect(answer.received).toBeUndefined();
    });
  });

  describe('when an event comes again', () => {
    it('answers as at first, with the same id and body', () => {
      const [first, second] = [send(EVENT), send(EVENT)];
      expect(said(second)).toMatchObject({ status: 'VALID' });
      expect(second.received).toEqual(first.received);
    });

    it('shows that the body changed', () => {
      const [first, second] = [send(EVENT).received?.[0], send(withCustom({ value: 1 })).received?.[0]];
      expect(second?.eventId).toBe(first?.eventId);
      expect(second?.bodySha256).not.toBe(first?.bodySha256);
    });

    it('goes by the event id alone, for 48 hours', () => {
      expect(send(EVENT).received?.[0]).not.toHaveProperty('dedupKey');
      expect(snapchat.dedupWindowMs).toBe(48 * 3_600_000);
    });
  });

  describe('when told to fail', () => {
    it.each([
      ['refuse', 400],
      ['refuse_one', 400],
      ['throttle', 429],
      ['server_error', 500],
      ['unauthorized', 401],
      ['forbidden', 403],
    ] as const)('answers %s with %d', (kind, status) => {
      const answer = snapchat.fail(kind, post({ data: [EVENT] }));
      expect(answer.status).toBe(status);
      expect(said(answer)).toMatchObject({
        status: 'INVALID',
        reason: expect.any(String),
        errors: { codes: [expect.any(String)], error_msgs: [expect.any(String)] },
      });
    });

    it('names the first event at refuse_one, and none at refuse; the whole batch is left out', () => {
      const [one, all] = (['refuse_one', 'refuse'] as const).map((kind) =>
        snapchat.fail(kind, post({ data: [EVENT, EVENT] })),
      ) as [SandboxAnswer, SandboxAnswer];
      expect(said(one)).toMatchObject({ event: 0 });
      expect(said(all)).not.toHaveProperty('event');
      for (const answer of [one, all]) {
        expect(answer.received?.map(({ accepted, problems }) => [accepted, problems])).toEqual([
          [false, []],
          [false, []],
        ]);
      }
    });

    it('gives no hint how long to wait', () => {
      expect(snapchat.fail('throttle', post({ data: [EVENT] })).headers).not.toHaveProperty('retry-after');
    });

    it.each(FAILURE_KINDS)('has an answer to %s of something unreadable', (kind) => {
      expect(snapchat.fail(kind, post('{')).status).toBeGreaterThanOrEqual(400);
    });
  });
});
