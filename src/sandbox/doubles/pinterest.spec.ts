import { hash } from 'node:crypto';
import { describeDoubleContract } from '../../../test/support/platform-double-contract.js';
import { acceptedIn, bodyOf, HASH, NOW_MS, poster } from '../../../test/support/platform-doubles.js';
import type { SandboxAnswer } from '../double.js';
import { double as pinterest } from './pinterest.js';

const TIME = NOW_MS / 1_000 - 30;
const URL = '/v5/ad_accounts/549755885175/events';

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

const post = poster(URL, { authorization: 'Bearer token' });
const send = (...data: unknown[]) => pinterest.answer(post({ data }));
const test = (body: unknown) => post(body, { url: `${URL}?test=true` });
const withUser = (user: object) => ({ ...EVENT, user_data: { ...USER, ...user } });
const withCustom = (custom: object) => ({ ...EVENT, custom_data: { ...CUSTOM, ...custom } });

const error = (code: number) => ({ code, message: expect.any(String) });
const INVALID = { code: 4196, message: expect.stringContaining('invalid') };

/** The answer is a 200 in which the event has failed. */
function expectInvalid(answer: SandboxAnswer, problem: unknown) {
  expect(answer.status).toBe(200);
  expect(bodyOf(answer)).toEqual({
    num_events_received: 1,
    num_events_processed: 0,
    events: [{ status: 'failed', error_message: problem, warning_message: null }],
  });
  expect(answer.received).toMatchObject([{ accepted: false, problems: [problem] }]);
}

describeDoubleContract(pinterest, {
  post,
  envelope: (data) => ({ data }),
  event: EVENT,
  withId: (event_id) => ({ ...EVENT, event_id }),
  changed: withCustom({ value: '1' }),
  recorded: { event: 'checkout' },
  accepted: (count) => ({
    num_events_received: count,
    num_events_processed: count,
    events: Array(count).fill(PROCESSED),
  }),
  variants: [
    ['only an email', { ...EVENT, user_data: { em: [HASH] } }],
    ['only a device id', { ...EVENT, user_data: { hashed_maids: [HASH] } }],
    ['only IP address and user agent', { ...EVENT, user_data: { client_ip_address: '::1', client_user_agent: 'UA' } }],
    ['no custom data', { ...EVENT, custom_data: undefined }],
    ['an old event', { ...EVENT, event_time: TIME - 400 * 86_400 }],
  ],
  deduplication: { keys: [[EVENT, undefined]], windowMs: undefined },
  expectInvalid,
  invalidFields: [
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
        ['click_id', HASH, 'user_data.click_id must not be hashed'],
        ['partner_id', 7, 'user_data.partner_id is not a string'],
        ['email', HASH, 'user_data.email is not a known property'],
      ],
    ],
    [
      'custom_data.',
      withCustom,
      [
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
        ['contents', [{ id: 'a', quantity: 0 }], 'custom_data.contents.0.quantity is 0'],
        ['contents', [{ id: 'a', item_name: 7 }], 'custom_data.contents.0.item_name is not a string'],
        ['contents', [{ id: 'a', item_category: 7 }], 'custom_data.contents.0.item_category is not a string'],
        ['contents', [{ id: 'a', price: '1' }], 'custom_data.contents.0.price is not a known property'],
        ['orderId', 'x', 'custom_data.orderId is not a known property'],
      ],
    ],
  ],
  personal: withUser({ em: ['jane@example.com'], client_ip_address: 'jane' }),
  invalidRequests: [
    ['invalid JSON', post('{'), 400, INVALID],
    ['a list', post('[]'), 400, INVALID],
    ['an object instead of a list', post({ data: {} }), 400, INVALID],
    ['an empty list', post({ data: [] }), 400, INVALID],
    ['an additional property', post({ data: [EVENT], test: true }), 400, INVALID],
    ['another content type', post({ data: [EVENT] }, { headers: { 'content-type': 'text/plain' } }), 400],
  ],
  batchMax: [1_000, 400, INVALID],
  unknownUrls: [['/v5/ad_accounts/abc/events', '/v3/ad_accounts/1/events', '/v5/ad_accounts/1/events/', '/'], 404],
  getAnswer: [405],
  credentials: [
    [{ headers: { authorization: '' } }, 401, error(2)],
    [{ headers: { authorization: 'Basic token' } }, 401, error(2)],
    [{ headers: { authorization: 'Bearer a-bad-one' } }, 401, error(2)],
    [{ headers: { authorization: 'Bearer forbidden' } }, 403, error(29)],
  ],
  failures: {
    refuse: [400, error(4196)],
    throttle: [429, error(8)],
    server_error: [503, error(4197)],
    unauthorized: [401, error(2)],
    forbidden: [403, error(29)],
  },
  refusesAll: ['refuse'],
});

describe('double of pinterest', () => {
  it('warns about the hash of a country in upper case', () => {
    const answer = (country: string) => send(withUser({ country: [hash('sha256', country)] }));
    expect(answer('de').received).toMatchObject([{ accepted: true, problems: [] }]);
    const warning = 'user_data.country is not the hash of two lower-case letters';
    expect(answer('DE').received).toMatchObject([{ accepted: true, problems: [warning] }]);
  });

  it('accepts an unknown event name with a warning', () => {
    const answer = send({ ...EVENT, event_name: 'find_location' });
    const warning = 'event_name is not a standard event';
    expect(bodyOf(answer)).toMatchObject({ events: [{ ...PROCESSED, warning_message: warning }] });
    expect(answer.received).toMatchObject([{ accepted: true, problems: [warning] }]);
  });

  it('checks a test request like any other and does not record it', () => {
    const answer = pinterest.answer(test({ data: [EVENT, { ...EVENT, event_id: undefined }] }));
    expect(bodyOf(answer)).toMatchObject({ num_events_received: 2, num_events_processed: 1 });
    expect(answer).not.toHaveProperty('received');
    expect(pinterest.fail('refuse', test({ data: [EVENT] }))).not.toHaveProperty('received');
    expect(pinterest.fail('refuse_one', test({ data: [EVENT] }))).not.toHaveProperty('received');
  });

  it('distinguishes test requests', () => {
    expect(pinterest.callKind?.(test({}))).toBe('test');
    expect(pinterest.callKind?.(post({}))).toBe('events');
    expect(pinterest.callKind?.(post({}, { url: `${URL}?test=false` }))).toBe('events');
  });

  it('accepts the valid events of a batch', () => {
    const answer = send('x', EVENT, { ...EVENT, event_id: 'evt-1002', user_data: {} });
    expect(answer.status).toBe(200);
    expect(bodyOf(answer)).toMatchObject({
      num_events_received: 3,
      num_events_processed: 1,
      events: [{ status: 'failed', error_message: 'event is not an object' }, PROCESSED, { status: 'failed' }],
    });
    expect(answer.received?.map(({ eventId }) => eventId)).toEqual(['', 'evt-1001', 'evt-1002']);
    expect(acceptedIn(answer)).toEqual([false, true, false]);
  });

  it('refuses only the first event on refuse_one', () => {
    const answer = pinterest.fail('refuse_one', post({ data: [EVENT, EVENT] }));
    expect(answer.status).toBe(200);
    expect(bodyOf(answer)).toMatchObject({
      num_events_received: 2,
      num_events_processed: 1,
      events: [{ status: 'failed', error_message: expect.any(String) }, PROCESSED],
    });
    expect(answer.received?.map(({ accepted, problems }) => [accepted, problems])).toEqual([
      [false, []],
      [true, []],
    ]);
  });
});
