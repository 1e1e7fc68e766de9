import { answer } from '../../../test/support/platform-answers.js';
import { itChecksFields } from '../../../test/support/platform-fields.js';
import { describeGoldens } from '../../../test/support/platform-goldens.js';
import { sentItem } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection } from '../platform.js';
import { webhook } from './index.js';
import { signature } from './signature.js';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const connection: Connection = {
  settings: { url: 'https://hooks.shop.example/conversions?source=cc', 'field.shop_order': 'orderId' },
  secrets: { secret: SECRET },
};
const CALL = { connection, nowMs: 1_772_360_131_999 };
const WITH_VISIT: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const textOf = (conversion: Conversion, settings = {}): string =>
  JSON.stringify(sentItem(webhook, conversion, { ...connection.settings, ...settings }));

describe('webhook', () => {
  describeGoldens(webhook, connection);

  it('names the message after the event, mapped or not, and keeps ours', () => {
    expect(JSON.parse(textOf(WITH_VISIT, { 'event.purchase': 'sale' }))).toMatchObject({
      type: 'conversion.sale',
      data: { event: 'purchase' },
    });
  });

  it('has no address or browser of a visitor, and of a page only its address', () => {
    const text = textOf({
      ...WITH_VISIT,
      visit: { ...SAMPLE_CONVERSIONS['with-click-id'].visit, pageUrl: 'https://shop.example/a?b=c#d' },
    });
    expect(text).not.toContain('203.0.113.10');
    expect(text).not.toContain('Mozilla');
    expect(JSON.parse(text).data.page_url).toBe('https://shop.example/a');
  });

  it('does not let a field replace one of the message', () => {
    expect(JSON.parse(textOf(WITH_VISIT, { 'field.event_id': 'event' })).data.event_id).toBe('ORD-1001');
  });

  describe('the signature', () => {
    it('is the one of the Standard Webhooks reference', () => {
      const signed = signature(SECRET, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}');
      expect(signed).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
    });

    it('uses the bytes of another secret as they are', () => {
      // printf 'msg_1.1.{}' | openssl dgst -sha256 -hmac 'plain secret' -binary | base64
      expect(signature('plain secret', 'msg_1', 1, '{}')).toBe('v1,QlEPLNCmlEbvumVaNTruhm8m1xVRJMjSUX/J9lCKfPQ=');
    });

    it('is over the exact bytes of the body, at the time of the attempt', () => {
      const item = '{ "data": {"conversion_id":"c","event_id":"é"} }';
      const { headers, body } = webhook.request([item], CALL);
      expect(body).toBe(item);
      expect(headers['webhook-timestamp']).toBe('1772360131');
      expect(headers['webhook-signature']).toBe(signature(SECRET, headers['webhook-id'] ?? '', 1_772_360_131, item));
    });

    it('is missing rather than made with an empty key', () => {
      const call = { ...CALL, connection: { ...connection, secrets: {} } };
      expect(webhook.request([textOf(WITH_VISIT)], call).headers).not.toHaveProperty('webhook-signature');
    });
  });

  describe('the id', () => {
    const idOf = (conversion: Conversion, nowMs = 0, settings = {}) =>
      webhook.request([textOf(conversion, settings)], { ...CALL, nowMs }).headers['webhook-id'];

    it('is the same for every attempt, whatever else changes', () => {
      expect(idOf(WITH_VISIT, 1)).toBe(idOf(WITH_VISIT, 2));
      expect(idOf(WITH_VISIT, 1, { 'field.more': 'value' })).toBe(idOf(WITH_VISIT, 1));
      expect(idOf({ ...WITH_VISIT, eventId: '王\r\nx' })).toMatch(/^msg_[0-9a-f]{32}$/);
    });

    it('differs between conversions of one order, and for one that is sent again on purpose', () => {
      expect(idOf({ ...WITH_VISIT, id: 'another' })).not.toBe(idOf(WITH_VISIT));
      expect(idOf({ ...WITH_VISIT, eventId: 'ORD-1001-r2' })).not.toBe(idOf(WITH_VISIT));
    });
  });

  it.each([
    [undefined, 'https://hooks.shop.example/conversions?source=cc'],
    ['http://127.0.0.1:9', 'http://127.0.0.1:9/conversions?source=cc'],
    ['http://127.0.0.1:9/sandbox/', 'http://127.0.0.1:9/sandbox/conversions?source=cc'],
  ])('goes to the address, behind the endpoint %s', (endpoint, url) => {
    expect(webhook.request([textOf(WITH_VISIT)], { ...CALL, connection: { ...connection, endpoint } }).url).toBe(url);
  });

  describe('the answer', () => {
    it.each<[number, string, object]>([
      [200, '', { kind: 'delivered' }],
      [201, 'thanks', { kind: 'delivered' }],
      [204, '', { kind: 'delivered' }],
      [200, '<html>whatever', { kind: 'delivered' }],
      [200, '{"trunc', { kind: 'delivered' }],
      [200, 'null', { kind: 'delivered' }],
      [301, '', { kind: 'rejected', reason: expect.stringMatching(/^HTTP 301: redirects are not followed/) }],
      [307, '', { kind: 'rejected' }],
      [400, '{"error":"no"}', { kind: 'rejected', reason: 'HTTP 400' }],
      [401, '', { kind: 'unauthorized' }],
      [403, '', { kind: 'unauthorized' }],
      [404, '', { kind: 'rejected', reason: 'HTTP 404' }],
      [410, '', { kind: 'gone', reason: expect.stringContaining('410') }],
      [413, '', { kind: 'rejected' }],
      [422, '', { kind: 'rejected' }],
      [408, '', { kind: 'retry', reason: 'server_error' }],
      [425, '', { kind: 'retry', reason: 'server_error' }],
      [429, '', { kind: 'retry', reason: 'throttled' }],
      [500, '', { kind: 'retry', reason: 'server_error' }],
      [502, '', { kind: 'retry', reason: 'server_error' }],
      [503, '', { kind: 'retry', reason: 'server_error' }],
      [504, '', { kind: 'retry', reason: 'server_error' }],
    ])('%i %j', (status, body, verdict) => {
      expect(webhook.verdict(answer(status, body), 1)).toMatchObject(verdict);
    });

    it('is waited for as long as the receiver asks', () => {
      expect(webhook.verdict(answer(503, '', { 'retry-after': '120' }), 1)).toMatchObject({ afterMs: 120_000 });
    });
  });

  it('tests with a message that says so, signed, under an id of its own', () => {
    const test = webhook.test?.(textOf(WITH_VISIT), CALL);
    const { body = '', headers } = test?.request ?? { headers: {} as Record<string, string> };
    expect(test?.sent).toBe(true);
    expect(JSON.parse(body)).toMatchObject({ type: 'test', data: { event_id: 'ORD-1001' } });
    expect(headers['webhook-id']).toBe('msg_test_1772360131999');
    expect(headers['webhook-signature']).toBe(signature(SECRET, 'msg_test_1772360131999', 1_772_360_131, body));
    expect(test?.verdict(answer(200))).toEqual({ kind: 'delivered' });
  });

  describe('settings', () => {
    itChecksFields(
      webhook,
      ['url', 'https://hooks.shop.example/a?b=c', 'ftp://hooks.shop.example/'],
      ['url', 'http://receiver.internal:8080/', 'http://user@receiver.internal/'],
      ['url', 'https://203.0.113.7:8443/', 'https://user:pass@hooks.shop.example/'],
      ['url', 'https://hooks.shop.example', 'hooks.shop.example'],
      ['secret', SECRET, 'whsec_not base64!'],
      ['secret', 'x', '   '],
    );

    it('want more of a secret than its prefix', () => {
      const check = webhook.fields.find(({ name }) => name === 'secret')?.check;
      expect(check?.('whsec_')).toMatch(/^must have base64/);
    });

    it('need no secret: one is made', () => {
      expect(webhook.fields.find(({ name }) => name === 'secret')).toMatchObject({ secret: true });
      expect(webhook.fields.find(({ name }) => name === 'secret')?.required).toBeUndefined();
    });
  });
});
