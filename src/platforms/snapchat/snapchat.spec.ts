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
import { snapchat } from './index.js';

const connection: Connection = {
  settings: { pixel_id: '0f1e2d3c-0000-4000-8000-abcdefabcdef' },
  secrets: { access_token: 'snap.token+/=' },
};
const call = { connection, nowMs: 0 };

const purchase: Conversion = SAMPLE_CONVERSIONS['hashed-only'];
const visited: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const item = (conversion: Conversion, settings: Settings = {}) => sentItem(snapchat, conversion, settings);

const invalid = {
  status: 'INVALID',
  event: 0,
  reason: 'Some events were invalid.',
  errors: { codes: ['E1'], error_msgs: ['event_time is out of range'] },
};

describe('snapchat', () => {
  describeGoldens(snapchat, connection);

  describe('payload', () => {
    it('skips a purchase without an amount, under whatever name it came', () => {
      const order = { ...purchase, event: 'order', value: undefined };
      expect(snapchat.payload({ ...purchase, value: undefined }, {})).toEqual({ skip: 'value_required' });
      expect(snapchat.payload(order, { 'event.order': 'PURCHASE' })).toEqual({ skip: 'value_required' });
      expect(snapchat.payload({ ...purchase, value: 0 }, {})).toHaveProperty('item');
    });

    it.each<[string, Conversion]>([
      ['nothing', BY_NOBODY],
      ['its click', knownBy({ clicks: { sccid: { id: 'S', timeMs: 1 } } })],
      ['its cookie', knownBy({ cookies: { _scid: 'S' } })],
      ['an address', knownBy({ ip: '203.0.113.10' })],
      ['a browser', knownBy({ userAgent: 'UA' })],
    ])('skips what is known by %s alone', (_, conversion) => {
      expect(snapchat.payload(conversion, {})).toEqual({ skip: 'no_identifier' });
    });

    it.each<[string, Conversion]>([
      ['a phone', { ...BY_NOBODY, hashes: { subject: '', phone: 'p', phoneDigits: 'd' } }],
      ['address and browser', knownBy({ ip: '203.0.113.10', userAgent: 'UA' })],
    ])('sends what is known by %s', (_, conversion) => {
      expect(item(conversion).user_data).not.toHaveProperty('em');
    });

    it('skips an event of our own unless it is mapped', () => {
      expect(snapchat.payload({ ...purchase, event: 'constructor' }, {})).toEqual({ skip: 'event_not_mapped' });
      expect(item({ ...purchase, event: 'demo' }, { 'event.demo': 'CUSTOM_EVENT_2' }).event_name).toBe(
        'CUSTOM_EVENT_2',
      );
    });

    it('takes a lead for a sign-up, unless the connection knows better', () => {
      const lead = { ...purchase, event: 'lead' };
      expect(item(lead).event_name).toBe('SIGN_UP');
      expect(item(lead, { 'event.lead': 'CUSTOM_EVENT_1' }).event_name).toBe('CUSTOM_EVENT_1');
    });

    it('calls it a web event only with a page', () => {
      const sent = item({ ...visited, visit: { ...SAMPLE_CONVERSIONS['with-click-id'].visit, pageUrl: undefined } });
      expect(sent.action_source).toBe('OFFLINE');
      expect(sent.user_data).toHaveProperty('sc_click_id', 'ScCid_AbC');
    });

    it('spells names without punctuation', () => {
      const hashes = { ...purchase.hashes, ...NAME_SPELLINGS };
      expect(item({ ...purchase, hashes }).user_data).toMatchObject({ fn: ['f-unpunctuated'], ln: ['l-unpunctuated'] });
    });

    itTellsNoClickButItsOwn(snapchat, {}, 'sccid');

    it('fills fields of the advertiser', () => {
      expect(item(purchase, { 'field.status': 'event' }).custom_data).toHaveProperty('status', 'purchase');
    });

    it('leaves out empty parts', () => {
      const signup = { ...purchase, event: 'signup', value: undefined, orderId: undefined };
      expect(item(signup)).not.toHaveProperty('custom_data');
      expect(JSON.stringify(item(purchase))).not.toMatch(/null|""|\[\]|\{\}/);
    });
  });

  describe('request', () => {
    itCarriesItemsAsTheyAre(snapchat, call, '{"data":[…]}');

    it('goes to the endpoint and version of the connection', () => {
      const settings = { pixel_id: 'p', api_version: 'v4' };
      const endpoint = 'http://h/snapchat/';
      const { url } = snapchat.request(['{}'], { ...call, connection: { ...connection, settings, endpoint } });
      expect(url).toBe('http://h/snapchat/v4/p/events?access_token=snap.token%2B%2F%3D');
    });
  });

  describe('test', () => {
    it('asks Snapchat to check without recording', () => {
      const trial = snapchat.test?.('{"a":1}', call);
      expect(trial?.request.url).toMatch(/\/v3\/[0-9a-f-]+\/events\/validate\?access_token=/);
      expect(trial?.request.body).toBe('{"data":[{"a":1}]}');
      expect(trial?.sent).toBe(true);
      const ok = { status: 'VALID', test_event: true, event_logs: [{ event: 0, status: 'VALID' }] };
      expect(trial?.verdict(answer(200, ok))).toEqual({ kind: 'delivered' });
      expect(trial?.verdict(answer(200, invalid))).toMatchObject({ kind: 'rejected' });
    });
  });

  describe('verdict', () => {
    it.each([
      [200, { status: 'VALID', reason: 'Events have been processed successfully.' }, 'delivered', 'delivered'],
      [200, invalid, 'rejected', 'split'],
      [400, invalid, 'rejected', 'split'],
      [404, undefined, 'rejected', 'split'],
      [401, { status: 'INVALID', reason: 'Unauthorized' }, 'unauthorized', 'unauthorized'],
      [403, { status: 'INVALID', reason: 'Forbidden' }, 'unauthorized', 'unauthorized'],
      [429, undefined, 'throttled', 'throttled'],
      [500, invalid, 'server_error', 'server_error'],
      [502, undefined, 'server_error', 'server_error'],
      [500, { status: 'VALID' }, 'server_error', 'server_error'],
      [400, { status: 'VALID' }, 'rejected', 'split'],
    ])('%i %j', (status, body, one, three) => {
      expect(inOneWord(snapchat.verdict(answer(status, body), 1))).toBe(one);
      expect(inOneWord(snapchat.verdict(answer(status, body), 3))).toBe(three);
    });

    it('says what Snapchat said', () => {
      expect(snapchat.verdict(answer(400, invalid), 1)).toEqual({
        kind: 'rejected',
        reason: 'event_time is out of range',
      });
      expect(snapchat.verdict(answer(200, { status: 'INVALID', reason: 'No' }), 1)).toEqual({
        kind: 'rejected',
        reason: 'No',
      });
    });

    itNeedsMoreThanA200(
      (response) => snapchat.verdict(response, 1),
      'VALID',
      '"VALID"',
      { status: 'valid' },
      { status: true },
      [{ status: 'VALID' }],
    );
  });

  describe('settings', () => {
    const whole = (settings: Settings) => snapchat.check?.({ ...connection, settings });

    itChecksFields(
      snapchat,
      ['pixel_id', '0f1e2d3c-0000-4000-8000-abcdefabcdef', 'a/b'],
      ['access_token', 'eyJ.a_b-c', 'line\nbreak'],
      ['api_version', 'v4', '4'],
    );

    it('refuses names that Snapchat would refuse', () => {
      expect(whole({ pixel_id: 'p', 'event.lead': 'CUSTOM_EVENT_1' })).toBeUndefined();
      expect(whole({ 'event.lead': 'Sign up' })).toMatch(/^event\.lead must be /);
    });

    it('keeps the token secret and needs pixel and token', () => {
      expect(fieldsThatAre('secret', snapchat)).toEqual(['access_token']);
      expect(fieldsThatAre('required', snapchat)).toEqual(['pixel_id', 'access_token']);
    });
  });
});
