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
import { pinterest } from './index.js';

const connection: Connection = { settings: { ad_account_id: '549755885175' }, secrets: { access_token: 'pina_token' } };
const call = { connection, nowMs: 0 };

const purchase: Conversion = SAMPLE_CONVERSIONS['hashed-only'];

const item = (conversion: Conversion, settings: Settings = {}) => sentItem(pinterest, conversion, settings);

const processed = { status: 'processed', error_message: null, warning_message: null };
const failed = { status: 'failed', error_message: 'event_time is invalid', warning_message: null };
const counted = (...events: object[]) => ({ num_events_received: events.length, num_events_processed: 1, events });

describe('pinterest', () => {
  describeGoldens(pinterest, connection);

  describe('payload', () => {
    it.each<[string, Conversion]>([
      ['nothing', BY_NOBODY],
      ['a phone', { ...BY_NOBODY, hashes: { subject: '', phone: 'p', phoneDigits: 'd' } }],
      ['its click', knownBy({ clicks: { epik: { id: 'E', timeMs: 1 } } })],
      ['an address', knownBy({ ip: '203.0.113.10' })],
      ['a browser', knownBy({ userAgent: 'UA' })],
    ])('skips what is known by %s alone', (_, conversion) => {
      expect(pinterest.payload(conversion, {})).toEqual({ skip: 'no_identifier' });
    });

    it('sends what is known by address and browser', () => {
      const sent = item(knownBy({ ip: '203.0.113.10', userAgent: 'UA' }));
      expect(sent.user_data).toEqual({ client_ip_address: '203.0.113.10', client_user_agent: 'UA' });
    });

    it('skips an event of our own unless it is mapped', () => {
      expect(pinterest.payload({ ...purchase, event: 'constructor' }, {})).toEqual({ skip: 'event_not_mapped' });
      expect(item({ ...purchase, event: 'demo' }, { 'event.demo': 'custom' }).event_name).toBe('custom');
      expect(item(purchase, { 'event.purchase': 'subscribe' }).event_name).toBe('subscribe');
    });

    it('spells names as they are', () => {
      const hashes = { ...purchase.hashes, ...NAME_SPELLINGS };
      expect(item({ ...purchase, hashes }).user_data).toMatchObject({ fn: ['f'], ln: ['l'] });
    });

    itTellsNoClickButItsOwn(pinterest, {}, 'epik');

    it('needs no amount, and sends no currency without one', () => {
      expect(item({ ...purchase, value: undefined }).custom_data).toEqual({ order_id: 'ORD-1001' });
    });

    it('fills fields of the advertiser with texts', () => {
      const settings = { 'field.predicted_ltv': 'value', 'field.content_name': 'event' };
      expect(item({ ...purchase, currency: 'KWD' }, settings).custom_data).toEqual({
        predicted_ltv: '129.900',
        content_name: 'purchase',
        currency: 'KWD',
        value: '129.900',
        order_id: 'ORD-1001',
      });
    });

    it('leaves out empty parts', () => {
      expect(item({ ...purchase, value: undefined, orderId: undefined })).not.toHaveProperty('custom_data');
      expect(JSON.stringify(item(purchase))).not.toMatch(/null|""|\[\]|\{\}/);
    });
  });

  describe('request', () => {
    itCarriesItemsAsTheyAre(pinterest, call, '{"data":[…]}');

    it('goes to the endpoint and version of the connection', () => {
      const settings = { ad_account_id: '1', api_version: 'v6' };
      const endpoint = 'http://h/pinterest/';
      const { url } = pinterest.request(['{}'], { ...call, connection: { ...connection, settings, endpoint } });
      expect(url).toBe('http://h/pinterest/v6/ad_accounts/1/events');
    });

    it('carries no more than an answer of 64 KiB can describe', () => {
      const described = { ...processed, warning_message: 'w'.repeat(500) };
      const body = JSON.stringify(counted(...Array(pinterest.batchMax).fill(described)));
      expect(body.length).toBeLessThan(64 * 1_024);
    });
  });

  describe('test', () => {
    it('asks Pinterest to check without recording', () => {
      const trial = pinterest.test?.('{"a":1}', call);
      expect(trial?.request.url).toBe('https://api.pinterest.com/v5/ad_accounts/549755885175/events?test=true');
      expect(trial?.request.body).toBe('{"data":[{"a":1}]}');
      expect(trial?.sent).toBe(true);
      expect(trial?.verdict(answer(200, counted(processed)))).toEqual({ kind: 'delivered' });
      expect(trial?.verdict(answer(200, counted(failed)))).toMatchObject({ kind: 'rejected' });
      expect(trial?.verdict(answer(401, { code: 2, message: 'Authentication failed.' }))).toMatchObject({
        kind: 'unauthorized',
      });
      expect(trial?.verdict(answer(200, counted()))).toMatchObject({ kind: 'retry' });
    });
  });

  describe('verdict', () => {
    it.each([
      [200, counted(processed, failed, processed)],
      [422, { code: 1, message: 'Not all events', details: counted(processed, failed, processed) }],
    ])('judges each event of a %i', (status, body) => {
      expect(pinterest.verdict(answer(status, body), 3)).toEqual([
        { kind: 'delivered' },
        { kind: 'rejected', reason: 'event_time is invalid' },
        { kind: 'delivered' },
      ]);
    });

    it('tries an event again of which nothing known is said', () => {
      const verdict = pinterest.verdict(answer(200, counted(processed, { status: 'queued' }, {})), 3);
      expect(verdict).toMatchObject([{ kind: 'delivered' }, { kind: 'retry' }, { kind: 'retry' }]);
    });

    it.each([
      [400, { code: 4196, message: 'The request was invalid.' }, 'rejected', 'split'],
      [401, { code: 2, message: 'Authentication failed.' }, 'unauthorized', 'unauthorized'],
      [403, { code: 29, message: 'You are not permitted to access that resource.' }, 'unauthorized', 'unauthorized'],
      [422, { code: 1, message: 'Not all events were successfully processed.', details: {} }, 'rejected', 'split'],
      [422, { code: 1, message: 'Not all', details: counted(processed) }, 'each', 'split'],
      [404, undefined, 'rejected', 'split'],
      [429, { code: 8, message: 'This request exceeded a rate limit.' }, 'throttled', 'throttled'],
      [503, { code: 4197, message: 'The endpoint has been ramped down.' }, 'server_error', 'server_error'],
      [500, undefined, 'server_error', 'server_error'],
      [500, counted(processed), 'server_error', 'server_error'],
    ])('%i %j', (status, body, one, three) => {
      expect(inOneWord(pinterest.verdict(answer(status, body), 1))).toBe(one);
      expect(inOneWord(pinterest.verdict(answer(status, body), 3))).toBe(three);
    });

    it('says what Pinterest said', () => {
      const said = answer(400, { code: 4196, message: 'The request was invalid.' });
      expect(pinterest.verdict(said, 1)).toEqual({ kind: 'rejected', reason: 'The request was invalid.' });
    });

    itNeedsMoreThanA200(
      (response) => pinterest.verdict(response, 1),
      [processed],
      { events: 'processed' },
      { num_events_received: 1, num_events_processed: 1 },
      counted(processed, processed),
      { code: 8, message: 'This request exceeded a rate limit.' },
    );
  });

  describe('settings', () => {
    const whole = (settings: Settings) => pinterest.check?.({ ...connection, settings });

    itChecksFields(
      pinterest,
      ['ad_account_id', '549755885175', 'act_1'],
      ['access_token', 'pina_token', 'line\nbreak'],
      ['api_version', 'v6', '5.0'],
    );

    it('refuses names that Pinterest would refuse', () => {
      expect(whole({ ad_account_id: '1', 'event.demo': 'custom', 'field.content_name': 'event' })).toBeUndefined();
      expect(whole({ 'event.demo': 'Booked a demo' })).toMatch(/^event\.demo must be /);
      expect(whole({ 'field.my_field': 'event' })).toMatch(/^field\.my_field is no field/);
    });

    it('keeps the token secret and needs account and token', () => {
      expect(fieldsThatAre('secret', pinterest)).toEqual(['access_token']);
      expect(fieldsThatAre('required', pinterest)).toEqual(['ad_account_id', 'access_token']);
    });
  });
});
