import { hash } from 'node:crypto';
import {
  bySource,
  DETAILED,
  DETAILED_OPT_OUT,
  PRICED_LEAD,
  UNPRICED_LEAD,
} from '../../../test/support/optional-fields.js';
import { answer } from '../../../test/support/platform-answers.js';
import { describePlatformContract } from '../../../test/support/platform-contract.js';
import { sentItem } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import { hashPersonal } from '../../conversions/hash-personal.js';
import type { Conversion } from '../conversion.js';
import type { Connection, PlatformResponse } from '../platform.js';
import { platform as reddit } from './index.js';

const connection: Connection = { settings: { pixel_id: 'a2_abc123' }, secrets: { access_token: 'token' } };
const call = { connection, nowMs: 0 };
const withVisit: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const item = (conversion: Conversion, settings = {}) =>
  sentItem(reddit, conversion, { ...connection.settings, ...settings });

// The local part of this address is empty after Reddit's normalisation, so there is no email hash.
const hashes = hashPersonal({ email: '+news@example.com', event: 'purchase', currency: 'EUR' });
const unidentified: Conversion = { ...SAMPLE_CONVERSIONS['hashed-only'], hashes };
const identifiedBy = (visit: object) => ({
  ...unidentified,
  visit: { clicks: {}, cookies: {}, utm: {}, ...visit },
});

const processed = (count: number) => ({ data: { message: `Successfully processed ${count} conversion events.` } });
const INVALID = 'There were 1 invalid conversion events. None were processed.';

const sha256 = (text: string) => hash('sha256', text);

describePlatformContract(reddit, {
  connection,
  payload: {
    unidentified: [
      ['nothing', unidentified],
      ['an IP address', identifiedBy({ ip: '203.0.113.10' })],
      ['a user agent', identifiedBy({ userAgent: 'UA' })],
      ['a click id of another platform', identifiedBy({ clicks: { gclid: { id: 'x', timeMs: 0 } } })],
    ],
    identified: [
      ['a click id', identifiedBy({ clicks: { rdt_cid: { id: 'R', timeMs: 0 } } })],
      ['a cookie', identifiedBy({ cookies: { _rdt_uuid: '1.a' } })],
      ['IP address and user agent', identifiedBy({ ip: '203.0.113.10', userAgent: 'UA' })],
    ],
    email: 'user.email',
    clickId: 'rdt_cid',
  },
  verdicts: [
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
    [403, { error: { message: 'No access to the pixel' } }, { kind: 'unauthorized', reason: 'No access to the pixel' }],
    [404, '', { kind: 'rejected', reason: 'HTTP 404' }],
    [429, '', { kind: 'retry', reason: 'throttled' }],
    [
      500,
      { message: 'service is currently unavailable. No conversion events were processed.' },
      { kind: 'retry', reason: 'server_error' },
    ],
    [502, '<html>', { kind: 'retry', reason: 'server_error' }],
    [301, '', { kind: 'rejected' }],
  ],
  unreadable: [{ data: {} }, { data: { message: 'error' } }],
});

describe('reddit', () => {
  describe('payload', () => {
    it('skips an event whose name has more than 64 characters', () => {
      expect(reddit.payload({ ...withVisit, event: 'a'.repeat(65) }, {})).toEqual({ skip: 'event_not_mapped' });
      expect(item({ ...withVisit, event: '王'.repeat(64) }).type.tracking_type).toBe('CUSTOM');
    });

    it('has a standard type if the mapped name is one, and no amount with some of them', () => {
      expect(item(withVisit, { 'event.purchase': 'ADD_TO_CART' })).toMatchObject({
        type: { tracking_type: 'ADD_TO_CART' },
        metadata: { value: 129.9, currency: 'EUR' },
      });
      expect(item(withVisit, { 'event.purchase': 'PAGE_VISIT' }).metadata).toEqual({ conversion_id: 'ORD-1001' });
      expect(item(withVisit, { 'event.purchase': 'Paid' }).type).toEqual({
        tracking_type: 'CUSTOM',
        custom_event_name: 'Paid',
      });
    });

    it('contains custom fields, which cannot replace its own', () => {
      const settings = { 'field.order_id': 'orderId', 'field.conversion_id': 'event' };
      expect(item(withVisit, settings).metadata).toMatchObject({ order_id: 'ORD-1001', conversion_id: 'ORD-1001' });
    });

    it('contains the hashed customer id, which suffices to identify a person, and no address', () => {
      const { user } = item({ ...identifiedBy({}), externalId: 'C-42', address: DETAILED.address });
      expect(user).toEqual({ external_id: sha256('C-42') });
    });

    it('has the action source that Reddit accepts', () => {
      const actionSource = (conversion: Conversion) => item(conversion).action_source;
      const others = { phone_call: 'OTHER', email: 'OTHER', crm: 'OTHER', other: 'OTHER' };
      const known = { ...others, website: 'WEBSITE', app: 'APP', physical_store: 'PHYSICAL_STORE' };
      expect(bySource(DETAILED, actionSource)).toEqual({ ...known, none: 'WEBSITE' });
      expect(bySource({ ...DETAILED, visit: undefined }, actionSource)).toEqual({ ...known, none: 'OTHER' });
      expect(item({ ...DETAILED, source: 'app' })).not.toHaveProperty('event_source_url');
    });

    it('contains after an opt-out what is hashed, and limits its use', () => {
      const { user, ...sent } = item(DETAILED_OPT_OUT);
      expect(user).toMatchObject({ external_id: sha256('Customer-42'), data_processing_options: { modes: ['LDU'] } });
      for (const name of ['uuid', 'ip_address']) expect(user).not.toHaveProperty(name);
      expect(sent).not.toHaveProperty('click_id');
    });

    it('contains the number of items and prices only with types that may have them', () => {
      const metadata = (theirs: string) => item(PRICED_LEAD, { 'event.lead': theirs }).metadata;
      expect(metadata('PURCHASE')).toMatchObject({ currency: 'EUR', item_count: 4 });
      expect(metadata('LEAD')).toMatchObject({ currency: 'EUR', products: [{ item_price: 49.95 }, {}, {}] });
      expect(metadata('LEAD')).not.toHaveProperty('item_count');
      expect(metadata('SEARCH')).toEqual({
        conversion_id: 'ORD-1001',
        products: [
          { id: 'SKU-1', name: 'Running shoe', category: 'Shoes > Running', quantity: 2 },
          { id: 'SKU-2', quantity: 1 },
          { id: 'SKU-3', quantity: 1 },
        ],
      });
      expect(item(UNPRICED_LEAD).metadata).not.toHaveProperty('currency');
    });
  });

  it('sends several payloads byte for byte, with its own user agent', () => {
    const { body, headers } = reddit.request(['{ "a": 1 }', '{"b":2}', '{"c":3}'], call);
    expect(body).toBe('{"data":{"events":[{ "a": 1 },{"b":2},{"c":3}]}}');
    expect(headers['user-agent']).toMatch(/^clean-conversions\//);
  });

  describe('test mode', () => {
    const reads = reddit.test?.('{}', call);

    it('sends no event without a test id', () => {
      expect(reads).toMatchObject({
        sent: false,
        request: { method: 'GET', url: 'https://ads-api.reddit.com/api/v3/me' },
      });
      expect(reads?.request.body).toBeUndefined();
    });

    it.each<[string, PlatformResponse, object | undefined]>([
      ['the owner of the token', answer(200, { data: { id: 't2_x' } }), { kind: 'accepted' }],
      ['a token that may only send', answer(403, { message: 'Insufficient scope' }), undefined],
      ['a wrong token', answer(401, { message: 'Unauthorized' }), { kind: 'unauthorized', reason: 'Unauthorized' }],
      ['another answer', answer(200, {}), { kind: 'retry', reason: 'server_error' }],
    ])('reads %s', (_, response, verdict) => {
      expect(reads?.verdict(response)).toEqual(verdict);
    });

    it('sends one event with the test id, which real requests do not contain', () => {
      const settings = { ...connection.settings, test_id: 't2_x"' };
      const testCall = { ...call, connection: { ...connection, settings } };
      const test = reddit.test?.('{"a":1}', testCall);
      expect(test?.sent).toBe(true);
      expect(test?.request.body).toBe('{"data":{"test_id":"t2_x\\"","events":[{"a":1}]}}');
      expect(test?.verdict(answer(400, 'x'))).toMatchObject({ kind: 'rejected' });
      expect(reddit.request(['{"a":1}'], testCall).body).not.toContain('test_id');
    });
  });

  describe('verdict', () => {
    it('compares the number of processed events', () => {
      expect(reddit.verdict(answer(200, processed(1)), 1)).toEqual({ kind: 'delivered' });
      expect(reddit.verdict(answer(200, processed(3)), 3)).toEqual({ kind: 'delivered' });
      expect(reddit.verdict(answer(200, processed(2)), 3)).toMatchObject({ kind: 'retry' });
    });

    it('splits a refused batch', () => {
      expect(reddit.verdict(answer(400, { error: { message: INVALID } }), 3)).toEqual({
        kind: 'split',
        reason: INVALID,
      });
      expect(reddit.verdict(answer(413), 3)).toMatchObject({ kind: 'split' });
    });
  });

  it('refuses a mapping to an event name that is too long', () => {
    const check = (name: string) =>
      reddit.check?.({ settings: { 'event.demo': name }, secrets: { access_token: 'token' } });
    expect(check('Demo')).toBeUndefined();
    expect(check('a'.repeat(65))).toMatch(/^event\.demo must be 1 to 64/);
  });
});
