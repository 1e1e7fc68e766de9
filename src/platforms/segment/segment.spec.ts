import { answer } from '../../../test/support/platform-answers.js';
import { itChecksFields } from '../../../test/support/platform-fields.js';
import { describeGoldens } from '../../../test/support/platform-goldens.js';
import { itTellsNoClickButItsOwn, sentItem } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection } from '../platform.js';
import { segment } from './index.js';

const connection: Connection = { settings: { 'field.total': 'value' }, secrets: { write_key: 'wk_123' } };
const CALL = { connection, nowMs: 0 };
const at = (endpoint: string) => ({ ...CALL, connection: { ...connection, endpoint } });
const WITH_VISIT: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const itemOf = (conversion: Conversion, settings = {}) =>
  sentItem(segment, conversion, { ...connection.settings, ...settings });

describe('segment', () => {
  describeGoldens(segment, connection);

  it('knows a person by the hash, and tells nothing else about them', () => {
    const item = itemOf(SAMPLE_CONVERSIONS['phone-and-name']);
    expect(item.userId).toBe('0bce3ed0bcbcc8d9dab97b42bf2ffa075b5782c10f543f0be1d8d53803efab15');
    expect(JSON.stringify(item)).not.toContain(SAMPLE_CONVERSIONS['phone-and-name'].hashes.phone);
  });

  itTellsNoClickButItsOwn(segment, connection.settings);

  describe('messageId', () => {
    const idOf = (changes: Partial<Conversion>): string => itemOf({ ...WITH_VISIT, ...changes }).messageId;

    it('is the same every time, has a prefix, and is short whatever the order’s number', () => {
      expect(idOf({})).toBe(idOf({ value: 5, visit: undefined }));
      expect(idOf({})).toMatch(/^cc-[0-9a-f-]{36}-[0-9a-f]{16}$/);
      expect(idOf({ eventId: '王'.repeat(255) }).length).toBeLessThanOrEqual(100);
    });

    it('differs between conversions of one order, and for one that is sent again on purpose', () => {
      expect(idOf({ id: '019535d0-6b10-7000-8000-000000001002' })).not.toBe(idOf({}));
      expect(idOf({ eventId: 'ORD-1001-r2' })).not.toBe(idOf({}));
    });
  });

  it.each([
    ['purchase', 'Order Completed'],
    ['lead', 'lead'],
    ['signup', 'Signed Up'],
    ['constructor', 'constructor'],
  ])('calls %s %s', (event, name) => {
    expect(itemOf({ ...WITH_VISIT, event }).event).toBe(name);
  });

  it('uses the connection’s own name for an event', () => {
    expect(itemOf(WITH_VISIT, { 'event.purchase': 'Paid' }).event).toBe('Paid');
  });

  it('leaves out what a visit does not have', () => {
    const { context, anonymousId } = itemOf({ ...WITH_VISIT, visit: { clicks: {}, cookies: {}, utm: {}, ip: '' } });
    expect(context).toEqual({ library: { name: 'clean-conversions', version: '1' } });
    expect(anonymousId).toBeUndefined();
  });

  it('hands on further UTM fields under their names', () => {
    const visit = { clicks: {}, cookies: {}, utm: { id: '7', source_platform: 'x' } };
    expect(itemOf({ ...WITH_VISIT, visit }).context.campaign).toEqual({ id: '7', source_platform: 'x' });
  });

  describe('the call', () => {
    it('has one conversion as it is, and several in a batch', () => {
      expect(segment.request(['{ "a": 1 }'], CALL)).toMatchObject({
        url: 'https://api.segment.io/v1/track',
        body: '{ "a": 1 }',
      });
      expect(segment.request(['{"a":1}', '{"b":2}', '{"c":3}'], CALL)).toMatchObject({
        url: 'https://api.segment.io/v1/batch',
        body: '{"batch":[{"a":1},{"b":2},{"c":3}]}',
      });
    });

    it.each([
      ['https://events.eu1.segmentapis.com', 'https://events.eu1.segmentapis.com/v1/track'],
      ['https://rudder.example/', 'https://rudder.example/v1/track'],
      ['https://jitsu.example/api/s/s2s', 'https://jitsu.example/api/s/s2s/track'],
    ])('goes to %s as that pipeline has it', (endpoint, url) => {
      expect(segment.request(['{}'], at(endpoint)).url).toBe(url);
    });

    it('sends the write key as a user without a password, and a Jitsu key as it is', () => {
      const keyOf = (write_key: string) => {
        const call = { ...CALL, connection: { ...connection, secrets: { write_key } } };
        const { authorization = '' } = segment.request(['{}'], call).headers;
        return Buffer.from(authorization.slice('Basic '.length), 'base64').toString();
      };
      expect(keyOf('wk_123')).toBe('wk_123:');
      expect(keyOf('id:secret')).toBe('id:secret');
    });
  });

  describe('the answer', () => {
    it.each<[string, number, string | object, string]>([
      ['of Segment', 200, { success: true }, 'delivered'],
      ['of RudderStack', 200, 'OK', 'delivered'],
      ['of RudderStack, quoted', 200, '"ok"', 'delivered'],
      ['of Jitsu', 200, { ok: true, receivedEvents: 1, okEvents: 1 }, 'delivered'],
      ['without a word', 200, '', 'delivered'],
      ['of a line break', 200, '\r\n', 'delivered'],
      ['of blanks without end', 200, ' '.repeat(65_536), 'retry'],
      ['that the JSON is bad', 400, 'Invalid JSON\n', 'rejected'],
      ['that nobody is named', 400, 'Request neither has anonymousId nor userId\n', 'rejected'],
      ['that it is too large', 413, 'Request size exceeds max limit\n', 'rejected'],
      ['that the write key is wrong', 401, 'Invalid Write Key\n', 'unauthorized'],
      ['that it is forbidden', 403, '', 'unauthorized'],
      ['that the source is off', 404, 'Source is disabled\n', 'unauthorized'],
      ['that there is no such address', 404, '404 page not found', 'rejected'],
      ['that leads elsewhere', 302, '', 'rejected'],
      ['that it is too much', 429, 'Max Requests Limit reached', 'retry'],
      ['that it is too busy', 503, '', 'retry'],
      ['that it took too long', 504, '<html>', 'retry'],
      ['of Jitsu, with a wrong key', 200, { ok: false, error: 'stream not found' }, 'unauthorized'],
      ['of Jitsu, with a wrong event', 200, { ok: false, errors: ['Message ID: cc-1: event error'] }, 'rejected'],
      ['with an error in it', 200, { success: false, error: 'x' }, 'retry'],
      ['that is a page', 200, '<html>', 'retry'],
      ['that is cut off', 200, '{"success":tr', 'retry'],
      ['that is a list', 200, '[]', 'retry'],
      ['that is null', 200, 'null', 'retry'],
      ['that is a number', 200, '1', 'retry'],
    ])('%s', (_, status, body, kind) => {
      expect(segment.verdict(answer(status, body), 1)).toMatchObject({ kind });
    });

    it('says in few words why', () => {
      expect(segment.verdict(answer(400, 'Invalid JSON\n'), 1)).toEqual({ kind: 'rejected', reason: 'Invalid JSON' });
      expect(segment.verdict(answer(404, 'Source is disabled\n'), 1)).toMatchObject({ reason: 'Source is disabled' });
      expect(segment.verdict(answer(400, '<html>'), 1)).toMatchObject({ reason: 'HTTP 400' });
      expect(segment.verdict(answer(400, { message: 'no' }), 1)).toMatchObject({ reason: 'no' });
    });

    it.each<[number, string | object]>([
      [400, 'Invalid JSON'],
      [413, ''],
      [200, { ok: false, errors: ['Message ID: cc-1: event error'], receivedEvents: 3, okEvents: 2 }],
    ])('%i to a batch: halves are tried', (status, body) => {
      expect(segment.verdict(answer(status, body), 3)).toMatchObject({ kind: 'split' });
    });

    it('is waited for as long as Segment asks', () => {
      expect(segment.verdict(answer(429, '', { 'retry-after': '7' }), 1)).toMatchObject({
        reason: 'throttled',
        afterMs: 7_000,
      });
    });
  });

  itChecksFields(segment, ['write_key', 'wk_123', 'two words']);
});
