import { answer } from '../../../test/support/platform-answers.js';
import { describePlatformContract } from '../../../test/support/platform-contract.js';
import { sentItem } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection } from '../platform.js';
import { platform as segment } from './index.js';

const connection: Connection = { settings: { 'field.total': 'value' }, secrets: { write_key: 'wk_123' } };
const call = { connection, nowMs: 0 };
const withVisit: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const item = (conversion: Conversion, settings = {}) =>
  sentItem(segment, conversion, { ...connection.settings, ...settings });

describePlatformContract(segment, {
  connection,
  payload: { clickId: null },
});

describe('segment', () => {
  describe('payload', () => {
    it('identifies a person by the email hash and contains no other personal data', () => {
      const sent = item(SAMPLE_CONVERSIONS['phone-and-name']);
      expect(sent.userId).toBe('0bce3ed0bcbcc8d9dab97b42bf2ffa075b5782c10f543f0be1d8d53803efab15');
      expect(JSON.stringify(sent)).not.toContain(SAMPLE_CONVERSIONS['phone-and-name'].hashes.phone);
    });

    it('contains no personal data after an opt-out', () => {
      const denied: Conversion = { ...withVisit, consent: 'denied' };
      const sent = item(denied);
      expect(sent).toMatchObject({ anonymousId: denied.id, context: { library: { name: 'clean-conversions' } } });
      expect(sent).not.toHaveProperty('userId');
      expect(JSON.stringify(sent)).not.toMatch(
        new RegExp(`${denied.hashes.subject}|203\\.0\\.113|Firefox|shop\\.example`),
      );
      expect(segment.payload(denied, { when_denied: 'skip' })).toEqual({ skip: 'consent_denied' });
      expect(segment.payload(withVisit, { when_denied: 'skip' })).toHaveProperty('item');
    });

    describe('with details of the sender', () => {
      const known: Conversion = SAMPLE_CONVERSIONS['by-phone'];
      const asUserId = { external_id: 'user_id' };

      it('has the external id as user id only if the connection says so', () => {
        expect(JSON.stringify(item(known))).not.toContain('Customer-42');
        expect(item(known, asUserId).userId).toBe('Customer-42');
        expect(item(withVisit, asUserId).userId).toBe(withVisit.hashes.subject);
      });

      it('contains neither external id nor address after an opt-out', () => {
        const sent = item({ ...known, consent: 'denied' }, { ...asUserId, 'field.id': 'externalId' });
        expect(sent).toMatchObject({ anonymousId: known.id, properties: { source: 'phone_call' } });
        expect(sent).not.toHaveProperty('userId');
        expect(JSON.stringify(sent)).not.toMatch(/Customer-42|90001|Angeles/);
      });

      it('contains the currency of prices without an amount', () => {
        expect(item({ ...known, value: undefined }).properties.currency).toBe('EUR');
      });

      it('leaves custom fields in place that have the names of missing details', () => {
        const settings = { 'field.source': '"shop"', 'field.products': '"many"' };
        expect(item(withVisit, settings).properties).toMatchObject({ source: 'shop', products: 'many' });
        expect(item(known, settings).properties).toMatchObject({ source: 'phone_call', products: expect.any(Array) });
      });

      it('never exceeds the size of a message, and is sent alone if a batch could be too large', () => {
        const items = (count: number, length: number) =>
          Array.from({ length: count }, (_, index) => ({
            id: `${index}`.padEnd(Math.min(length, 255), 'é'),
            name: 'é'.repeat(length),
            price: 1,
          }));
        const payloadOf = (count: number, length: number) =>
          segment.payload({ ...known, items: items(count, length) }, connection.settings);
        const bytesOf = (payload: object) => Buffer.byteLength(JSON.stringify(payload));

        expect(payloadOf(10, 20)).not.toHaveProperty('group');
        expect(payloadOf(40, 100)).toMatchObject({ group: known.id });
        expect(payloadOf(40, 100)).toHaveProperty('item.properties.products.39.name');
        const unnamed = payloadOf(100, 70);
        expect(unnamed).toMatchObject({ group: known.id, item: { properties: { products: { length: 100 } } } });
        expect(JSON.stringify(unnamed)).not.toContain('"name":"é');
        expect(payloadOf(100, 255)).not.toHaveProperty('item.properties.products');
        for (const payload of [payloadOf(40, 100), unnamed, payloadOf(100, 255)])
          expect(bytesOf(payload)).toBeLessThan(32_000);
      });
    });

    it.each([
      ['purchase', 'Order Completed'],
      ['lead', 'lead'],
      ['signup', 'Signed Up'],
      ['constructor', 'constructor'],
    ])('reports %s as %s', (event, name) => {
      expect(item({ ...withVisit, event }).event).toBe(name);
    });

    it('contains the mapped event name', () => {
      expect(item(withVisit, { 'event.purchase': 'Paid' }).event).toBe('Paid');
    });

    it('leaves out missing parts of a visit', () => {
      const { context, anonymousId } = item({ ...withVisit, visit: { clicks: {}, cookies: {}, utm: {}, ip: '' } });
      expect(context).toEqual({ library: { name: 'clean-conversions', version: '1' } });
      expect(anonymousId).toBeUndefined();
    });

    it('contains other UTM fields under their own names', () => {
      const visit = { clicks: {}, cookies: {}, utm: { id: '7', source_platform: 'x' } };
      expect(item({ ...withVisit, visit }).context.campaign).toEqual({ id: '7', source_platform: 'x' });
    });
  });

  describe('messageId', () => {
    const idOf = (changes: Partial<Conversion>): string => item({ ...withVisit, ...changes }).messageId;

    it('is stable, has a prefix, and has a limited length for any order id', () => {
      expect(idOf({})).toBe(idOf({ value: 5, visit: undefined }));
      expect(idOf({})).toMatch(/^cc-[0-9a-f-]{36}-[0-9a-f]{16}$/);
      expect(idOf({ eventId: '王'.repeat(255) }).length).toBeLessThanOrEqual(100);
    });

    it('differs between conversions of one order, and for a deliberate resend', () => {
      expect(idOf({ id: '019535d0-6b10-7000-8000-000000001002' })).not.toBe(idOf({}));
      expect(idOf({ eventId: 'ORD-1001-r2' })).not.toBe(idOf({}));
    });
  });

  describe('request', () => {
    it('sends one payload as it is and several as a batch', () => {
      expect(segment.request(['{ "a": 1 }'], call)).toMatchObject({
        url: 'https://api.segment.io/v1/track',
        body: '{ "a": 1 }',
      });
      expect(segment.request(['{"a":1}', '{"b":2}', '{"c":3}'], call)).toMatchObject({
        url: 'https://api.segment.io/v1/batch',
        body: '{"batch":[{"a":1},{"b":2},{"c":3}]}',
      });
    });

    it.each([
      ['https://events.eu1.segmentapis.com', 'https://events.eu1.segmentapis.com/v1/track'],
      ['https://rudder.example/', 'https://rudder.example/v1/track'],
      ['https://jitsu.example/api/s/s2s', 'https://jitsu.example/api/s/s2s/track'],
    ])('with the endpoint %s uses the path of that pipeline', (endpoint, url) => {
      expect(segment.request(['{}'], { ...call, connection: { ...connection, endpoint } }).url).toBe(url);
    });

    it('sends the write key as a user name without a password, and a Jitsu key unchanged', () => {
      const keyOf = (write_key: string) => {
        const keyCall = { ...call, connection: { ...connection, secrets: { write_key } } };
        const { authorization = '' } = segment.request(['{}'], keyCall).headers;
        return Buffer.from(authorization.slice('Basic '.length), 'base64').toString();
      };
      expect(keyOf('wk_123')).toBe('wk_123:');
      expect(keyOf('id:secret')).toBe('id:secret');
    });
  });

  describe('verdict', () => {
    it.each<[string, number, string | object, string]>([
      ['success of Segment', 200, { success: true }, 'delivered'],
      ['success of RudderStack', 200, 'OK', 'delivered'],
      ['success of RudderStack, quoted', 200, '"ok"', 'delivered'],
      ['success of Jitsu', 200, { ok: true, receivedEvents: 1, okEvents: 1 }, 'delivered'],
      ['an empty body', 200, '', 'delivered'],
      ['a line break', 200, '\r\n', 'delivered'],
      ['64 KiB of blanks', 200, ' '.repeat(65_536), 'retry'],
      ['invalid JSON', 400, 'Invalid JSON\n', 'rejected'],
      ['a missing user', 400, 'Request neither has anonymousId nor userId\n', 'rejected'],
      ['a request that is too large', 413, 'Request size exceeds max limit\n', 'rejected'],
      ['an invalid write key', 401, 'Invalid Write Key\n', 'unauthorized'],
      ['a forbidden request', 403, '', 'unauthorized'],
      ['a disabled source', 404, 'Source is disabled\n', 'misconfigured'],
      ['an unknown path', 404, '404 page not found', 'rejected'],
      ['a redirect', 302, '', 'rejected'],
      ['a rate limit', 429, 'Max Requests Limit reached', 'retry'],
      ['an overloaded server', 503, '', 'retry'],
      ['a gateway timeout', 504, '<html>', 'retry'],
      ['an invalid key at Jitsu', 200, { ok: false, error: 'stream not found' }, 'unauthorized'],
      ['an invalid event at Jitsu', 200, { ok: false, errors: ['Message ID: cc-1: event error'] }, 'rejected'],
      ['an error in a 200', 200, { success: false, error: 'x' }, 'retry'],
      ['a web page', 200, '<html>', 'retry'],
      ['a truncated body', 200, '{"success":tr', 'retry'],
      ['a list', 200, '[]', 'retry'],
      ['null', 200, 'null', 'retry'],
      ['a number', 200, '1', 'retry'],
    ])('follows from %s', (_, status, body, kind) => {
      expect(segment.verdict(answer(status, body), 1)).toMatchObject({ kind });
    });

    it('contains the error message', () => {
      expect(segment.verdict(answer(400, 'Invalid JSON\n'), 1)).toEqual({ kind: 'rejected', reason: 'Invalid JSON' });
      expect(segment.verdict(answer(404, 'Source is disabled\n'), 1)).toMatchObject({ reason: 'Source is disabled' });
      expect(segment.verdict(answer(400, '<html>'), 1)).toMatchObject({ reason: 'HTTP 400' });
      expect(segment.verdict(answer(400, { message: 'no' }), 1)).toMatchObject({ reason: 'no' });
    });

    it.each<[number, string | object]>([
      [400, 'Invalid JSON'],
      [413, ''],
      [200, { ok: false, errors: ['Message ID: cc-1: event error'], receivedEvents: 3, okEvents: 2 }],
    ])('splits a batch after a %i with %j', (status, body) => {
      expect(segment.verdict(answer(status, body), 3)).toMatchObject({ kind: 'split' });
    });

    it('honours Retry-After', () => {
      expect(segment.verdict(answer(429, '', { 'retry-after': '7' }), 1)).toMatchObject({
        reason: 'throttled',
        afterMs: 7_000,
      });
    });
  });
});
