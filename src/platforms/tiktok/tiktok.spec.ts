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
import { tiktok } from './index.js';

const connection: Connection = { settings: { pixel_code: 'C0PIXEL' }, secrets: { access_token: 'token' } };
const call = { connection, nowMs: 0 };

const purchase: Conversion = SAMPLE_CONVERSIONS['hashed-only'];
const visited: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const item = (conversion: Conversion, settings: Settings = {}) => sentItem(tiktok, conversion, settings);

describe('tiktok', () => {
  describeGoldens(tiktok, connection);

  describe('payload', () => {
    it.each<[string, Conversion]>([
      ['nothing', BY_NOBODY],
      ['a name', { ...BY_NOBODY, hashes: { subject: '', firstName: 'f', lastName: 'l' } }],
      ['an address', knownBy({ ip: '203.0.113.10' })],
      ['a browser', knownBy({ userAgent: 'UA' })],
      ['the click of another platform', knownBy({ clicks: { gclid: { id: 'G', timeMs: 1 } } })],
    ])('skips what is known by %s alone', (_, conversion) => {
      expect(tiktok.payload(conversion, {})).toEqual({ skip: 'no_identifier' });
    });

    it.each<[string, Conversion]>([
      ['a phone', { ...BY_NOBODY, hashes: { subject: '', phone: 'p', phoneDigits: 'd' } }],
      ['a click', knownBy({ clicks: { ttclid: { id: 'C', timeMs: 1 } } })],
      ['a browser id', knownBy({ cookies: { _ttp: 'T' } })],
      ['address and browser', knownBy({ ip: '203.0.113.10', userAgent: 'UA' })],
    ])('sends what is known by %s', (_, conversion) => {
      expect(item(conversion).user).not.toHaveProperty('email');
    });

    it('spells names without spaces', () => {
      const hashes = { ...purchase.hashes, ...NAME_SPELLINGS };
      expect(item({ ...purchase, hashes }).user).toMatchObject({ first_name: 'f-joined', last_name: 'l-joined' });
    });

    itTellsNoClickButItsOwn(tiktok, {}, 'ttclid');

    it('names events as the connection says, and others by their own name', () => {
      expect(item(purchase, { 'event.purchase': 'Purchase' }).event).toBe('Purchase');
      expect(item({ ...purchase, event: 'constructor' }).event).toBe('constructor');
    });

    it('leaves out an amount whose currency is not taken', () => {
      expect(item(purchase, { currencies: 'USD,EUR' }).properties).toHaveProperty('value', 129.9);
      expect(item(purchase, { currencies: 'USD, GBP' }).properties).toEqual({ order_id: 'ORD-1001' });
    });

    it('needs no amount', () => {
      expect(item({ ...purchase, value: undefined }).properties).toEqual({ order_id: 'ORD-1001' });
    });

    it('fills fields of the advertiser', () => {
      expect(item(purchase, { 'field.description': 'event' }).properties).toHaveProperty('description', 'purchase');
    });

    it('leaves out empty parts', () => {
      expect(item({ ...purchase, value: undefined, orderId: undefined })).not.toHaveProperty('properties');
      expect(JSON.stringify(item(purchase))).not.toMatch(/null|""|\[\]|\{\}/);
    });

    it('sends what has no visit to the CRM event set, where there is one', () => {
      const settings = { crm_event_set_id: '77001' };
      expect(tiktok.payload(purchase, settings)).toHaveProperty('group', '77001');
      expect(tiktok.payload(purchase, {})).not.toHaveProperty('group');
      expect(tiktok.payload(visited, settings)).not.toHaveProperty('group');
    });
  });

  describe('request', () => {
    itCarriesItemsAsTheyAre(tiktok, call, '{"event_source":"web","event_source_id":"C0PIXEL","data":[…]}');

    it('names the CRM event set as the source of its group', () => {
      const { body } = tiktok.request(['{}'], { ...call, group: '77001' });
      expect(body).toBe('{"event_source":"crm","event_source_id":"77001","data":[{}]}');
    });

    it('goes to the endpoint and version of the connection, with a slash at the end', () => {
      const settings = { pixel_code: 'C', api_version: 'v1.4' };
      const { url } = tiktok.request(['{}'], {
        ...call,
        connection: { ...connection, settings, endpoint: 'http://h/tiktok' },
      });
      expect(url).toBe('http://h/tiktok/open_api/v1.4/event/track/');
    });

    it('never sends a test code with real events', () => {
      const settings = { pixel_code: 'C', test_event_code: 'TEST1' };
      const { body } = tiktok.request(['{}'], { ...call, connection: { ...connection, settings } });
      expect(body).not.toContain('TEST1');
    });
  });

  describe('test', () => {
    it('uses the code, and has no other way', () => {
      const settings = { pixel_code: 'C', test_event_code: 'TEST1' };
      const trial = tiktok.test?.('{"a":1}', { ...call, connection: { ...connection, settings } });
      expect(trial?.request.body).toBe(
        '{"event_source":"web","event_source_id":"C","data":[{"a":1}],"test_event_code":"TEST1"}',
      );
      expect(trial?.sent).toBe(true);
      expect(trial?.verdict(answer(200, { code: 0 }))).toMatchObject({ kind: 'delivered' });
      expect(trial?.verdict(answer(200, { code: 40002, message: 'Batch.0.x' }))).toMatchObject({ kind: 'rejected' });
      expect(tiktok.test?.('{}', call)).toBeUndefined();
    });
  });

  describe('verdict', () => {
    it('has the request’s id', () => {
      const ok = answer(200, { code: 0, message: 'OK', request_id: 'R', data: {} });
      expect(tiktok.verdict(ok, 3)).toEqual({ kind: 'delivered', requestId: 'R' });
    });

    it.each([
      ['delivered', [0, 20001, 40050]],
      ['throttled', [40100, 40016, 40132, 40133]],
      [
        'unauthorized',
        [
          40101, 40102, 40104, 40105, 40106, 40113, 40115, 40116, 40117, 40118, 40119, 40124, 40125, 40001, 40300,
          40301,
        ],
      ],
      ['rejected', [40000, 40002, 40006, 40007, 40008, 40010, 40051, 49999]],
      ['server_error', [40202, 40700, 50000, 50002, 51305, 60001, 59999, 1, -1]],
    ])('%s: %j', (expected, codes) => {
      for (const code of codes) {
        const verdict = tiktok.verdict(answer(200, { code, message: 'Said so', request_id: 'R' }), 1);
        expect([code, inOneWord(verdict)]).toEqual([code, expected]);
      }
    });

    it('rejects the event that is named by its place, and sends the others again', () => {
      const message = 'Batch.1.properties.contents.0.content_id: Not a valid string';
      expect(tiktok.verdict(answer(200, { code: 40002, message, request_id: 'R' }), 3)).toEqual([
        { kind: 'again' },
        { kind: 'rejected', reason: `40002 ${message}`, requestId: 'R' },
        { kind: 'again' },
      ]);
    });

    it('rejects each of several', () => {
      const verdict = tiktok.verdict(answer(200, { code: 40002, message: 'Batch.0.a: no; Batch.2.b: no' }), 3);
      expect(verdict).toMatchObject([{ kind: 'rejected' }, { kind: 'again' }, { kind: 'rejected' }]);
    });

    it.each(['Invalid parameter', 'Batch.3.event: no', 'Batch.x.event: no'])(
      'looks for it when told only "%s"',
      (message) => {
        expect(tiktok.verdict(answer(200, { code: 40002, message }), 3)).toMatchObject({ kind: 'split' });
      },
    );

    itNeedsMoreThanA200((response) => tiktok.verdict(response, 1), { code: '0' }, { code: null }, { message: 'OK' });

    it.each([
      [502, undefined, 'retry'],
      [429, undefined, 'retry'],
      [404, undefined, 'rejected'],
      [500, { code: 0, message: 'OK' }, 'retry'],
      [401, { code: 40105, message: 'Access token is incorrect' }, 'unauthorized'],
      [500, { code: 40104, message: 'Access token is null' }, 'unauthorized'],
    ])('judges a %i with %j', (status, body, kind) => {
      expect(tiktok.verdict(answer(status, body), 1)).toMatchObject({ kind });
    });
  });

  describe('settings', () => {
    itChecksFields(
      tiktok,
      ['pixel_code', 'C0PIXEL', 'C0 PIXEL'],
      ['access_token', 'abc123', 'line\nbreak'],
      ['test_event_code', 'TEST12345', 'a"b'],
      ['crm_event_set_id', '77001', '77/001'],
      ['currencies', 'EUR', 'eur'],
      ['currencies', 'EUR, USD', 'EURO'],
      ['api_version', 'v1.4', '1.4'],
    );

    it('keeps the token secret and needs pixel and token', () => {
      expect(fieldsThatAre('secret', tiktok)).toEqual(['access_token']);
      expect(fieldsThatAre('required', tiktok)).toEqual(['pixel_code', 'access_token']);
    });
  });
});
