import { hash } from 'node:crypto';
import { answer } from '../../../test/support/platform-answers.js';
import { describePlatformContract } from '../../../test/support/platform-contract.js';
import { sentItem } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import { signature } from '../../http/webhook-signature.js';
import type { Conversion } from '../conversion.js';
import type { Connection } from '../platform.js';
import { platform as webhook } from './index.js';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const connection: Connection = {
  settings: { url: 'https://hooks.shop.example/conversions?source=cc', 'field.shop_order': 'orderId' },
  secrets: { secret: SECRET },
};
const call = { connection, nowMs: 1_772_360_131_999 };
const withVisit: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const item = (conversion: Conversion, settings = {}) =>
  sentItem(webhook, conversion, { ...connection.settings, ...settings });
const textOf = (conversion: Conversion, settings = {}): string => JSON.stringify(item(conversion, settings));

describePlatformContract(webhook, {
  connection,
  verdicts: [
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
  ],
});

describe('webhook', () => {
  describe('payload', () => {
    it('has the mapped event in its type and our own in its data', () => {
      expect(item(withVisit, { 'event.purchase': 'sale' })).toMatchObject({
        type: 'conversion.sale',
        data: { event: 'purchase' },
      });
    });

    it('contains neither IP address nor user agent, and a page URL without query', () => {
      const visit = { ...SAMPLE_CONVERSIONS['with-click-id'].visit, pageUrl: 'https://shop.example/a?b=c#d' };
      const text = textOf({ ...withVisit, visit });
      expect(text).not.toContain('203.0.113.10');
      expect(text).not.toContain('Mozilla');
      expect(JSON.parse(text).data.page_url).toBe('https://shop.example/a');
    });

    it('contains what the sender stated about customer and order, the address only as hashes', () => {
      const { data } = item(SAMPLE_CONVERSIONS['by-phone']);
      expect(data).toMatchObject({ source: 'phone_call', items: SAMPLE_CONVERSIONS['by-phone'].items });
      expect(data.user).toMatchObject({
        external_id: 'Customer-42',
        city_sha256: hash('sha256', 'los angeles'),
        region_sha256: hash('sha256', 'ca'),
        postal_code_sha256: hash('sha256', '90001'),
        country_sha256: hash('sha256', 'us'),
      });
      expect(JSON.stringify(data)).not.toMatch(/90001|Angeles/i);
    });

    it('leaves custom fields in place that have the names of missing details', () => {
      const settings = { 'field.source': '"shop"', 'field.items': '"many"' };
      expect(item(withVisit, settings).data).toMatchObject({ source: 'shop', items: 'many' });
    });

    it('does not let a custom field replace its own', () => {
      expect(item(SAMPLE_CONVERSIONS['by-phone'], { 'field.source': '"shop"' }).data.source).toBe('phone_call');
      expect(item(withVisit, { 'field.event_id': 'event' }).data.event_id).toBe('ORD-1001');
    });
  });

  describe('signature', () => {
    it('covers the exact bytes of the body and the time of the attempt', () => {
      const body = '{ "data": {"conversion_id":"c","event_id":"é"} }';
      const request = webhook.request([body], call);
      expect(request.body).toBe(body);
      expect(request.headers['webhook-timestamp']).toBe('1772360131');
      expect(request.headers['webhook-signature']).toBe(
        signature(SECRET, request.headers['webhook-id'] ?? '', 1_772_360_131, body),
      );
    });

    it('is left out without a secret', () => {
      const unsigned = { ...call, connection: { ...connection, secrets: {} } };
      expect(webhook.request([textOf(withVisit)], unsigned).headers).not.toHaveProperty('webhook-signature');
    });
  });

  describe('message id', () => {
    const idOf = (conversion: Conversion, nowMs = 0, settings = {}) =>
      webhook.request([textOf(conversion, settings)], { ...call, nowMs }).headers['webhook-id'];

    it('is the same for every attempt, even if the message changes', () => {
      expect(idOf(withVisit, 1)).toBe(idOf(withVisit, 2));
      expect(idOf(withVisit, 1, { 'field.more': 'value' })).toBe(idOf(withVisit, 1));
      expect(idOf({ ...withVisit, eventId: '王\r\nx' })).toMatch(/^msg_[0-9a-f]{32}$/);
    });

    it('differs between conversions of one order, and for a deliberate resend', () => {
      expect(idOf({ ...withVisit, id: 'another' })).not.toBe(idOf(withVisit));
      expect(idOf({ ...withVisit, eventId: 'ORD-1001-r2' })).not.toBe(idOf(withVisit));
    });
  });

  it('posts to the sealed address where the settings hold a redacted one', () => {
    const urlOf = (url: string, sealed: string) =>
      webhook.request([textOf(withVisit)], {
        ...call,
        connection: { settings: { url }, secrets: { secret: SECRET, url: sealed } },
      }).url;
    const sealed = 'https://hooks.shop.example/in/t0k3nt0k3n?key=k3y';
    expect(urlOf('https://hooks.shop.example/in/***?key=***', sealed)).toBe(sealed);
    // A delivery that is bound to an earlier address is not sent to the current one.
    expect(urlOf('https://earlier.example/in', sealed)).toBe('https://earlier.example/in');
  });

  it.each([
    [undefined, 'https://hooks.shop.example/conversions?source=cc'],
    ['http://127.0.0.1:9', 'http://127.0.0.1:9/conversions?source=cc'],
    ['http://127.0.0.1:9/sandbox/', 'http://127.0.0.1:9/sandbox/conversions?source=cc'],
  ])('with the endpoint %s posts to %s', (endpoint, url) => {
    expect(webhook.request([textOf(withVisit)], { ...call, connection: { ...connection, endpoint } }).url).toBe(url);
  });

  it('honours Retry-After', () => {
    expect(webhook.verdict(answer(503, '', { 'retry-after': '120' }), 1)).toMatchObject({ afterMs: 120_000 });
  });

  it('tests with a signed message of type test under a new id', () => {
    const test = webhook.test?.(textOf(withVisit), call);
    const { body = '', headers } = test?.request ?? { headers: {} as Record<string, string> };
    expect(test?.sent).toBe(true);
    expect(JSON.parse(body)).toMatchObject({ type: 'test', data: { event_id: 'ORD-1001' } });
    expect(headers['webhook-id']).toBe('msg_test_1772360131999');
    expect(headers['webhook-signature']).toBe(signature(SECRET, 'msg_test_1772360131999', 1_772_360_131, body));
    expect(test?.verdict(answer(200))).toEqual({ kind: 'delivered' });
  });

  describe('secret', () => {
    const field = webhook.fields.find(({ name }) => name === 'secret');

    it('must have a value after the prefix', () => {
      expect(field?.check?.('whsec_')).toMatch(/^must have base64/);
    });

    it('is optional, because one is generated', () => {
      expect(field).toMatchObject({ secret: true });
      expect(field?.required).toBeUndefined();
    });
  });
});
