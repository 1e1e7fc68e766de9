import { hash } from 'node:crypto';
import { describeDoubleContract } from '../../../test/support/platform-double-contract.js';
import { bodyOf, CUSTOM_DATA, HASH, NOW_MS, poster, problemsIn } from '../../../test/support/platform-doubles.js';
import type { SandboxAnswer } from '../double.js';
import { double as snapchat } from './snapchat.js';

const TIME = NOW_MS / 1_000 - 30;
const URL = '/v3/0f1e2d3c-pixel/events';

const USER = {
  em: [HASH],
  ph: [HASH],
  client_ip_address: '203.0.113.10',
  client_user_agent: 'UA',
  sc_click_id: 'SCCID',
  sc_cookie1: 'SCID',
  external_id: [HASH],
};
const EVENT = {
  event_name: 'PURCHASE',
  event_time: TIME,
  event_id: 'evt-1001',
  action_source: 'WEB',
  event_source_url: 'https://shop.example/thanks',
  user_data: USER,
  custom_data: CUSTOM_DATA,
};

const post = poster(`${URL}?access_token=token`);
const validation = (body: unknown) => post(body, { url: `${URL}/validate?access_token=token` });
const withUser = (user: object) => ({ ...EVENT, user_data: { ...USER, ...user } });
const withCustom = (custom: object) => ({ ...EVENT, custom_data: { ...CUSTOM_DATA, ...custom } });

const invalid = (...messages: unknown[]) => ({
  status: 'INVALID',
  reason: expect.any(String),
  errors: { codes: messages.map(() => expect.any(String)), error_msgs: messages },
});
const REFUSED = invalid(expect.any(String));
/** The request is refused for this reason. */
const refusedFor = (reason: string) => ({ ...invalid(reason), reason });

/** The whole request is refused, and `event` is the index of the invalid event. */
function expectInvalid(answer: SandboxAnswer, ...messages: unknown[]) {
  expect(answer.status).toBe(400);
  expect(bodyOf(answer)).toEqual({ ...invalid(...messages), event: 0 });
  expect(answer.received?.every((item) => !item.accepted)).toBe(true);
  expect(problemsIn(answer)?.[0]).toEqual(messages);
}

describeDoubleContract(snapchat, {
  post,
  envelope: (data) => ({ data }),
  event: EVENT,
  withId: (event_id) => ({ ...EVENT, event_id }),
  changed: withCustom({ value: 1 }),
  recorded: { event: 'PURCHASE' },
  accepted: () => ({ status: 'VALID', reason: 'Events have been processed successfully.' }),
  variants: [
    ['only an email', { ...EVENT, user_data: { em: [HASH] } }],
    ['only a phone number', { ...EVENT, user_data: { ph: [HASH] } }],
    ['only a device id', { ...EVENT, action_source: 'MOBILE_APP', user_data: { madid: 'device' } }],
    ['only IP address and user agent', { ...EVENT, user_data: { client_ip_address: '::1', client_user_agent: 'UA' } }],
    ['the other name of the web source', { ...EVENT, action_source: 'website' }],
    ['amounts as strings', withCustom({ value: '129.90', contents: [{ id: 'a', quantity: '1', item_price: '2.5' }] })],
    ['a sign-up without an amount', { ...EVENT, event_name: 'SIGN_UP', custom_data: undefined }],
    ['a sale without a page', { ...EVENT, action_source: 'OFFLINE', event_source_url: undefined }],
    ['an event of last month', { ...EVENT, event_time: TIME - 36 * 86_400 }],
    ['limited data use', { ...EVENT, data_processing_options: ['LDU'] }],
  ],
  deduplication: { keys: [[EVENT, undefined]], windowMs: 48 * 3_600_000 },
  expectInvalid,
  invalidFields: [
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
    // A purchase requires an amount.
    ['custom_data', undefined, 'custom_data.currency is missing', 'custom_data.value is missing'],
  ],
  invalidNestedFields: [
    [
      'user_data.',
      withUser,
      [
        ['em', HASH, 'user_data.em is not a list'],
        ['em', [], 'user_data.em is empty'],
        ['em', ['jane.doe@example.com'], expect.stringMatching(/^user_data\.em is not a SHA-256/)],
        ['em', [HASH.toUpperCase()], expect.stringMatching(/^user_data\.em is not a SHA-256/)],
        ['ph', [HASH, '15550104477'], expect.stringMatching(/^user_data\.ph is not a SHA-256/)],
        ['external_id', ['user-42'], expect.stringMatching(/^user_data\.external_id is not a SHA-256/)],
        ['ct', ['berlin'], expect.stringMatching(/^user_data\.ct is not a SHA-256/)],
        ['st', ['be'], expect.stringMatching(/^user_data\.st is not a SHA-256/)],
        ['zp', HASH, 'user_data.zp is not a list'],
        ['country', ['de'], expect.stringMatching(/^user_data\.country is not a SHA-256/)],
        ['client_ip_address', HASH, 'user_data.client_ip_address is not an IP address'],
        ['client_user_agent', HASH, 'user_data.client_user_agent must not be hashed'],
        ['sc_click_id', HASH, 'user_data.sc_click_id must not be hashed'],
        ['sc_cookie1', '', 'user_data.sc_cookie1 is empty'],
      ],
    ],
    [
      'custom_data.',
      withCustom,
      [
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
        ['contents', [{ id: 'a', quantity: '1.5' }], 'custom_data.contents.0.quantity is not a whole number'],
        ['contents', [{ id: 'a', quantity: 0 }], 'custom_data.contents.0.quantity is 0'],
        ['contents', [{ id: 'a', item_price: 'x' }], 'custom_data.contents.0.item_price is not an amount'],
      ],
    ],
  ],
  refusedBatch: {
    invalid: { ...EVENT, event_id: 'evt-1002', event_time: undefined },
    problem: 'event_time is missing',
    itemName: 'event',
    answer: [400, { ...invalid('event_time is missing'), event: 1 }],
  },
  idField: 'event_id',
  personal: withUser({ em: ['jane@example.com'], client_ip_address: 'jane' }),
  invalidRequests: [
    ['invalid JSON', post('{'), 400, refusedFor('body is not a JSON object')],
    ['a list', post('[]'), 400, refusedFor('body is not a JSON object')],
    ['an empty object', post({}), 400, refusedFor('data is missing')],
    ['an object instead of a list', post({ data: {} }), 400, refusedFor('data is not a list')],
    ['an empty list', post({ data: [] }), 400, refusedFor('data is empty')],
    ['another content type', post({ data: [EVENT] }, { headers: { 'content-type': 'text/plain' } }), 400],
  ],
  batchMax: [2_000, 400, refusedFor('data has more than 2000 elements')],
  unknownUrls: [['/v2/conversion', '/v3/events', `${URL}/`, '/'].map((path) => `${path}?access_token=token`), 404],
  getAnswer: [405],
  credentials: [
    [{ url: URL }, 401, REFUSED],
    [{ url: `${URL}?access_token=` }, 401, REFUSED],
    [{ url: `${URL}?access_token=a-bad-one` }, 401, REFUSED],
    [{ url: `${URL}?access_token=forbidden` }, 403, REFUSED],
  ],
  failures: {
    refuse: [400, REFUSED],
    refuse_one: [400, { ...REFUSED, event: 0 }],
    throttle: [429, REFUSED],
    server_error: [500, REFUSED],
    unauthorized: [401, REFUSED],
    forbidden: [403, REFUSED],
  },
  refusesAll: ['refuse', 'refuse_one'],
});

describe('double of snapchat', () => {
  it('warns about the hash of a country in upper case', () => {
    const answer = (country: string) =>
      snapchat.answer(post({ data: [withUser({ country: [hash('sha256', country)] })] }));
    expect(answer('de').received).toMatchObject([{ accepted: true, problems: [] }]);
    const warning = 'user_data.country is not the hash of two lower-case letters';
    expect(answer('DE').received).toMatchObject([{ accepted: true, problems: [warning] }]);
  });

  describe('validation', () => {
    it('reports a valid event and does not record it', () => {
      const answer = snapchat.answer(validation({ data: [EVENT] }));
      expect(answer.status).toBe(200);
      expect(bodyOf(answer)).toEqual({
        status: 'VALID',
        test_event: true,
        reason: expect.any(String),
        event_logs: [{ event: 0, status: 'VALID', errors: { codes: [], error_msgs: [] }, warnings: [] }],
      });
      expect(answer).not.toHaveProperty('received');
    });

    it('reports the problems of each event with HTTP 200', () => {
      const data = [
        { ...EVENT, event_id: undefined },
        { ...EVENT, event_time: undefined },
      ];
      const answer = snapchat.answer(validation({ data }));
      expect(answer.status).toBe(200);
      expect(bodyOf(answer)).toMatchObject({
        status: 'INVALID',
        test_event: true,
        event_logs: [
          { event: 0, status: 'VALID', warnings: ['event_id is missing: duplicates cannot be detected'] },
          { event: 1, status: 'INVALID', errors: { error_msgs: ['event_time is missing'] } },
        ],
      });
      expect(answer).not.toHaveProperty('received');
    });

    it('requires the token and a valid body, and is a test request', () => {
      expect(snapchat.answer(post({ data: [EVENT] }, { url: `${URL}/validate` })).status).toBe(401);
      expect(snapchat.answer(validation({ data: [] })).status).toBe(400);
      expect(snapchat.fail('refuse', validation({ data: [EVENT] }))).not.toHaveProperty('received');
      expect(snapchat.callKind?.(validation({}))).toBe('test');
      expect(snapchat.callKind?.(post({}))).toBe('events');
    });
  });

  it('reports no waiting time when it throttles', () => {
    expect(snapchat.fail('throttle', post({ data: [EVENT] })).headers).not.toHaveProperty('retry-after');
  });
});
