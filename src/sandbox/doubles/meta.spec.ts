import { problems, said } from '../../../test/support/platform-doubles.js';
import { FAILURE_KINDS, type SandboxAnswer, sandboxRequest } from '../double.js';
import { meta } from './meta.js';

const NOW_MS = Date.parse('2026-03-01T10:16:00Z');
const TIME = NOW_MS / 1_000 - 30;
const HASH = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';
const ADDRESS = '/v26.0/1234567890/events';

const USER = {
  em: [HASH],
  ph: [HASH],
  external_id: HASH,
  client_ip_address: '203.0.113.10',
  client_user_agent: 'UA',
  fbc: `fb.1.${NOW_MS - 1_000_000}.IwAR_Xy-z`,
  fbp: 'fb.1.1772350000000.1234567890',
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
  event_name: 'Purchase',
  event_time: TIME,
  event_id: 'evt-1001',
  action_source: 'website',
  event_source_url: 'https://shop.example/thanks',
  user_data: USER,
  custom_data: CUSTOM,
};

function post(body: unknown, address = `${ADDRESS}?access_token=token`, type = 'application/json') {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return sandboxRequest('POST', address, { headers: { 'content-type': type }, body: text, nowMs: NOW_MS });
}
const send = (...events: unknown[]) => meta.answer(post({ data: events }));
const withUser = (user: object) => ({ ...EVENT, user_data: { ...USER, ...user } });
const withCustom = (custom: object) => ({ ...EVENT, custom_data: { ...CUSTOM, ...custom } });

/** The refusal of a bad event: everything is left out, and nothing says which one it was. */
function expectRefused(answer: SandboxAnswer, subcode: number | undefined, problem: string) {
  expect(answer.status).toBe(400);
  expect(said(answer)['error']).toEqual({
    message: 'Invalid parameter',
    type: 'OAuthException',
    code: 100,
    ...(subcode === undefined ? {} : { error_subcode: subcode }),
    is_transient: false,
    error_user_title: expect.any(String),
    error_user_msg: expect.any(String),
    fbtrace_id: expect.any(String),
  });
  expect(problems(answer)?.[0]).toContainEqual(problem);
  expect(answer.received?.every((item) => !item.accepted)).toBe(true);
}

describe('the double of Meta', () => {
  describe('when everything is right', () => {
    it('takes one event', () => {
      const answer = send(EVENT);
      expect(answer.status).toBe(200);
      expect(said(answer)).toEqual({ events_received: 1, messages: [], fbtrace_id: expect.any(String) });
      expect(answer.received).toEqual([
        {
          eventId: 'evt-1001',
          event: 'Purchase',
          problems: [],
          accepted: true,
          bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          dedupKey: 'Purchase evt-1001',
        },
      ]);
    });

    it('takes a batch in its order', () => {
      const answer = send(EVENT, { ...EVENT, event_id: 'evt-1002' });
      expect(said(answer)).toMatchObject({ events_received: 2 });
      expect(answer.received?.map((item) => [item.eventId, item.accepted])).toEqual([
        ['evt-1001', true],
        ['evt-1002', true],
      ]);
    });

    it.each([
      ['a CRM event without a page', { ...EVENT, action_source: 'system_generated', event_source_url: undefined }],
      ['an email alone', { ...EVENT, action_source: 'other', user_data: { em: HASH } }],
      ['an address with its agent', withUser({ em: undefined, ph: undefined, external_id: undefined, fbc: undefined })],
      ['a lead without an amount', { ...EVENT, event_name: 'Lead', custom_data: undefined }],
      ['a currency in lower case', withCustom({ currency: 'eur' })],
      ["the suffix of Meta's own builder", withUser({ em: `${HASH}.AQQBAQIB`, fbp: `${USER.fbp}.AQ` })],
      ['a sale in a shop of last month', { ...EVENT, action_source: 'physical_store', event_time: TIME - 30 * 86_400 }],
      [
        'limited data use',
        {
          ...EVENT,
          data_processing_options: ['LDU'],
          data_processing_options_country: 0,
          data_processing_options_state: 0,
        },
      ],
    ])('takes %s', (_, event) => {
      const answer = send(event);
      expect(problems(answer)).toEqual([[]]);
      expect(answer.status).toBe(200);
    });

    it('takes the token in the body, and a test code', () => {
      const answer = meta.answer(post({ data: [EVENT], access_token: 'token', test_event_code: 'TEST1' }, ADDRESS));
      expect(answer.status).toBe(200);
      expect(answer.received).toHaveLength(1);
    });
  });

  describe('when an event is wrong', () => {
    it.each([
      ['event_name', undefined, undefined, 'event_name is missing'],
      ['event_name', 7, undefined, 'event_name is not a string'],
      ['event_time', undefined, undefined, 'event_time is missing'],
      ['event_time', String(TIME), undefined, 'event_time is not a Unix time in seconds'],
      ['event_time', TIME * 1_000, undefined, 'event_time is not a Unix time in seconds'],
      ['event_time', TIME + 120, undefined, 'event_time is in the future'],
      ['event_time', TIME - 7 * 86_400, 2804003, 'event_time is older than 168 hours'],
      ['action_source', undefined, undefined, 'action_source is missing'],
      ['action_source', 'WEB', undefined, expect.stringMatching(/^action_source is not one of/)],
      ['event_id', 1001, undefined, 'event_id is not a string'],
      ['event_source_url', undefined, undefined, 'event_source_url is missing'],
      ['event_source_url', 'shop.example', undefined, 'event_source_url is not an http or https URL'],
      ['user_data', undefined, undefined, 'user_data is missing'],
      ['user_data', [], undefined, 'user_data is not an object'],
      ['custom_data', undefined, 2804009, 'custom_data.value is missing'],
      ['custom_data', 'x', undefined, 'custom_data is not an object'],
      ['data_processing_options', 'LDU', undefined, 'data_processing_options is not a list of strings'],
      ['data_processing_options', ['LDU'], undefined, 'data_processing_options_country is missing'],
    ])('refuses %s = %j', (field, value, subcode, problem) => {
      expectRefused(send({ ...EVENT, [field]: value }), subcode, problem);
    });

    it.each([
      ['em', ['jane.doe@example.com'], 2804016, /^user_data\.em is not a SHA-256/],
      ['em', HASH.toUpperCase(), 2804016, /^user_data\.em is not a SHA-256/],
      ['em', [], 2804016, /^user_data\.em is empty/],
      ['em', [[HASH]], 2804016, /^user_data\.em is nested/],
      ['ph', [HASH, '15550104477'], 2804016, /^user_data\.ph is not a SHA-256/],
      [
        'fn',
        'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
        2804016,
        /^user_data\.fn is the hash of an empty string/,
      ],
      ['country', 'us', 2804016, /^user_data\.country is not a SHA-256/],
      ['client_ip_address', HASH, undefined, /^user_data\.client_ip_address is not an IP address/],
      ['client_user_agent', HASH, undefined, /^user_data\.client_user_agent must not be hashed/],
      ['client_user_agent', undefined, undefined, /^user_data\.client_user_agent is missing/],
      ['fbc', 'IwAR_Xy-z', undefined, /^user_data\.fbc is not fb/],
      ['fbc', HASH, undefined, /^user_data\.fbc is not fb/],
      ['fbc', `fb.1.${NOW_MS - 91 * 86_400_000}.IwAR`, undefined, /^user_data\.fbc is older than 90 days/],
      ['fbc', `fb.1.${NOW_MS + 86_400_000}.IwAR`, undefined, /^user_data\.fbc is in the future/],
      ['fbp', 'fb.1.1772350000.123', undefined, /^user_data\.fbp is not fb/],
      ['lead_id', HASH, undefined, /^user_data\.lead_id must not be hashed/],
      ['lead_id', -1, undefined, /^user_data\.lead_id is not a whole number/],
      ['ctwa_clid', HASH, undefined, /^user_data\.ctwa_clid must not be hashed/],
    ])('refuses user_data.%s = %j', (field, value, subcode, problem) => {
      expectRefused(send(withUser({ [field]: value })), subcode, expect.stringMatching(problem));
    });

    it.each([
      ['value', '129.90', undefined, 'custom_data.value is not a number'],
      ['value', undefined, 2804009, 'custom_data.value is missing'],
      ['currency', undefined, undefined, 'custom_data.currency is missing'],
      ['currency', '€', undefined, 'custom_data.currency is not a currency code of three upper-case letters'],
      ['order_id', 1001, undefined, 'custom_data.order_id is not a string'],
      ['num_items', 1.5, undefined, 'custom_data.num_items is not a whole number'],
      ['content_ids', 'SKU-1', undefined, 'custom_data.content_ids is not a list of strings'],
      ['contents', {}, undefined, 'custom_data.contents is not a list'],
      ['contents', [{ quantity: 1 }], undefined, 'custom_data.contents.0.id is missing'],
      ['contents', [{ id: 'a', quantity: '1' }], undefined, 'custom_data.contents.0.quantity is not a whole number'],
      [
        'contents',
        [{ id: 'a' }, { id: 'b', item_price: '1' }],
        undefined,
        'custom_data.contents.1.item_price is not a number',
      ],
    ])('refuses custom_data.%s = %j', (field, value, subcode, problem) => {
      expectRefused(send(withCustom({ [field]: value })), subcode, problem);
    });

    it.each([
      [{ client_user_agent: 'UA' }],
      [{ client_ip_address: '203.0.113.10' }],
      [{ country: [HASH], ge: [HASH], ct: [HASH] }],
      [{}],
    ])('refuses a customer known only by %j', (user) => {
      const event = { ...EVENT, action_source: 'other', user_data: user };
      expectRefused(send(event), 2804050, 'user_data has no sufficient identifier');
    });

    it('refuses the good ones of the batch with it', () => {
      const answer = send(EVENT, { ...EVENT, event_id: 'evt-1002', event_time: TIME - 8 * 86_400 }, 'x');
      expect(answer.status).toBe(400);
      expect(said(answer)['error']).toMatchObject({ code: 100, error_subcode: 2804003 });
      expect(answer.received?.map(({ eventId, accepted }) => [eventId, accepted])).toEqual([
        ['evt-1001', false],
        ['evt-1002', false],
        ['', false],
      ]);
      expect(problems(answer)).toEqual([[], ['event_time is older than 168 hours'], ['event is not an object']]);
    });

    it('takes an event without an id, and notes that its repeats cannot be told', () => {
      const answer = send({ ...EVENT, event_id: undefined });
      expect(answer.status).toBe(200);
      expect(answer.received).toMatchObject([{ eventId: '', accepted: true }]);
      expect(answer.received?.[0]).not.toHaveProperty('dedupKey');
      expect(problems(answer)).toEqual([['event_id is missing: duplicates cannot be detected']]);
    });

    it('never repeats a value', () => {
      const answer = send(withUser({ em: 'jane.doe@example.com', client_ip_address: 'jane.doe@example.com' }));
      expect(JSON.stringify(answer)).not.toContain('jane');
    });
  });

  describe('when the request is wrong', () => {
    it.each([
      ['no JSON', '{'],
      ['no object', '[]'],
      ['no list of events', { data: {} }],
      ['no events', { data: [] }],
      ['too many events', { data: Array(1_001).fill(EVENT) }],
      ['a test code that is no text', { data: [EVENT], test_event_code: 1 }],
    ])('refuses %s', (_, body) => {
      const answer = meta.answer(post(body));
      expect(answer.status).toBe(400);
      expect(said(answer)['error']).toMatchObject({ type: 'OAuthException', code: 100 });
      expect(said(answer)['error']).not.toHaveProperty('error_subcode');
      expect(answer.received).toBeUndefined();
    });

    it('takes as many events as may be', () => {
      expect(said(meta.answer(post({ data: Array(1_000).fill(EVENT) })))).toMatchObject({ events_received: 1_000 });
    });

    it('refuses another content type', () => {
      const answer = meta.answer(post({ data: [EVENT] }, `${ADDRESS}?access_token=token`, 'text/plain'));
      expect(said(answer)['error']).toMatchObject({ code: 100, message: expect.stringContaining('content-type') });
    });

    it.each(['/1234567890/events', '/v26.0/pixel/events', '/v26.0/123/events/', '/v26/123/events', '/'])(
      'knows no %s',
      (path) => {
        const answer = meta.answer(post({ data: [EVENT] }, `${path}?access_token=token`));
        expect(answer.status).toBe(400);
        expect(said(answer)['error']).toMatchObject({ type: 'GraphMethodException', code: 100, error_subcode: 33 });
      },
    );

    it('knows no GET', () => {
      const answer = meta.answer(sandboxRequest('GET', `${ADDRESS}?access_token=token`));
      expect(said(answer)['error']).toMatchObject({ code: 100, error_subcode: 33 });
    });
  });

  describe('when the credentials are wrong', () => {
    it.each([
      ['', 401, 190],
      ['?access_token=', 401, 190],
      ['?access_token=a-bad-one', 401, 190],
      ['?access_token=two%20words', 401, 190],
      ['?access_token=forbidden', 403, 200],
    ])('answers %j with %d and code %d', (query, status, code) => {
      const answer = meta.answer(post({ data: [EVENT] }, ADDRESS + query));
      expect(answer.status).toBe(status);
      expect(said(answer)['error']).toMatchObject({ type: 'OAuthException', code, fbtrace_id: expect.any(String) });
      expect(answer.received).toBeUndefined();
    });

    it('does not take the token of a header', () => {
      const request = post({ data: [EVENT] }, ADDRESS);
      const answer = meta.answer({ ...request, headers: { ...request.headers, authorization: 'Bearer token' } });
      expect(answer.status).toBe(401);
    });
  });

  describe('when an event comes again', () => {
    it('answers as at first, with the same key and body', () => {
      const [first, second] = [send(EVENT), send(EVENT)];
      expect(second.status).toBe(200);
      expect(second.received).toEqual(first.received);
    });

    it('shows that the body changed', () => {
      const [first, second] = [send(EVENT).received?.[0], send(withCustom({ value: 1 })).received?.[0]];
      expect(second?.dedupKey).toBe(first?.dedupKey);
      expect(second?.bodySha256).not.toBe(first?.bodySha256);
    });

    it('tells events of another name apart, and remembers for 48 hours', () => {
      expect(send({ ...EVENT, event_name: 'Lead' }).received?.[0]?.dedupKey).toBe('Lead evt-1001');
      expect(meta.dedupWindowMs).toBe(48 * 3_600_000);
    });
  });

  describe('when told to fail', () => {
    it.each([
      ['refuse', 400, { code: 100, is_transient: false }],
      ['refuse_one', 400, { code: 100, error_subcode: 2804050, is_transient: false }],
      ['throttle', 400, { code: 80003 }],
      ['server_error', 500, { code: 2, is_transient: true }],
      ['unauthorized', 401, { code: 190 }],
      ['forbidden', 403, { code: 200 }],
    ] as const)('answers %s with %d %j', (kind, status, error) => {
      const answer = meta.fail(kind, post({ data: [EVENT] }));
      expect(answer.status).toBe(status);
      expect(said(answer)['error']).toMatchObject({ type: 'OAuthException', message: expect.any(String), ...error });
    });

    it.each(['refuse', 'refuse_one'] as const)('leaves the whole batch out at %s', (kind) => {
      const answer = meta.fail(kind, post({ data: [EVENT, EVENT] }));
      expect(answer.received?.map(({ accepted, problems }) => [accepted, problems])).toEqual([
        [false, []],
        [false, []],
      ]);
    });

    it.each(FAILURE_KINDS)('has an answer to %s of something unreadable', (kind) => {
      expect(meta.fail(kind, post('{')).status).toBeGreaterThanOrEqual(400);
    });
  });
});
