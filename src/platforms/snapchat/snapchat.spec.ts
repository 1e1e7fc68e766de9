import { describeGoldens } from '../../../test/support/platform-goldens.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection, Payload, PlatformResponse, Settings } from '../platform.js';
import { snapchat } from './index.js';

const connection: Connection = {
  settings: { pixel_id: '0f1e2d3c-0000-4000-8000-abcdefabcdef' },
  secrets: { access_token: 'snap.token+/=' },
};
const call = { connection, nowMs: 0 };

const purchase: Conversion = SAMPLE_CONVERSIONS['hashed-only'];
const visited: Conversion = SAMPLE_CONVERSIONS['with-click-id'];
const nobody: Conversion = { ...purchase, hashes: { subject: '' } };
const visit = { clicks: {}, cookies: {}, utm: {} };

function item(conversion: Conversion, settings: Settings = {}) {
  const { item } = snapchat.payload(conversion, settings) as Payload;
  return JSON.parse(JSON.stringify(item));
}

function answer(status: number, body: unknown, headers: PlatformResponse['headers'] = {}): PlatformResponse {
  return { status, headers, text: JSON.stringify(body), json: body };
}

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
      ['nothing', nobody],
      ['its click', { ...nobody, visit: { ...visit, clicks: { sccid: { id: 'S', timeMs: 1 } } } }],
      ['its cookie', { ...nobody, visit: { ...visit, cookies: { _scid: 'S' } } }],
      ['an address', { ...nobody, visit: { ...visit, ip: '203.0.113.10' } }],
      ['a browser', { ...nobody, visit: { ...visit, userAgent: 'UA' } }],
    ])('skips what is known by %s alone', (_, conversion) => {
      expect(snapchat.payload(conversion, {})).toEqual({ skip: 'no_identifier' });
    });

    it.each<[string, Conversion]>([
      ['a phone', { ...nobody, hashes: { subject: '', phone: 'p', phoneDigits: 'd' } }],
      ['address and browser', { ...nobody, visit: { ...visit, ip: '203.0.113.10', userAgent: 'UA' } }],
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
      const hashes = {
        ...purchase.hashes,
        firstName: 'f',
        firstNameBare: 'f-bare',
        firstNameJoined: 'f-joined',
        firstNameUnpunctuated: 'f-unpunctuated',
        lastName: 'l',
        lastNameBare: 'l-bare',
        lastNameJoined: 'l-joined',
        lastNameUnpunctuated: 'l-unpunctuated',
      };
      expect(item({ ...purchase, hashes }).user_data).toMatchObject({ fn: ['f-unpunctuated'], ln: ['l-unpunctuated'] });
    });

    it('tells no click id but its own, not even in the page’s address', () => {
      const pageUrl = 'https://shop.example/?gclid=Gclid_AbC-123&email=jane@example.com';
      const sent = JSON.stringify(
        item({ ...visited, visit: { ...SAMPLE_CONVERSIONS['with-click-id'].visit, pageUrl } }),
      );
      expect(sent).not.toMatch(/gclid|fbclid|ttclid|msclkid|twclid|rdtcid|epik|jane/i);
      expect(sent).toContain('ScCid_AbC');
    });

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
    it('puts the events into one body as they are', () => {
      const { body } = snapchat.request(['{"a": 1}', '{"b":2.50}', '{"c":"é"}'], call);
      expect(body).toBe('{"data":[{"a": 1},{"b":2.50},{"c":"é"}]}');
    });

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
      const shown = (items: number) => {
        const verdict = snapchat.verdict(answer(status, body), items);
        if (!('kind' in verdict)) throw new Error('one verdict of all');
        return verdict.kind === 'retry' ? verdict.reason : verdict.kind;
      };
      expect(shown(1)).toBe(one);
      expect(shown(3)).toBe(three);
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

    it.each([undefined, null, [], 'VALID', 7, {}, { status: 'valid' }, { status: true }, [{ status: 'VALID' }]])(
      'does not take %j with a 200 for success',
      (json) => {
        const response = { status: 200, headers: {}, text: '<html>', json };
        expect(snapchat.verdict(response, 1)).toMatchObject({ kind: 'retry', reason: 'server_error' });
      },
    );
  });

  describe('settings', () => {
    const problem = (name: string, value: string) =>
      snapchat.fields.find((field) => field.name === name)?.check?.(value);
    const whole = (settings: Settings) => snapchat.check?.({ ...connection, settings });

    it.each([
      ['pixel_id', '0f1e2d3c-0000-4000-8000-abcdefabcdef', 'a/b'],
      ['access_token', 'eyJ.a_b-c', 'line\nbreak'],
      ['api_version', 'v4', '4'],
    ])('%s takes %s, not %j', (name, good, bad) => {
      expect(problem(name, good)).toBeUndefined();
      expect(problem(name, bad)).toMatch(/^must /);
    });

    it('refuses names that Snapchat would refuse', () => {
      expect(whole({ pixel_id: 'p', 'event.lead': 'CUSTOM_EVENT_1' })).toBeUndefined();
      expect(whole({ 'event.lead': 'Sign up' })).toMatch(/^event\.lead must be /);
    });

    it('keeps the token secret and needs pixel and token', () => {
      expect(snapchat.fields.filter(({ secret }) => secret).map(({ name }) => name)).toEqual(['access_token']);
      expect(snapchat.fields.filter(({ required }) => required).map(({ name }) => name)).toEqual([
        'pixel_id',
        'access_token',
      ]);
    });
  });
});
