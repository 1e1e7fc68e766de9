import { hash } from 'node:crypto';
import {
  bySource,
  DETAILED,
  DETAILED_OPT_OUT,
  PRICED_LEAD,
  UNPRICED_LEAD,
} from '../../../test/support/optional-fields.js';
import { answer, expectVerdicts } from '../../../test/support/platform-answers.js';
import { describePlatformContract } from '../../../test/support/platform-contract.js';
import {
  INSUFFICIENT_IDENTIFIERS,
  IP_AND_USER_AGENT,
  identifiedBy,
  PHONE_NUMBER,
  sentItem,
} from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection, Settings } from '../platform.js';
import { platform as snapchat } from './index.js';

const connection: Connection = {
  settings: { pixel_id: '0f1e2d3c-0000-4000-8000-abcdefabcdef' },
  secrets: { access_token: 'snap.token+/=' },
};

const purchase: Conversion = SAMPLE_CONVERSIONS['hashed-only'];
const withVisit: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const item = (conversion: Conversion, settings: Settings = {}) => sentItem(snapchat, conversion, settings);

const invalid = {
  status: 'INVALID',
  event: 0,
  reason: 'Some events were invalid.',
  errors: { codes: ['E1'], error_msgs: ['event_time is out of range'] },
};

const sha256 = (text: string) => hash('sha256', text);

describePlatformContract(snapchat, {
  connection,
  secretSettings: ['access_token', 'client_secret', 'refresh_token'],
  requiredSettings: ['pixel_id'],
  payload: {
    unidentified: [
      ...INSUFFICIENT_IDENTIFIERS,
      ['its own click id', identifiedBy({ clicks: { sccid: { id: 'S', timeMs: 1 } } })],
      ['its own cookie', identifiedBy({ cookies: { _scid: 'S' } })],
    ],
    identified: [PHONE_NUMBER, IP_AND_USER_AGENT],
    email: 'user_data.em',
    names: ['user_data', { fn: ['f-unpunctuated'], ln: ['l-unpunctuated'] }],
    eventName: { path: 'event_name', mapped: 'CUSTOM_EVENT_2', custom: false },
    valueRequired: { purchase: 'PURCHASE', other: 'CUSTOM_EVENT_1' },
    customData: 'custom_data',
    clickId: 'sccid',
  },
  request: {
    body: '{"data":[…]}',
    endpoint: [
      { pixel_id: 'p', api_version: 'v4' },
      'http://h/snapchat/',
      'http://h/snapchat/v4/p/events?access_token=snap.token%2B%2F%3D',
    ],
  },
  unreadable: ['VALID', '"VALID"', { status: 'valid' }, { status: true }, [{ status: 'VALID' }]],
});

describe('snapchat', () => {
  describe('payload', () => {
    it('reports a lead as a sign-up, unless it is mapped', () => {
      const lead = { ...purchase, event: 'lead' };
      expect(item(lead).event_name).toBe('SIGN_UP');
      expect(item(lead, { 'event.lead': 'CUSTOM_EVENT_1' }).event_name).toBe('CUSTOM_EVENT_1');
    });

    it('is a web event only with a page URL', () => {
      const sent = item({ ...withVisit, visit: { ...SAMPLE_CONVERSIONS['with-click-id'].visit, pageUrl: undefined } });
      expect(sent.action_source).toBe('OFFLINE');
      expect(sent.user_data).toHaveProperty('sc_click_id', 'ScCid_AbC');
    });

    it('contains the custom fields of the connection', () => {
      expect(item(purchase, { 'field.status': 'event' }).custom_data).toHaveProperty('status', 'purchase');
    });

    it('contains the address in the form of Snapchat, hashed', () => {
      const user = (address: Conversion['address']) => item({ ...DETAILED, address }).user_data;
      expect(user({ city: 'Saint-Étienne', region: 'BE', postalCode: 'SW1A 1AA', country: 'GB' })).toMatchObject({
        ct: [sha256('saintétienne')],
        st: [sha256('be')],
        zp: [sha256('sw1a1aa')],
        country: [sha256('gb')],
      });
      expect(user({ postalCode: '90001-1234', country: 'US' }).zp).toEqual([sha256('90001')]);
      const empty = user({ city: '--', region: 'Bayern', postalCode: '-' });
      for (const name of ['ct', 'st', 'zp', 'country']) expect(empty).not.toHaveProperty(name);
    });

    it('is an offline event unless it happened on a website', () => {
      const actionSource = (conversion: Conversion) => item(conversion).action_source;
      const { website, none, ...others } = bySource(DETAILED, actionSource);
      expect([website, none]).toEqual(['WEB', 'WEB']);
      expect(new Set(Object.values(others))).toEqual(new Set(['OFFLINE']));
      expect(new Set(Object.values(bySource(purchase, actionSource)))).toEqual(new Set(['OFFLINE']));
      expect(item({ ...DETAILED, source: 'phone_call' })).not.toHaveProperty('event_source_url');
    });

    it('contains after an opt-out what is hashed, and limits its use', () => {
      const sent = item(DETAILED_OPT_OUT);
      expect(sent.data_processing_options).toEqual(['LDU']);
      expect(sent.user_data).toMatchObject({ ct: [sha256('losangeles')], external_id: [sha256('Customer-42')] });
      for (const name of ['sc_click_id', 'client_ip_address']) expect(sent.user_data).not.toHaveProperty(name);
    });

    it('contains the currency of prices', () => {
      expect(item(PRICED_LEAD).custom_data).toMatchObject({ currency: 'EUR', num_items: 4 });
      expect(item(UNPRICED_LEAD).custom_data).not.toHaveProperty('currency');
    });
  });

  it('tests with an event that Snapchat does not record', () => {
    const test = snapchat.test?.('{"a":1}', { connection, nowMs: 0 });
    expect(test?.request.url).toMatch(/\/v3\/[0-9a-f-]+\/events\/validate\?access_token=/);
    expect(test?.request.body).toBe('{"data":[{"a":1}]}');
    expect(test?.sent).toBe(true);
    const ok = { status: 'VALID', test_event: true, event_logs: [{ event: 0, status: 'VALID' }] };
    expect(test?.verdict(answer(200, ok))).toEqual({ kind: 'delivered' });
    expect(test?.verdict(answer(200, invalid))).toMatchObject({ kind: 'rejected' });
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
    ])('follows from a %i with %j', (status, body, one, three) => {
      expectVerdicts(snapchat, answer(status, body), one, three);
    });

    it('contains the error message of Snapchat', () => {
      expect(snapchat.verdict(answer(400, invalid), 1)).toEqual({
        kind: 'rejected',
        reason: 'event_time is out of range',
      });
      expect(snapchat.verdict(answer(200, { status: 'INVALID', reason: 'No' }), 1)).toEqual({
        kind: 'rejected',
        reason: 'No',
      });
    });
  });

  it('refuses mappings that Snapchat would reject', () => {
    const check = (settings: Settings) => snapchat.check?.({ ...connection, settings });
    expect(check({ pixel_id: 'p', 'event.lead': 'CUSTOM_EVENT_1' })).toBeUndefined();
    expect(check({ 'event.lead': 'Sign up' })).toMatch(/^event\.lead must be /);
  });
});
