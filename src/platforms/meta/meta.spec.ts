import { answer, inOneWord, itNeedsMoreThanA200 } from '../../../test/support/platform-answers.js';
import { fieldsThatAre, itChecksFields } from '../../../test/support/platform-fields.js';
import { describeGoldens } from '../../../test/support/platform-goldens.js';
import {
  BY_NOBODY,
  itCarriesItemsAsTheyAre,
  itTellsNoClickButItsOwn,
  knownBy,
  NAME_SPELLINGS,
  sentItem,
} from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection, Settings } from '../platform.js';
import { meta } from './index.js';

const connection: Connection = { settings: { pixel_id: '1234567890' }, secrets: { access_token: 'EAAtoken' } };
const call = { connection, nowMs: 0 };

const purchase: Conversion = SAMPLE_CONVERSIONS['hashed-only'];
const visited: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const DAY_MS = 24 * 60 * 60 * 1_000;

const item = (conversion: Conversion, settings: Settings = {}) => sentItem(meta, conversion, settings);

function failure(code: number, error_subcode?: number, more: object = {}) {
  return { error: { message: 'Said so', type: 'OAuthException', code, error_subcode, fbtrace_id: 'F', ...more } };
}

describe('meta', () => {
  describeGoldens(meta, connection);

  describe('payload', () => {
    it('skips a purchase without an amount, under whatever name it came', () => {
      const order = { ...purchase, event: 'order', value: undefined };
      expect(meta.payload({ ...purchase, value: undefined }, {})).toEqual({ skip: 'value_required' });
      expect(meta.payload(order, { 'event.order': 'Purchase' })).toEqual({ skip: 'value_required' });
      expect(meta.payload({ ...purchase, value: 0 }, {})).toHaveProperty('item');
      expect(meta.payload({ ...purchase, value: undefined }, { 'event.purchase': 'Renewal' })).toHaveProperty('item');
    });

    it.each<[string, Conversion]>([
      ['nothing', BY_NOBODY],
      ['a name', { ...BY_NOBODY, hashes: { subject: '', firstName: 'f', lastName: 'l' } }],
      ['an address', knownBy({ ip: '203.0.113.10' })],
      ['a browser', knownBy({ userAgent: 'UA' })],
      ['the click of another platform', knownBy({ clicks: { gclid: { id: 'G', timeMs: 1 } } })],
    ])('skips what is known by %s alone', (_, conversion) => {
      expect(meta.payload(conversion, {})).toEqual({ skip: 'no_identifier' });
    });

    it.each<[string, Conversion]>([
      ['a phone', { ...BY_NOBODY, hashes: { subject: '', phone: 'p', phoneDigits: 'd' } }],
      ['a click', knownBy({ clicks: { fbclid: { id: 'C', timeMs: purchase.timeMs } } })],
      ['a browser id', knownBy({ cookies: { _fbp: 'fb.1.1.2' } })],
      ['address and browser', knownBy({ ip: '203.0.113.10', userAgent: 'UA' })],
    ])('sends what is known by %s', (_, conversion) => {
      expect(item(conversion).user_data).not.toHaveProperty('em');
    });

    it('spells the click like the cookie, for 90 days', () => {
      const clicked = (timeMs: number) =>
        item({ ...knownBy({ clicks: { fbclid: { id: 'AbC_dEf', timeMs } } }), hashes: purchase.hashes }).user_data.fbc;
      expect(clicked(purchase.timeMs - 90 * DAY_MS)).toBe(`fb.1.${purchase.timeMs - 90 * DAY_MS}.AbC_dEf`);
      expect(clicked(purchase.timeMs - 90 * DAY_MS - 1)).toBeUndefined();
    });

    it('calls it a website event only with page and browser', () => {
      const { userAgent, pageUrl, ...rest } = SAMPLE_CONVERSIONS['with-click-id'].visit;
      for (const partly of [
        { ...rest, userAgent },
        { ...rest, pageUrl },
        { ...rest, pageUrl, userAgent: '' },
      ]) {
        const sent = item({ ...visited, visit: partly });
        expect(sent.action_source).toBe('system_generated');
        expect(sent).not.toHaveProperty('event_source_url');
        expect(sent.user_data).toHaveProperty('fbc');
      }
    });

    it('spells names without spaces and punctuation', () => {
      const hashes = { ...purchase.hashes, ...NAME_SPELLINGS };
      expect(item({ ...purchase, hashes }).user_data).toMatchObject({ fn: ['f-bare'], ln: ['l-bare'] });
    });

    itTellsNoClickButItsOwn(meta, {}, 'fbclid');

    it('names events as the connection says, and others by their own name', () => {
      expect(item(purchase, { 'event.purchase': 'Subscribe' }).event_name).toBe('Subscribe');
      expect(item({ ...purchase, event: 'constructor' }).event_name).toBe('constructor');
    });

    it('fills fields of the advertiser', () => {
      const { custom_data } = item(purchase, { 'field.order_ref': 'orderId', 'field.kind': 'event' });
      expect(custom_data).toEqual({
        currency: 'EUR',
        value: 129.9,
        order_id: 'ORD-1001',
        order_ref: 'ORD-1001',
        kind: 'purchase',
      });
    });

    it('leaves out empty parts', () => {
      expect(item({ ...purchase, event: 'lead', value: undefined, orderId: undefined })).not.toHaveProperty(
        'custom_data',
      );
      expect(JSON.stringify(item(purchase))).not.toMatch(/null|""|\[\]|\{\}/);
    });
  });

  describe('request', () => {
    itCarriesItemsAsTheyAre(meta, call, '{"access_token":"EAAtoken","data":[…]}');

    it('goes to the endpoint and version of the connection', () => {
      const settings = { pixel_id: '1', api_version: 'v27.0' };
      const { url } = meta.request(['{}'], {
        ...call,
        connection: { ...connection, settings, endpoint: 'http://h/meta/' },
      });
      expect(url).toBe('http://h/meta/v27.0/1/events');
    });

    it('never sends a test code with real events', () => {
      const settings = { pixel_id: '1', test_event_code: 'TEST1' };
      const { body } = meta.request(['{}'], { ...call, connection: { ...connection, settings } });
      expect(body).not.toContain('TEST1');
    });
  });

  describe('test', () => {
    it('uses the code, and has no other way', () => {
      const settings = { pixel_id: '1', test_event_code: 'TEST1' };
      const trial = meta.test?.('{"a":1}', { ...call, connection: { ...connection, settings } });
      expect(trial?.request.body).toBe('{"access_token":"EAAtoken","data":[{"a":1}],"test_event_code":"TEST1"}');
      expect(trial?.sent).toBe(true);
      expect(trial?.verdict(answer(200, { events_received: 1, fbtrace_id: 'F' }))).toMatchObject({ kind: 'delivered' });
      expect(trial?.verdict(answer(400, failure(100, 2804003)))).toMatchObject({ kind: 'rejected' });
      expect(meta.test?.('{}', call)).toBeUndefined();
    });
  });

  describe('verdict', () => {
    it('is delivered when all were received', () => {
      const ok = answer(200, { events_received: 3, messages: [], fbtrace_id: 'F' });
      expect(meta.verdict(ok, 3)).toEqual({ kind: 'delivered', requestId: 'F' });
    });

    it('looks for those that were not received', () => {
      expect(meta.verdict(answer(200, { events_received: 2 }), 3)).toMatchObject({ kind: 'split' });
      expect(meta.verdict(answer(200, { events_received: 0 }), 1)).toMatchObject({ kind: 'rejected' });
    });

    it.each<[string, number, object, string, string]>([
      ['token invalid', 400, failure(190), 'unauthorized', 'unauthorized'],
      ['token expired, as a 500', 500, failure(190, 463), 'unauthorized', 'unauthorized'],
      ['token invalidated', 400, failure(190, 460), 'unauthorized', 'unauthorized'],
      ['no permission', 403, failure(200), 'unauthorized', 'unauthorized'],
      ['no capability', 400, failure(3), 'unauthorized', 'unauthorized'],
      ['pixel out of reach', 400, failure(100, 33), 'unauthorized', 'unauthorized'],
      ['too old', 400, failure(100, 2804003), 'rejected', 'split'],
      ['value missing', 400, failure(100, 2804009), 'rejected', 'split'],
      ['not hashed', 400, failure(100, 2804016), 'rejected', 'split'],
      ['too little about the customer', 400, failure(100, 2804050), 'rejected', 'split'],
      ['invalid parameter', 400, failure(100), 'rejected', 'split'],
      ['invalid parameter, as a 500', 500, failure(100, 2804003), 'rejected', 'split'],
      ['unknown error as a 400', 400, failure(99_999), 'rejected', 'split'],
      ['application limit', 400, failure(4), 'throttled', 'throttled'],
      ['user limit, as a 500', 500, failure(17), 'throttled', 'throttled'],
      ['page limit', 400, failure(32), 'throttled', 'throttled'],
      ['custom limit', 400, failure(613), 'throttled', 'throttled'],
      ['business limit', 400, failure(80003), 'throttled', 'throttled'],
      ['unknown', 400, failure(1), 'server_error', 'server_error'],
      ['service', 400, failure(2), 'server_error', 'server_error'],
      ['temporary limit', 400, failure(341), 'server_error', 'server_error'],
      ['temporary block', 400, failure(368), 'server_error', 'server_error'],
      ['5000', 500, failure(5000), 'server_error', 'server_error'],
      ['21009', 400, failure(21009), 'server_error', 'server_error'],
      ['transient', 400, failure(99_999, 1, { is_transient: true }), 'server_error', 'server_error'],
      ['error in a 200', 200, failure(99_999), 'server_error', 'server_error'],
      ['bad event in a 200', 200, failure(100, 2804003), 'rejected', 'split'],
      ['error beside a count', 200, { events_received: 1, ...failure(2) }, 'server_error', 'server_error'],
      ['error that is no object', 200, { events_received: 1, error: 'no' }, 'server_error', 'server_error'],
    ])('%s (%i)', (_, status, body, one, three) => {
      expect(inOneWord(meta.verdict(answer(status, body), 1))).toBe(one);
      expect(inOneWord(meta.verdict(answer(status, body), 3))).toBe(three);
    });

    it('says what Meta said, with its trace', () => {
      const said = failure(100, 2804003, { error_user_title: 'Event Timestamp Too Old' });
      expect(meta.verdict(answer(400, said), 1)).toEqual({
        kind: 'rejected',
        reason: '100/2804003 Event Timestamp Too Old',
        requestId: 'F',
      });
    });

    it('does not repeat a token that Meta repeats', () => {
      const said = failure(190, undefined, { message: 'Malformed access token EAAtoken' });
      expect(JSON.stringify(meta.verdict(answer(400, said), 1))).not.toContain('EAAtoken');
    });

    it('waits as long as it is told', () => {
      expect(meta.verdict(answer(400, failure(4), { 'retry-after': '60' }), 1)).toMatchObject({ afterMs: 60_000 });
    });

    itNeedsMoreThanA200(
      (response) => meta.verdict(response, 1),
      { events_received: '1' },
      { events_received: 2 },
      { events_received: -1 },
    );

    it.each([
      [502, 'retry'],
      [429, 'retry'],
      [401, 'unauthorized'],
      [404, 'rejected'],
      [302, 'rejected'],
    ])('judges a %i page by its status', (status, kind) => {
      expect(meta.verdict(answer(status, '<html>'), 1)).toMatchObject({ kind });
    });
  });

  describe('settings', () => {
    itChecksFields(
      meta,
      ['pixel_id', '1234567890', '12/34'],
      ['access_token', 'EAAtoken|x', 'two words'],
      ['access_token', 'EAAtoken', 'line\nbreak'],
      ['test_event_code', 'TEST12345', 'a"b'],
      ['api_version', 'v27.0', '27'],
    );

    it('keeps the token secret and needs pixel and token', () => {
      expect(fieldsThatAre('secret', meta)).toEqual(['access_token']);
      expect(fieldsThatAre('required', meta)).toEqual(['pixel_id', 'access_token']);
    });
  });
});
