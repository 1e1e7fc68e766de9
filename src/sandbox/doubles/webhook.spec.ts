import { createHmac } from 'node:crypto';
import { describeDoubleContract } from '../../../test/support/platform-double-contract.js';
import { bodyOf, HASH, NOW_MS, poster, type RequestOptions } from '../../../test/support/platform-doubles.js';
import type { ControlRequest, Memory, SandboxAnswer } from '../double.js';
import { double as webhook } from './webhook.js';

const NOW = NOW_MS / 1_000;

const DATA = {
  event_id: 'evt-1001',
  order_id: 'ORD-1001',
  value: 129.9,
  currency: 'EUR',
  click_ids: { gclid: 'GCLID' },
  utm: { source: 'google' },
  user: { email_sha256: HASH },
};
const BODY = { type: 'conversion.purchase', timestamp: '2026-03-01T10:15:30Z', data: DATA };

const post = poster('/any/path', { 'webhook-id': 'msg_1001', 'webhook-timestamp': String(NOW) });
const send = (body: unknown, options?: RequestOptions) => webhook.answer(post(body, options));

/** The memory of a receiver with this secret. */
function withSecret(secret: unknown): Memory {
  const memory: Memory = new Map();
  expect(webhook.control?.({ mode: 'secret', secret } as unknown as ControlRequest, memory)).toBeUndefined();
  return memory;
}

function signature(key: Buffer | string, content: string): string {
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}

function expectInvalid(answer: SandboxAnswer, problem: unknown) {
  expect(answer.status).toBe(400);
  expect(bodyOf(answer)).toEqual({ ok: false, error: problem });
  expect(answer.received).toMatchObject([{ accepted: false, problems: [problem] }]);
}

const REFUSED = { ok: false, error: expect.any(String) };

describeDoubleContract(webhook, {
  post,
  envelope: ([body]) => body,
  event: BODY,
  changed: { ...BODY, data: { ...DATA, value: 1 } },
  recorded: { event: 'conversion.purchase', dedupKey: 'msg_1001' },
  accepted: () => ({ ok: true }),
  variants: [['an event with only an id', { ...BODY, data: { event_id: 'evt-1001' } }]],
  deduplication: {
    keys: [[BODY, 'msg_1001']],
    windowMs: undefined,
    repeat: { headers: { 'webhook-timestamp': String(NOW + 30) } },
  },
  expectInvalid,
  invalidFields: [
    ['type', undefined, 'type is missing'],
    ['type', 7, 'type is not a string'],
    ['type', 'purchase', 'type is not known'],
    ['timestamp', undefined, 'timestamp is missing'],
    ['timestamp', 1772360130, 'timestamp is not an ISO 8601 time with a time zone'],
    ['data', undefined, 'data is missing'],
    ['data', [], 'data is not an object'],
  ],
  invalidNestedFields: [
    [
      'data.',
      (fields) => ({ ...BODY, data: { ...DATA, ...fields } }),
      [
        ['event_id', undefined, 'data.event_id is missing'],
        ['event_id', 1001, 'data.event_id is not a string'],
        ['order_id', 1001, 'data.order_id is not a string'],
        ['value', '129.90', 'data.value is not a number'],
        ['currency', 'eur', 'data.currency is not a currency code of three upper-case letters'],
        ['click_ids', 'GCLID', 'data.click_ids is not an object'],
        ['click_ids', { gclid: HASH }, 'data.click_ids.gclid must not be hashed'],
        ['utm', { source: 7 }, 'data.utm.source is not a string'],
        ['user', [], 'data.user is not an object'],
        ['user', { external_id: 42 }, 'data.user.external_id is not a string'],
        ['user', { external_id: 'x'.repeat(129) }, 'data.user.external_id is longer than 128 characters'],
        ['user', { city_sha256: 'Berlin' }, expect.stringMatching(/^data\.user\.city_sha256 is not a SHA-256/)],
        ['source', 'web', expect.stringMatching(/^data\.source is not one of website, /)],
        ['items', {}, 'data.items is not a list'],
        ['items', [{ name: 'Shoe' }], 'data.items.0.id is missing'],
        ['items', [{ id: 'SKU-1', quantity: 0 }], 'data.items.0.quantity is zero'],
        ['items', [{ id: 'SKU-1', quantity: 1.5 }], 'data.items.0.quantity is not a whole number'],
        ['items', [{ id: 'SKU-1', price: '1.50' }], 'data.items.0.price is not a number'],
        ['items', [{ id: 'SKU-1', sku: '1' }], 'data.items.0.sku is not a known property'],
        ['user', { email_sha256: 'jane' }, expect.stringMatching(/^data\.user\.email_sha256 is not a SHA-256/)],
        ['user', { email_sha256: HASH.toUpperCase() }, expect.stringMatching(/^data\.user\.email_sha256 is not a SHA/)],
      ],
    ],
  ],
  invalidRequests: [
    ['invalid JSON', post('{'), 400],
    ['a list', post('[]'), 400],
    ['an empty body', post(''), 400],
  ],
  getAnswer: [405],
  credentials: [
    [{ headers: { authorization: 'Bearer a-bad-one' } }, 401, REFUSED],
    [{ headers: { authorization: 'Bearer forbidden' } }, 403, REFUSED],
  ],
  failures: {
    refuse: [400, REFUSED],
    refuse_one: [400, REFUSED],
    throttle: [429, REFUSED],
    server_error: [500, REFUSED],
    unauthorized: [401, REFUSED],
    forbidden: [403, REFUSED],
  },
  refusesAll: ['refuse', 'refuse_one'],
});

describe('double of webhook', () => {
  it.each([
    ['POST', ''],
    ['PUT', '/'],
    ['PATCH', '/hooks/1'],
  ])('accepts %s at %j', (method, url) => {
    expect(send(BODY, { method, url }).status).toBe(200);
  });

  it('refuses DELETE', () => {
    expect(send(BODY, { method: 'DELETE' }).status).toBe(405);
  });

  it('refuses a body that is too large', () => {
    const data = { ...DATA, utm: { source: 'x'.repeat(21_000) } };
    expectInvalid(send({ ...BODY, data }), 'body is larger than 20 kB');
  });

  it('accepts valid credentials, and none', () => {
    expect(send(BODY, { headers: { authorization: 'Bearer token' } }).status).toBe(200);
    expect(send(BODY).status).toBe(200);
  });

  it('reports the waiting time when it throttles', () => {
    expect(webhook.fail('throttle', post(BODY)).headers).toMatchObject({ 'retry-after': '1' });
  });

  describe('test message', () => {
    it('is answered like any other and not recorded', () => {
      const answer = send({ type: 'test', timestamp: BODY.timestamp });
      expect(answer.status).toBe(200);
      expect(answer).not.toHaveProperty('received');
      expect(webhook.fail('refuse', post({ ...BODY, type: 'test' }))).not.toHaveProperty('received');
    });

    it('is checked', () => {
      expect(send({ type: 'test' }).status).toBe(400);
      expect(send({ ...BODY, type: 'test', data: { event_id: 7 } }).status).toBe(400);
    });

    it('is distinguished from conversions', () => {
      expect(webhook.callKind?.(post({ type: 'test' }))).toBe('test');
      expect(webhook.callKind?.(post({ ...BODY, data: { ...DATA, order_id: 'test' } }))).toBe('events');
      expect(webhook.callKind?.(post(BODY))).toBe('events');
    });

    it('may have any id', () => {
      const memory: Memory = new Map();
      const test = { ...BODY, type: 'test' };
      expect(send(test, { memory, headers: { 'webhook-id': 'msg_test_1' } }).status).toBe(200);
      expect(send(test, { memory, headers: { 'webhook-id': 'msg_test_2' } }).status).toBe(200);
    });
  });

  describe('headers', () => {
    it.each([
      ['content-type', 'text/plain', 'content-type is not application/json'],
      ['webhook-id', undefined, 'webhook-id is missing'],
      ['webhook-id', '', 'webhook-id is empty'],
      ['webhook-id', 'msg 1001', 'webhook-id is not visible ASCII'],
      ['webhook-id', 'msg_é', 'webhook-id is not visible ASCII'],
      ['webhook-timestamp', undefined, 'webhook-timestamp is missing'],
      ['webhook-timestamp', String(NOW_MS), 'webhook-timestamp is not a Unix time in seconds'],
      ['webhook-timestamp', String(NOW - 301), 'webhook-timestamp is more than 5 minutes from now'],
      ['webhook-timestamp', String(NOW + 301), 'webhook-timestamp is more than 5 minutes from now'],
    ])('refuses %s = %j', (name, value, problem) => {
      expectInvalid(send(BODY, { headers: { [name]: value } }), problem);
    });

    it.each([NOW - 300, NOW + 300])('accepts the timestamp %d', (time) => {
      expect(send(BODY, { headers: { 'webhook-timestamp': String(time) } }).status).toBe(200);
    });

    it('must have the same id for the same event', () => {
      const memory: Memory = new Map();
      const under = (id: string, body: unknown = BODY) => send(body, { memory, headers: { 'webhook-id': id } });
      expect(under('msg_1').status).toBe(200);
      expect(under('msg_1').status).toBe(200);
      expectInvalid(under('msg_2'), 'webhook-id differs from an earlier message with the same event');
      expect(under('msg_3', { ...BODY, data: { ...DATA, event_id: 'evt-1002' } }).status).toBe(200);
      expect(under('msg_4', { ...BODY, data: { ...DATA, conversion_id: 'another' } }).status).toBe(200);
    });
  });

  describe('signature', () => {
    const KEY = Buffer.from('0123456789abcdef0123456789abcdef');
    const SECRET = `whsec_${KEY.toString('base64')}`;
    const TEXT = JSON.stringify(BODY);
    const VALID = signature(KEY, `msg_1001.${NOW}.${TEXT}`);
    const signed = (text: string | undefined, secret: string) =>
      send(TEXT, { memory: withSecret(secret), headers: { 'webhook-signature': text } });

    it('is accepted with the right secret', () => {
      expect(signed(VALID, SECRET).status).toBe(200);
    });

    it('is accepted if one of several is valid', () => {
      expect(signed(`v1,AAAA v1a,BBBB ${VALID}`, SECRET).status).toBe(200);
    });

    it('uses the bytes of a secret without the prefix', () => {
      expect(signed(signature('a plain one', `msg_1001.${NOW}.${TEXT}`), 'a plain one').status).toBe(200);
    });

    it('covers the bytes of the body', () => {
      const text = JSON.stringify({ ...BODY, data: { ...DATA, utm: { source: 'grün' } } });
      const headers = { 'webhook-signature': signature(KEY, `msg_1001.${NOW}.${text}`) };
      expect(send(text, { memory: withSecret(SECRET), headers }).status).toBe(200);
    });

    it.each([
      ['no signature', undefined],
      ['an empty one', ''],
      ['one without its version', VALID.slice(3)],
      ['one of another version', VALID.replace('v1,', 'v2,')],
      ['one with another key', signature('other', `msg_1001.${NOW}.${TEXT}`)],
      ['one of another body', signature(KEY, `msg_1001.${NOW}.{}`)],
      ['one of another time', signature(KEY, `msg_1001.${NOW - 1}.${TEXT}`)],
      ['one of another id', signature(KEY, `msg_1002.${NOW}.${TEXT}`)],
    ])('is refused: %s', (_, text) => {
      const answer = signed(text, SECRET);
      expect(answer.status).toBe(401);
      expect(bodyOf(answer)).toEqual({ ok: false, error: 'The signature is wrong.' });
      expect(answer.received).toBeUndefined();
    });

    it('is not required after a reset', () => {
      const memory = withSecret(SECRET);
      expect(send(TEXT, { memory }).status).toBe(401);
      expect(webhook.control?.({ mode: 'ok' }, memory)).toBeUndefined();
      expect(send(TEXT, { memory }).status).toBe(200);
    });

    it('is configured with a valid control request only', () => {
      const memory: Memory = new Map();
      expect(webhook.control?.({ mode: 'secret' }, memory)).toContain('"secret"');
      expect(webhook.control?.({ mode: 'sleep' }, memory)).toContain('"mode"');
      expect(memory.size).toBe(0);
    });
  });
});
