import { createHmac } from 'node:crypto';
import { problems, said } from '../../../test/support/platform-doubles.js';
import { FAILURE_KINDS, type Memory, type ControlRequest, type SandboxAnswer, sandboxRequest } from '../double.js';
import { webhook } from './webhook.js';

const NOW_MS = Date.parse('2026-03-01T10:16:00Z');
const NOW = NOW_MS / 1_000;
const HASH = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';

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

interface Call {
  readonly headers?: Record<string, string | undefined>;
  readonly memory?: Memory;
  readonly method?: string;
  readonly path?: string;
}

function call(body: unknown, { headers = {}, memory = new Map(), method = 'POST', path = '/any/path' }: Call = {}) {
  return sandboxRequest(method, path, {
    headers: {
      'content-type': 'application/json',
      'webhook-id': 'msg_1001',
      'webhook-timestamp': String(NOW),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    nowMs: NOW_MS,
    memory,
  });
}
const send = (body: unknown, about?: Call) => webhook.answer(call(body, about));

/** A receiver that knows this secret. */
function knowing(secret: unknown): Memory {
  const memory: Memory = new Map();
  expect(webhook.control?.({ mode: 'secret', secret } as unknown as ControlRequest, memory)).toBeUndefined();
  return memory;
}

function signature(key: Buffer | string, content: string): string {
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}

function expectRefused(answer: SandboxAnswer, problem: unknown) {
  expect(answer.status).toBe(400);
  expect(said(answer)).toEqual({ ok: false, error: problem });
  expect(answer.received).toMatchObject([{ accepted: false, problems: [problem] }]);
}

describe('the double of a webhook receiver', () => {
  describe('when everything is right', () => {
    it('takes one event', () => {
      const answer = send(BODY);
      expect(answer.status).toBe(200);
      expect(said(answer)).toEqual({ ok: true });
      expect(answer.received).toEqual([
        {
          eventId: 'evt-1001',
          event: 'conversion.purchase',
          problems: [],
          accepted: true,
          bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          dedupKey: 'msg_1001',
        },
      ]);
    });

    it.each([
      ['POST', ''],
      ['PUT', '/'],
      ['PATCH', '/hooks/1'],
    ])('takes %s at %j', (method, path) => {
      expect(send(BODY, { method, path }).status).toBe(200);
    });

    it('takes an event with nothing but its id', () => {
      expect(problems(send({ ...BODY, data: { event_id: 'evt-1001' } }))).toEqual([[]]);
    });
  });

  describe('when it is a test', () => {
    it('answers as always, and writes nothing down', () => {
      const answer = send({ type: 'test', timestamp: BODY.timestamp });
      expect(answer.status).toBe(200);
      expect(answer).not.toHaveProperty('received');
      expect(webhook.fail('refuse', call({ ...BODY, type: 'test' }))).not.toHaveProperty('received');
    });

    it('is checked', () => {
      expect(send({ type: 'test' }).status).toBe(400);
      expect(send({ ...BODY, type: 'test', data: { event_id: 7 } }).status).toBe(400);
    });

    it('is no call with events', () => {
      expect(webhook.callKind?.(call({ type: 'test' }))).toBe('test');
      expect(webhook.callKind?.(call({ ...BODY, data: { ...DATA, order_id: 'test' } }))).toBe('events');
      expect(webhook.callKind?.(call(BODY))).toBe('events');
    });
  });

  describe('when the body is wrong', () => {
    it.each([
      ['type', undefined, 'type is missing'],
      ['type', 7, 'type is not a string'],
      ['type', 'purchase', 'type is not known'],
      ['timestamp', undefined, 'timestamp is missing'],
      ['timestamp', 1772360130, 'timestamp is not an ISO 8601 time with a time zone'],
      ['data', undefined, 'data is missing'],
      ['data', [], 'data is not an object'],
    ])('refuses %s = %j', (field, value, problem) => {
      expectRefused(send({ ...BODY, [field]: value }), problem);
    });

    it.each([
      ['event_id', undefined, 'data.event_id is missing'],
      ['event_id', 1001, 'data.event_id is not a string'],
      ['order_id', 1001, 'data.order_id is not a string'],
      ['value', '129.90', 'data.value is not a number'],
      ['currency', 'eur', 'data.currency is not a currency code of three upper-case letters'],
      ['click_ids', 'GCLID', 'data.click_ids is not an object'],
      ['click_ids', { gclid: HASH }, 'data.click_ids.gclid must not be hashed'],
      ['utm', { source: 7 }, 'data.utm.source is not a string'],
      ['user', [], 'data.user is not an object'],
      ['user', { email_sha256: 'jane' }, expect.stringMatching(/^data\.user\.email_sha256 is not a SHA-256/)],
      ['user', { email_sha256: HASH.toUpperCase() }, expect.stringMatching(/^data\.user\.email_sha256 is not a SHA/)],
    ])('refuses data.%s = %j', (field, value, problem) => {
      expectRefused(send({ ...BODY, data: { ...DATA, [field]: value } }), problem);
    });

    it('refuses what is too large', () => {
      const data = { ...DATA, utm: { source: 'x'.repeat(21_000) } };
      expectRefused(send({ ...BODY, data }), 'body is larger than 20 kB');
    });

    it.each(['{', '[]', ''])('refuses %j', (body) => {
      const answer = send(body);
      expect(answer.status).toBe(400);
      expect(answer.received).toBeUndefined();
    });
  });

  describe('when the head is wrong', () => {
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
      expectRefused(send(BODY, { headers: { [name]: value } }), problem);
    });

    it.each([NOW - 300, NOW + 300])('takes a clock that shows %d', (time) => {
      expect(send(BODY, { headers: { 'webhook-timestamp': String(time) } }).status).toBe(200);
    });

    it.each(['GET', 'DELETE'])('knows no %s', (method) => {
      expect(send(BODY, { method }).status).toBe(405);
    });
  });

  describe('when it knows the secret', () => {
    const KEY = Buffer.from('0123456789abcdef0123456789abcdef');
    const SECRET = `whsec_${KEY.toString('base64')}`;
    const TEXT = JSON.stringify(BODY);
    const RIGHT = signature(KEY, `msg_1001.${NOW}.${TEXT}`);
    const signed = (text: string | undefined, secret: string, about: Call = {}) =>
      send(TEXT, { ...about, memory: knowing(secret), headers: { 'webhook-signature': text, ...about.headers } });

    it('takes what is signed with it', () => {
      expect(signed(RIGHT, SECRET).status).toBe(200);
    });

    it('takes one right signature among several', () => {
      expect(signed(`v1,AAAA v1a,BBBB ${RIGHT}`, SECRET).status).toBe(200);
    });

    it('takes a secret of another form by its bytes', () => {
      expect(signed(signature('a plain one', `msg_1001.${NOW}.${TEXT}`), 'a plain one').status).toBe(200);
    });

    it('signs the bytes of the body', () => {
      const text = JSON.stringify({ ...BODY, data: { ...DATA, utm: { source: 'grün' } } });
      const headers = { 'webhook-signature': signature(KEY, `msg_1001.${NOW}.${text}`) };
      expect(send(text, { memory: knowing(SECRET), headers }).status).toBe(200);
    });

    it.each([
      ['no signature', undefined],
      ['an empty one', ''],
      ['one without its version', RIGHT.slice(3)],
      ['one of another version', RIGHT.replace('v1,', 'v2,')],
      ['one with another key', signature('other', `msg_1001.${NOW}.${TEXT}`)],
      ['one of another body', signature(KEY, `msg_1001.${NOW}.{}`)],
      ['one of another time', signature(KEY, `msg_1001.${NOW - 1}.${TEXT}`)],
      ['one of another id', signature(KEY, `msg_1002.${NOW}.${TEXT}`)],
    ])('refuses %s', (_, text) => {
      const answer = signed(text, SECRET);
      expect(answer.status).toBe(401);
      expect(said(answer)).toEqual({ ok: false, error: 'The signature is wrong.' });
      expect(answer.received).toBeUndefined();
    });

    it('forgets the secret when everything shall be well again', () => {
      const memory = knowing(SECRET);
      expect(send(TEXT, { memory }).status).toBe(401);
      expect(webhook.control?.({ mode: 'ok' }, memory)).toBeUndefined();
      expect(send(TEXT, { memory }).status).toBe(200);
    });

    it('says what is wrong with an order', () => {
      const memory: Memory = new Map();
      expect(webhook.control?.({ mode: 'secret' }, memory)).toContain('"secret"');
      expect(webhook.control?.({ mode: 'sleep' }, memory)).toContain('"mode"');
      expect(memory.size).toBe(0);
    });
  });

  describe('when the credentials are wrong', () => {
    it.each([
      ['Bearer a-bad-one', 401],
      ['Bearer forbidden', 403],
    ])('answers %j with %d', (authorization, status) => {
      const answer = send(BODY, { headers: { authorization } });
      expect(answer.status).toBe(status);
      expect(said(answer)).toEqual({ ok: false, error: expect.any(String) });
      expect(answer.received).toBeUndefined();
    });

    it('takes good ones, and none', () => {
      expect(send(BODY, { headers: { authorization: 'Bearer token' } }).status).toBe(200);
      expect(send(BODY).status).toBe(200);
    });
  });

  describe('when an event comes again', () => {
    it('answers as at first, with the same id and body', () => {
      const [first, second] = [send(BODY), send(BODY, { headers: { 'webhook-timestamp': String(NOW + 30) } })];
      expect(second.status).toBe(200);
      expect(second.received).toEqual(first.received);
    });

    it('shows that the body changed', () => {
      const [first, second] = [send(BODY), send({ ...BODY, data: { ...DATA, value: 1 } })];
      expect(second.received?.[0]?.eventId).toBe(first.received?.[0]?.eventId);
      expect(second.received?.[0]?.bodySha256).not.toBe(first.received?.[0]?.bodySha256);
    });

    it('has to come under the same id', () => {
      const memory: Memory = new Map();
      const under = (id: string, about: unknown = BODY) => send(about, { memory, headers: { 'webhook-id': id } });
      expect(under('msg_1').status).toBe(200);
      expect(under('msg_1').status).toBe(200);
      expectRefused(under('msg_2'), 'webhook-id differs from an earlier message with the same event');
      expect(under('msg_3', { ...BODY, data: { ...DATA, event_id: 'evt-1002' } }).status).toBe(200);
      expect(under('msg_4', { ...BODY, data: { ...DATA, conversion_id: 'another' } }).status).toBe(200);
    });

    it('may be tested under any id', () => {
      const memory: Memory = new Map();
      const test = { ...BODY, type: 'test' };
      expect(send(test, { memory, headers: { 'webhook-id': 'msg_test_1' } }).status).toBe(200);
      expect(send(test, { memory, headers: { 'webhook-id': 'msg_test_2' } }).status).toBe(200);
    });

    it('goes by the id of the message, without a window', () => {
      expect(send(BODY).received?.[0]).toHaveProperty('dedupKey', 'msg_1001');
      expect(webhook.dedupWindowMs).toBeUndefined();
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
      const answer = webhook.fail(kind, call(BODY));
      expect(answer.status).toBe(status);
      expect(said(answer)).toEqual({ ok: false, error: expect.any(String) });
    });

    it.each(['refuse', 'refuse_one'] as const)('leaves the event out at %s', (kind) => {
      expect(webhook.fail(kind, call(BODY)).received).toMatchObject([{ accepted: false, problems: [] }]);
    });

    it('says how long to wait', () => {
      expect(webhook.fail('throttle', call(BODY)).headers).toMatchObject({ 'retry-after': '1' });
    });

    it.each(FAILURE_KINDS)('has an answer to %s of something unreadable', (kind) => {
      expect(webhook.fail(kind, call('{')).status).toBeGreaterThanOrEqual(400);
    });
  });
});
