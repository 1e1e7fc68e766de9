import { answer, itNeedsMoreThanA200 } from '../../../test/support/platform-answers.js';
import { itChecksFields } from '../../../test/support/platform-fields.js';
import { describeGoldens } from '../../../test/support/platform-goldens.js';
import { itTellsNoClickButItsOwn, sentItem } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import { hashPersonal } from '../../conversions/hash-personal.js';
import type { Conversion } from '../conversion.js';
import type { Connection } from '../platform.js';
import { reddit } from './index.js';

const connection: Connection = { settings: { pixel_id: 'a2_abc123' }, secrets: { access_token: 'token' } };
const CALL = { connection, nowMs: 0 };
const WITH_VISIT: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const itemOf = (conversion: Conversion, settings = {}) =>
  sentItem(reddit, conversion, { ...connection.settings, ...settings });

describe('reddit', () => {
  describeGoldens(reddit, connection);

  describe('what is skipped', () => {
    // Nothing is left of this address in Reddit's spelling.
    const hashes = hashPersonal({ email: '+news@example.com', event: 'purchase', currency: 'EUR' });
    const nobody: Conversion = { ...SAMPLE_CONVERSIONS['hashed-only'], hashes };
    const visited = (visit: object) => ({ ...nobody, visit: { clicks: {}, cookies: {}, utm: {}, ...visit } });

    it('a conversion of nobody', () => {
      expect(reddit.payload(nobody, connection.settings)).toEqual({ skip: 'no_identifier' });
      expect(reddit.payload(visited({ ip: '203.0.113.10' }), {})).toEqual({ skip: 'no_identifier' });
      expect(reddit.payload(visited({ userAgent: 'UA' }), {})).toEqual({ skip: 'no_identifier' });
      expect(reddit.payload(visited({ clicks: { gclid: { id: 'x', timeMs: 0 } } }), {})).toEqual({
        skip: 'no_identifier',
      });
    });

    it.each<[string, object]>([
      ['a click', { clicks: { rdt_cid: { id: 'R', timeMs: 0 } } }],
      ['a cookie', { cookies: { _rdt_uuid: '1.a' } }],
      ['an address and a browser', { ip: '203.0.113.10', userAgent: 'UA' }],
    ])('not one with %s', (_, visit) => {
      expect(reddit.payload(visited(visit), {})).toHaveProperty('item');
    });

    it('an event whose name is too long', () => {
      expect(reddit.payload({ ...WITH_VISIT, event: 'a'.repeat(65) }, {})).toEqual({ skip: 'event_not_mapped' });
      expect(itemOf({ ...WITH_VISIT, event: '王'.repeat(64) }).type.tracking_type).toBe('CUSTOM');
    });
  });

  it('takes a mapped event for one of its own where it is, and has no amount with some of them', () => {
    expect(itemOf(WITH_VISIT, { 'event.purchase': 'ADD_TO_CART' })).toMatchObject({
      type: { tracking_type: 'ADD_TO_CART' },
      metadata: { value: 129.9, currency: 'EUR' },
    });
    expect(itemOf(WITH_VISIT, { 'event.purchase': 'PAGE_VISIT' }).metadata).toEqual({ conversion_id: 'ORD-1001' });
    expect(itemOf(WITH_VISIT, { 'event.purchase': 'Paid' }).type).toEqual({
      tracking_type: 'CUSTOM',
      custom_event_name: 'Paid',
    });
  });

  it('fills fields of the metadata, but not its own', () => {
    const settings = { 'field.order_id': 'orderId', 'field.conversion_id': 'event' };
    expect(itemOf(WITH_VISIT, settings).metadata).toMatchObject({ order_id: 'ORD-1001', conversion_id: 'ORD-1001' });
  });

  itTellsNoClickButItsOwn(reddit, connection.settings, 'rdt_cid');

  it('puts several conversions into one call, byte for byte, under a name of its own', () => {
    const { body, headers } = reddit.request(['{ "a": 1 }', '{"b":2}', '{"c":3}'], CALL);
    expect(body).toBe('{"data":{"events":[{ "a": 1 },{"b":2},{"c":3}]}}');
    expect(headers['user-agent']).toMatch(/^clean-conversions\//);
  });

  describe('the test', () => {
    it('needs the id of Event Testing', () => {
      expect(reddit.test?.('{}', CALL)).toBeUndefined();
    });

    it('sends one event with it, and no other call has it', () => {
      const call = { ...CALL, connection: { ...connection, settings: { ...connection.settings, test_id: 't2_x"' } } };
      const test = reddit.test?.('{"a":1}', call);
      expect(test?.sent).toBe(true);
      expect(test?.request.body).toBe('{"data":{"test_id":"t2_x\\"","events":[{"a":1}]}}');
      expect(test?.verdict(answer(400, 'x'))).toMatchObject({ kind: 'rejected' });
      expect(reddit.request(['{"a":1}'], call).body).not.toContain('test_id');
    });
  });

  describe('the answer', () => {
    const processed = (count: number) => ({ data: { message: `Successfully processed ${count} conversion events.` } });
    const INVALID = 'There were 1 invalid conversion events. None were processed.';

    it('counts what was taken', () => {
      expect(reddit.verdict(answer(200, processed(1)), 1)).toEqual({ kind: 'delivered' });
      expect(reddit.verdict(answer(200, processed(3)), 3)).toEqual({ kind: 'delivered' });
      expect(reddit.verdict(answer(200, processed(2)), 3)).toMatchObject({ kind: 'retry' });
    });

    it.each<[number, string | object, object]>([
      [400, { error: { code: 400, message: INVALID } }, { kind: 'rejected', reason: INVALID }],
      [
        400,
        {
          message: INVALID,
          invalid_events: [
            { error_message: 'event_at timestamp must be less than 168h0m0s old', event: { user: 'secret' } },
          ],
        },
        { kind: 'rejected', reason: 'event_at timestamp must be less than 168h0m0s old' },
      ],
      [400, 'Bad Request', { kind: 'rejected', reason: 'HTTP 400' }],
      [401, 'Authorization Required', { kind: 'unauthorized', reason: 'HTTP 401' }],
      [
        401,
        { success: false, error: { reason: 'UNAUTHORIZED', explanation: 'This server could not verify you' } },
        { kind: 'unauthorized', reason: 'This server could not verify you' },
      ],
      [
        403,
        { error: { message: 'No access to the pixel' } },
        { kind: 'unauthorized', reason: 'No access to the pixel' },
      ],
      [404, '', { kind: 'rejected', reason: 'HTTP 404' }],
      [429, '', { kind: 'retry', reason: 'throttled' }],
      [
        500,
        { message: 'service is currently unavailable. No conversion events were processed.' },
        { kind: 'retry', reason: 'server_error' },
      ],
      [502, '<html>', { kind: 'retry', reason: 'server_error' }],
      [301, '', { kind: 'rejected' }],
    ])('%i %j', (status, body, verdict) => {
      expect(reddit.verdict(answer(status, body), 1)).toMatchObject(verdict);
    });

    it('that refuses a batch: halves are tried', () => {
      expect(reddit.verdict(answer(400, { error: { message: INVALID } }), 3)).toEqual({
        kind: 'split',
        reason: INVALID,
      });
      expect(reddit.verdict(answer(413), 3)).toMatchObject({ kind: 'split' });
    });

    itNeedsMoreThanA200((response) => reddit.verdict(response, 1), { data: {} }, { data: { message: 'error' } });
  });

  describe('settings', () => {
    itChecksFields(
      reddit,
      ['pixel_id', 'a2_abc123', 'a2/../x'],
      ['access_token', 'ey.J0-x', 'two words'],
      ['test_id', 't2_abc', 'two words'],
    );

    it('refuse an event name that is too long', () => {
      const check = (name: string) => reddit.check?.({ settings: { 'event.demo': name }, secrets: {} });
      expect(check('Demo')).toBeUndefined();
      expect(check('a'.repeat(65))).toMatch(/^event\.demo must be 1 to 64/);
    });
  });
});
