import { hash } from 'node:crypto';
import { describeDoubleContract } from '../../../test/support/platform-double-contract.js';
import { bodyOf, CUSTOM_DATA, HASH, NOW_MS, poster, problemsIn } from '../../../test/support/platform-doubles.js';
import type { SandboxAnswer } from '../double.js';
import { double as meta } from './meta.js';

const TIME = NOW_MS / 1_000 - 30;
const URL = '/v26.0/1234567890/events';

const USER = {
  em: [HASH],
  ph: [HASH],
  external_id: HASH,
  client_ip_address: '203.0.113.10',
  client_user_agent: 'UA',
  fbc: `fb.1.${NOW_MS - 1_000_000}.IwAR_Xy-z`,
  fbp: 'fb.1.1772350000000.1234567890',
};
const EVENT = {
  event_name: 'Purchase',
  event_time: TIME,
  event_id: 'evt-1001',
  action_source: 'website',
  event_source_url: 'https://shop.example/thanks',
  user_data: USER,
  custom_data: CUSTOM_DATA,
};

const post = poster(`${URL}?access_token=token`);
const withUser = (user: object) => ({ ...EVENT, user_data: { ...USER, ...user } });
const withCustom = (custom: object) => ({ ...EVENT, custom_data: { ...CUSTOM_DATA, ...custom } });

const error = (fields: object) => ({
  error: expect.objectContaining({
    type: 'OAuthException',
    message: expect.any(String),
    fbtrace_id: expect.any(String),
    ...fields,
  }),
});
/** An invalid parameter without a subcode. */
const INVALID_PARAMETER = {
  error: { type: 'OAuthException', code: 100, message: expect.any(String), fbtrace_id: expect.any(String) },
};
const UNKNOWN_OBJECT = {
  error: expect.objectContaining({ type: 'GraphMethodException', code: 100, error_subcode: 33 }),
};

/** The whole request is refused, and the answer does not identify the event. */
function expectInvalid(answer: SandboxAnswer, subcode: number | undefined, problem: string) {
  expect(answer.status).toBe(400);
  expect(bodyOf(answer).error).toEqual({
    message: 'Invalid parameter',
    type: 'OAuthException',
    code: 100,
    ...(subcode === undefined ? {} : { error_subcode: subcode }),
    is_transient: false,
    error_user_title: expect.any(String),
    error_user_msg: expect.any(String),
    fbtrace_id: expect.any(String),
  });
  expect(problemsIn(answer)?.[0]).toContainEqual(problem);
  expect(answer.received?.every((item) => !item.accepted)).toBe(true);
}

describeDoubleContract(meta, {
  post,
  envelope: (data) => ({ data }),
  event: EVENT,
  withId: (event_id) => ({ ...EVENT, event_id }),
  changed: withCustom({ value: 1 }),
  recorded: { event: 'Purchase', dedupKey: 'Purchase evt-1001' },
  accepted: (count) => ({ events_received: count, messages: [], fbtrace_id: expect.any(String) }),
  variants: [
    ['a CRM event without a page', { ...EVENT, action_source: 'system_generated', event_source_url: undefined }],
    ['only an email', { ...EVENT, action_source: 'other', user_data: { em: HASH } }],
    [
      'only IP address and user agent',
      withUser({ em: undefined, ph: undefined, external_id: undefined, fbc: undefined }),
    ],
    ['a lead without an amount', { ...EVENT, event_name: 'Lead', custom_data: undefined }],
    ['a currency in lower case', withCustom({ currency: 'eur' })],
    ["the suffix of Meta's parameter builder", withUser({ em: `${HASH}.AQQBAQIB`, fbp: `${USER.fbp}.AQ` })],
    ['a sale in a store of last month', { ...EVENT, action_source: 'physical_store', event_time: TIME - 30 * 86_400 }],
    [
      'limited data use',
      {
        ...EVENT,
        data_processing_options: ['LDU'],
        data_processing_options_country: 0,
        data_processing_options_state: 0,
      },
    ],
  ],
  deduplication: { keys: [[{ ...EVENT, event_name: 'Lead' }, 'Lead evt-1001']], windowMs: 48 * 3_600_000 },
  expectInvalid,
  invalidFields: [
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
    ['action_source', 'app', undefined, 'app_data.extinfo is missing'],
    ['custom_data', undefined, 2804009, 'custom_data.value is missing'],
    ['custom_data', 'x', undefined, 'custom_data is not an object'],
    ['data_processing_options', 'LDU', undefined, 'data_processing_options is not a list of strings'],
    ['data_processing_options', ['LDU'], undefined, 'data_processing_options_country is missing'],
  ],
  invalidNestedFields: [
    [
      'user_data.',
      withUser,
      [
        ['em', ['jane.doe@example.com'], 2804016, expect.stringMatching(/^user_data\.em is not a SHA-256/)],
        ['em', HASH.toUpperCase(), 2804016, expect.stringMatching(/^user_data\.em is not a SHA-256/)],
        ['em', [], 2804016, 'user_data.em is empty'],
        ['em', [[HASH]], 2804016, 'user_data.em is nested'],
        ['ph', [HASH, '15550104477'], 2804016, expect.stringMatching(/^user_data\.ph is not a SHA-256/)],
        [
          'fn',
          'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
          2804016,
          'user_data.fn is the hash of an empty string',
        ],
        ['ct', ['losangeles'], 2804016, expect.stringMatching(/^user_data\.ct is not a SHA-256/)],
        ['st', ['ca'], 2804016, expect.stringMatching(/^user_data\.st is not a SHA-256/)],
        ['zp', ['90001'], 2804016, expect.stringMatching(/^user_data\.zp is not a SHA-256/)],
        ['external_id', ['user-42'], 2804016, expect.stringMatching(/^user_data\.external_id is not a SHA-256/)],
        ['country', 'us', 2804016, expect.stringMatching(/^user_data\.country is not a SHA-256/)],
        ['client_ip_address', HASH, undefined, 'user_data.client_ip_address is not an IP address'],
        ['client_user_agent', HASH, undefined, 'user_data.client_user_agent must not be hashed'],
        ['client_user_agent', undefined, undefined, 'user_data.client_user_agent is missing'],
        ['fbc', 'IwAR_Xy-z', undefined, expect.stringMatching(/^user_data\.fbc is not fb/)],
        ['fbc', HASH, undefined, expect.stringMatching(/^user_data\.fbc is not fb/)],
        ['fbc', `fb.1.${NOW_MS - 91 * 86_400_000}.IwAR`, undefined, 'user_data.fbc is older than 90 days'],
        ['fbc', `fb.1.${NOW_MS + 86_400_000}.IwAR`, undefined, 'user_data.fbc is in the future'],
        ['fbp', 'fb.1.1772350000.123', undefined, expect.stringMatching(/^user_data\.fbp is not fb/)],
        ['lead_id', HASH, undefined, 'user_data.lead_id is not an id of 15 to 17 digits'],
        ['lead_id', '12345678901234', undefined, 'user_data.lead_id is not an id of 15 to 17 digits'],
        ['lead_id', -1, undefined, 'user_data.lead_id is not an id of 15 to 17 digits'],
        ['ctwa_clid', HASH, undefined, 'user_data.ctwa_clid must not be hashed'],
      ],
    ],
    [
      'custom_data.',
      withCustom,
      [
        ['value', '129.90', undefined, 'custom_data.value is not a number'],
        ['value', undefined, 2804009, 'custom_data.value is missing'],
        ['currency', undefined, undefined, 'custom_data.currency is missing'],
        ['currency', '€', undefined, 'custom_data.currency is not a currency code of three upper-case letters'],
        ['order_id', 1001, undefined, 'custom_data.order_id is not a string'],
        ['num_items', 1.5, undefined, 'custom_data.num_items is not a whole number'],
        ['content_ids', 'SKU-1', undefined, 'custom_data.content_ids is not a list of strings'],
        ['contents', {}, undefined, 'custom_data.contents is not a list'],
        ['content_type', 'shoe', undefined, expect.stringMatching(/^custom_data\.content_type is not one of/)],
        ['contents', [{ quantity: 1 }], undefined, 'custom_data.contents.0.id is missing'],
        ['contents', [{ id: 'a' }], undefined, 'custom_data.contents.0.quantity is missing'],
        ['contents', [{ id: 'a', quantity: 0 }], undefined, 'custom_data.contents.0.quantity is 0'],
        ['contents', [{ id: 'a', quantity: 1, title: 7 }], undefined, 'custom_data.contents.0.title is not a string'],
        ['contents', [{ id: 'a', quantity: 1, category: '' }], undefined, 'custom_data.contents.0.category is empty'],
        ['contents', [{ id: 'a', quantity: '1' }], undefined, 'custom_data.contents.0.quantity is not a whole number'],
        [
          'contents',
          [{ id: 'a' }, { id: 'b', item_price: '1' }],
          undefined,
          'custom_data.contents.1.item_price is not a number',
        ],
      ],
    ],
  ],
  insufficientUsers: {
    users: [
      { client_user_agent: 'UA' },
      { client_ip_address: '203.0.113.10' },
      { country: [HASH], ge: [HASH], ct: [HASH] },
      {},
    ],
    event: (user) => ({ ...EVENT, action_source: 'other', user_data: user }),
    expected: [2804050, 'user_data has no sufficient identifier'],
  },
  refusedBatch: {
    invalid: { ...EVENT, event_id: 'evt-1002', event_time: TIME - 8 * 86_400 },
    problem: 'event_time is older than 168 hours',
    itemName: 'event',
    answer: [400, error({ code: 100, error_subcode: 2804003 })],
  },
  idField: 'event_id',
  personal: withUser({ em: 'jane.doe@example.com', client_ip_address: 'jane.doe@example.com' }),
  invalidRequests: [
    ['invalid JSON', post('{'), 400, INVALID_PARAMETER],
    ['a list', post('[]'), 400, INVALID_PARAMETER],
    ['an object instead of a list', post({ data: {} }), 400, INVALID_PARAMETER],
    ['an empty list', post({ data: [] }), 400, INVALID_PARAMETER],
    ['a test code that is not a string', post({ data: [EVENT], test_event_code: 1 }), 400, INVALID_PARAMETER],
    [
      'another content type',
      post({ data: [EVENT] }, { headers: { 'content-type': 'text/plain' } }),
      400,
      error({ code: 100, message: expect.stringContaining('content-type') }),
    ],
  ],
  batchMax: [1_000, 400, INVALID_PARAMETER],
  unknownUrls: [
    ['/1234567890/events', '/v26.0/pixel/events', '/v26.0/123/events/', '/v26/123/events', '/'].map(
      (path) => `${path}?access_token=token`,
    ),
    400,
    UNKNOWN_OBJECT,
  ],
  getAnswer: [400, UNKNOWN_OBJECT],
  credentials: [
    [{ url: URL }, 401, error({ code: 190 })],
    [{ url: `${URL}?access_token=` }, 401, error({ code: 190 })],
    [{ url: `${URL}?access_token=a-bad-one` }, 401, error({ code: 190 })],
    [{ url: `${URL}?access_token=two%20words` }, 401, error({ code: 190 })],
    [{ url: `${URL}?access_token=forbidden` }, 403, error({ code: 200 })],
    // Meta does not read the token from a header.
    [{ url: URL, headers: { authorization: 'Bearer token' } }, 401, error({ code: 190 })],
  ],
  failures: {
    refuse: [400, error({ code: 100, is_transient: false })],
    refuse_one: [400, error({ code: 100, error_subcode: 2804050, is_transient: false })],
    throttle: [400, error({ code: 80003 })],
    server_error: [500, error({ code: 2, is_transient: true })],
    unauthorized: [401, error({ code: 190 })],
    forbidden: [403, error({ code: 200 })],
  },
  refusesAll: ['refuse', 'refuse_one'],
});

describe('double of meta', () => {
  it('warns about the hash of a country in upper case', () => {
    const answer = (country: string) => meta.answer(post({ data: [withUser({ country: [hash('sha256', country)] })] }));
    expect(answer('us').received).toMatchObject([{ accepted: true, problems: [] }]);
    const warning = 'user_data.country is not the hash of two lower-case letters';
    expect(answer('US').received).toMatchObject([{ accepted: true, problems: [warning] }]);
  });

  it('accepts an app event with data about the device', () => {
    const app_data = { advertiser_tracking_enabled: 1, application_tracking_enabled: 1, extinfo: ['i2'] };
    expect(meta.answer(post({ data: [{ ...EVENT, action_source: 'app', app_data }] })).status).toBe(200);
  });

  it('accepts the token in the body, and a test code', () => {
    const answer = meta.answer(post({ data: [EVENT], access_token: 'token', test_event_code: 'TEST1' }, { url: URL }));
    expect(answer.status).toBe(200);
    expect(answer.received).toHaveLength(1);
  });
});
