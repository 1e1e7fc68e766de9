import { hash } from 'node:crypto';
import { describeErrorTable } from '../../../test/support/error-table.js';
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
  GOOGLE_CLICK_ID,
  INSUFFICIENT_IDENTIFIERS,
  IP_AND_USER_AGENT,
  identifiedBy,
  PHONE_NUMBER,
  sentItem,
} from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Settings, Verdict } from '../platform.js';
import { ERRORS } from './errors.js';
import { platform as meta } from './index.js';

const purchase: Conversion = SAMPLE_CONVERSIONS['hashed-only'];
const withVisit: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const DAY_MS = 24 * 60 * 60 * 1_000;

const item = (conversion: Conversion, settings: Settings = {}) => sentItem(meta, conversion, settings);

function failure(code: number, error_subcode?: number, more: object = {}) {
  return { error: { message: 'Invalid', type: 'OAuthException', code, error_subcode, fbtrace_id: 'F', ...more } };
}

const sha256 = (text: string) => hash('sha256', text);

describePlatformContract(meta, {
  connection: { settings: { pixel_id: '1234567890' }, secrets: { access_token: 'EAAtoken' } },
  secretSettings: ['access_token'],
  requiredSettings: ['pixel_id', 'access_token'],
  payload: {
    unidentified: [...INSUFFICIENT_IDENTIFIERS, GOOGLE_CLICK_ID],
    identified: [
      PHONE_NUMBER,
      ['a click id', identifiedBy({ clicks: { fbclid: { id: 'C', timeMs: purchase.timeMs } } })],
      ['a browser id', identifiedBy({ cookies: { _fbp: 'fb.1.1.2' } })],
      IP_AND_USER_AGENT,
    ],
    email: 'user_data.em',
    names: ['user_data', { fn: ['f-bare'], ln: ['l-bare'] }],
    eventName: { path: 'event_name', mapped: 'Subscribe', custom: true },
    valueRequired: { purchase: 'Purchase', other: 'Renewal' },
    customData: 'custom_data',
    clickId: 'fbclid',
  },
  request: {
    body: '{"access_token":"EAAtoken","data":[…]}',
    endpoint: [{ pixel_id: '1', api_version: 'v27.0' }, 'http://h/meta/', 'http://h/meta/v27.0/1/events'],
  },
  testCode: {
    settings: { pixel_id: '1', test_event_code: 'TEST1' },
    body: '{"access_token":"EAAtoken","data":[{"a":1}],"test_event_code":"TEST1"}',
    delivered: { events_received: 1, fbtrace_id: 'F' },
    rejected: [400, failure(100, 2804003)],
  },
  verdicts: [
    [502, '<html>', { kind: 'retry' }],
    [429, '<html>', { kind: 'retry' }],
    [401, '<html>', { kind: 'unauthorized' }],
    [404, '<html>', { kind: 'rejected' }],
    [302, '<html>', { kind: 'rejected' }],
  ],
  unreadable: [{ events_received: '1' }, { events_received: 2 }, { events_received: -1 }],
});

describe('meta', () => {
  describe('limited data use', () => {
    const processing = (settings: Settings, consent: Conversion['consent']) => {
      const { data_processing_options: options, ...item } = sentItem(meta, { ...purchase, consent }, settings);
      return [options, item['data_processing_options_country'], item['data_processing_options_state']];
    };

    it('is requested after an opt-out, or always, for the location of the connection', () => {
      const california = { data_processing_country: '1', data_processing_state: '1000' };
      expect(processing({}, 'granted')).toEqual([undefined, undefined, undefined]);
      expect(processing(california, 'granted')).toEqual([undefined, undefined, undefined]);
      expect(processing({ ...california, limited_data_use: 'always' }, 'granted')).toEqual([['LDU'], 1, 1000]);
      expect(processing(california, 'denied')).toEqual([['LDU'], 1, 1000]);
      expect(processing({}, 'denied')).toEqual([['LDU'], 0, 0]);
    });

    it('needs country and state together', () => {
      const check = (settings: Settings) => meta.check?.({ settings, secrets: {} });
      expect(check({})).toBeUndefined();
      expect(check({ data_processing_country: '1', data_processing_state: '1000' })).toBeUndefined();
      expect(check({ data_processing_country: '1' })).toMatch(/must both be set/);
    });
  });

  describe('payload', () => {
    it('contains the click in the format of the _fbc cookie, for 90 days', () => {
      const fbc = (timeMs: number) =>
        item({ ...identifiedBy({ clicks: { fbclid: { id: 'AbC_dEf', timeMs } } }), hashes: purchase.hashes }).user_data
          .fbc;
      expect(fbc(purchase.timeMs - 90 * DAY_MS)).toBe(`fb.1.${purchase.timeMs - 90 * DAY_MS}.AbC_dEf`);
      expect(fbc(purchase.timeMs - 90 * DAY_MS - 1)).toBeUndefined();
    });

    it('is a website event only with page URL and user agent', () => {
      const { userAgent, pageUrl, ...rest } = SAMPLE_CONVERSIONS['with-click-id'].visit;
      for (const visit of [
        { ...rest, userAgent },
        { ...rest, pageUrl },
        { ...rest, pageUrl, userAgent: '' },
      ]) {
        const sent = item({ ...withVisit, visit });
        expect(sent.action_source).toBe('system_generated');
        expect(sent).not.toHaveProperty('event_source_url');
        expect(sent.user_data).toHaveProperty('fbc');
      }
    });

    it('contains the custom fields of the connection', () => {
      const { custom_data } = item(purchase, { 'field.order_ref': 'orderId', 'field.kind': 'event' });
      expect(custom_data).toEqual({
        currency: 'EUR',
        value: 129.9,
        order_id: 'ORD-1001',
        order_ref: 'ORD-1001',
        kind: 'purchase',
      });
    });

    it('contains the address in the form of Meta, hashed', () => {
      const user = (address: Conversion['address']) => item({ ...DETAILED, address }).user_data;
      expect(
        user({ city: 'Saint-Étienne', region: 'Rhône-Alpes', postalCode: 'SW1A 1AA', country: 'FR' }),
      ).toMatchObject({
        ct: [sha256('sainttienne')],
        st: [sha256('rhnealpes')],
        zp: [sha256('sw1a1aa')],
        country: [sha256('fr')],
      });
      expect(user({ postalCode: '90001-1234' }).zp).toEqual([sha256('90001')]);
      const empty = user({ city: '東京', region: '--', postalCode: '-' });
      for (const name of ['ct', 'st', 'zp', 'country']) expect(empty).not.toHaveProperty(name);
    });

    it('contains the customer id as Meta normalises it, which suffices to identify a person', () => {
      const { user_data } = item({ ...identifiedBy({}), externalId: 'Customer 42' });
      expect(user_data).toEqual({ external_id: [sha256('customer42')] });
    });

    it('has the action source that Meta accepts', () => {
      const actionSource = (conversion: Conversion) => item(conversion).action_source;
      const others = {
        phone_call: 'phone_call',
        physical_store: 'physical_store',
        email: 'email',
        app: 'other',
        crm: 'system_generated',
        other: 'other',
      };
      expect(bySource(DETAILED, actionSource)).toEqual({ ...others, website: 'website', none: 'website' });
      const withoutVisit = { ...DETAILED, visit: undefined };
      expect(bySource(withoutVisit, actionSource)).toEqual({
        ...others,
        website: 'system_generated',
        none: 'system_generated',
      });
      expect(item({ ...DETAILED, source: 'phone_call' })).not.toHaveProperty('event_source_url');
    });

    describe('of a lead in a CRM', () => {
      const lead: Conversion = { ...purchase, event: 'lead', value: undefined };
      const LEAD_ID = '1234567890123456';

      it('contains the id of the lead and the stage, by which Meta recognises it', () => {
        const stage = { ...identifiedBy({}), visit: undefined, event: 'sql', clickIds: { lead_id: LEAD_ID } };
        expect(item(stage, { 'event.sql': 'Sales Opportunity', lead_event_source: 'HubSpot' })).toMatchObject({
          ...{ event_name: 'Sales Opportunity', action_source: 'system_generated', user_data: { lead_id: LEAD_ID } },
          custom_data: { event_source: 'crm', lead_event_source: 'HubSpot' },
        });
      });

      it('is an event of the CRM by its source or its lead id', () => {
        const crm = { event_source: 'crm', lead_event_source: 'CRM' };
        expect(item({ ...lead, source: 'crm' }).custom_data).toMatchObject(crm);
        const byLeadId = { ...lead, clickIds: { lead_id: LEAD_ID } };
        expect(item({ ...byLeadId, payloadVersion: 1 }).custom_data).toMatchObject(crm);
        expect(JSON.stringify(item({ ...lead, source: 'crm', payloadVersion: 2 }))).not.toContain('event_source');
        const onPage: Conversion = { ...DETAILED, source: 'website', clickIds: { lead_id: LEAD_ID } };
        expect(item(onPage)).toMatchObject({ action_source: 'website', user_data: { lead_id: LEAD_ID } });
        expect(item(onPage).custom_data).not.toHaveProperty('event_source');
      });

      it.each(['12345678901234', '123456789012345678', '12345678901234a', ''])('ignores the lead id %j', (lead_id) => {
        expect(item({ ...lead, clickIds: { lead_id } }).user_data).not.toHaveProperty('lead_id');
      });

      it('is identified by the click on a WhatsApp advertisement', () => {
        const stated = { ...identifiedBy({}), visit: undefined, clickIds: { ctwa_clid: 'Af' } };
        expect(item(stated).user_data).toEqual({ ctwa_clid: 'Af' });
      });
    });

    it('contains a stated click without a page', () => {
      const visit = { clicks: { fbclid: { id: 'C', timeMs: 5 } }, cookies: {}, utm: {} };
      const sent = item({ ...purchase, visit, timeMs: 10 });
      expect(sent).toMatchObject({ action_source: 'system_generated', user_data: { fbc: 'fb.1.5.C' } });
    });

    it('contains after an opt-out what is hashed, and limits its use', () => {
      const sent = item(DETAILED_OPT_OUT);
      expect(sent).toMatchObject({ data_processing_options: ['LDU'], action_source: 'system_generated' });
      expect(sent.user_data).toMatchObject({ ct: [sha256('losangeles')], external_id: [sha256('customer-42')] });
      for (const name of ['fbc', 'fbp', 'client_ip_address']) expect(sent.user_data).not.toHaveProperty(name);
    });

    it('contains the currency of prices', () => {
      expect(item(PRICED_LEAD).custom_data).toMatchObject({ currency: 'EUR', num_items: 4 });
      expect(item(UNPRICED_LEAD).custom_data).not.toHaveProperty('currency');
    });

    it('contains a custom field in place of its own', () => {
      const { custom_data } = item(DETAILED, { 'field.content_type': '"product_group"' });
      expect(custom_data).toMatchObject({ content_type: 'product_group', num_items: 4 });
    });
  });

  describe('verdict', () => {
    it('is delivered when all events were received', () => {
      const ok = answer(200, { events_received: 3, messages: [], fbtrace_id: 'F' });
      expect(meta.verdict(ok, 3)).toEqual({ kind: 'delivered', requestId: 'F' });
    });

    it('splits a batch of which fewer events were received', () => {
      expect(meta.verdict(answer(200, { events_received: 2 }), 3)).toMatchObject({ kind: 'split' });
      expect(meta.verdict(answer(200, { events_received: 0 }), 1)).toMatchObject({ kind: 'rejected' });
    });

    it.each<[string, number, object, string, string]>([
      ['token invalid', 400, failure(190), 'unauthorized', 'unauthorized'],
      ['token expired, as a 500', 500, failure(190, 463), 'unauthorized', 'unauthorized'],
      ['token invalidated', 400, failure(190, 460), 'unauthorized', 'unauthorized'],
      ['no permission', 403, failure(200), 'unauthorized', 'unauthorized'],
      ['no capability', 400, failure(3), 'unauthorized', 'unauthorized'],
      ['pixel not accessible', 400, failure(100, 33), 'misconfigured', 'misconfigured'],
      ['too old', 400, failure(100, 2804003), 'rejected', 'split'],
      ['value missing', 400, failure(100, 2804009), 'rejected', 'split'],
      ['not hashed', 400, failure(100, 2804016), 'rejected', 'split'],
      ['not enough customer information', 400, failure(100, 2804050), 'rejected', 'split'],
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
      ['temporary limit', 400, failure(341), 'throttled', 'throttled'],
      ['temporary block', 400, failure(368), 'server_error', 'server_error'],
      ['5000', 500, failure(5000), 'server_error', 'server_error'],
      ['21009', 400, failure(21009), 'server_error', 'server_error'],
      ['transient', 400, failure(99_999, 1, { is_transient: true }), 'server_error', 'server_error'],
      ['error in a 200', 200, failure(99_999), 'server_error', 'server_error'],
      ['invalid event in a 200', 200, failure(100, 2804003), 'rejected', 'split'],
      ['error together with a count', 200, { events_received: 1, ...failure(2) }, 'server_error', 'server_error'],
      ['error that is not an object', 200, { events_received: 1, error: 'no' }, 'server_error', 'server_error'],
    ])('follows from the error "%s" (%i)', (_, status, body, one, three) => {
      expectVerdicts(meta, answer(status, body), one, three);
    });

    describe('on an error as a 400', () => {
      describeErrorTable(
        ERRORS,
        {
          server_error: [1, 2, 368, 5000, 21009],
          throttled: [4, 17, 32, 341, 613, 80000, 80003, 80004, 80014],
          unauthorized: [102, 190, 3, 10, 200, 201, 294, 299],
          misconfigured: ['100/33', 2635],
          rejected: [100],
        },
        { rejected: [0, 5, 101, 199, 300, 79999, 80015, '100/34'] },
        (code) => {
          const [main, subcode] = String(code).split('/').map(Number);
          return meta.verdict(answer(400, failure(main as number, subcode)), 1) as Verdict;
        },
      );
    });

    it('contains the error title and the trace id', () => {
      const body = failure(100, 2804003, { error_user_title: 'Event Timestamp Too Old' });
      expect(meta.verdict(answer(400, body), 1)).toEqual({
        kind: 'rejected',
        reason: '100/2804003 Event Timestamp Too Old',
        requestId: 'F',
      });
    });

    it('does not contain a token that Meta echoes', () => {
      const body = failure(190, undefined, { message: 'Malformed access token EAAtoken' });
      expect(JSON.stringify(meta.verdict(answer(400, body), 1))).not.toContain('EAAtoken');
    });

    it('waits as long as Meta states for the limit of a business use case', () => {
      const limited = (usage: unknown, code = 80004, headers = {}) => {
        const header = typeof usage === 'string' ? usage : JSON.stringify(usage);
        return meta.verdict(answer(400, failure(code), { 'x-business-use-case-usage': header, ...headers }), 1);
      };
      const regained = (...minutes: unknown[]) => ({
        '1': minutes.map((estimated_time_to_regain_access) => ({
          type: 'ads_management',
          estimated_time_to_regain_access,
        })),
      });
      const retried = (afterMs?: number) => ({ kind: 'retry', reason: 'throttled', afterMs });
      expect(limited(regained(0, 19, 3))).toMatchObject(retried(19 * 60_000));
      expect(limited({ ...regained(2), '2': [{ estimated_time_to_regain_access: 7 }] })).toMatchObject(
        retried(7 * 60_000),
      );
      expect(limited(regained(1), 80004, { 'retry-after': '300' })).toMatchObject(retried(300_000));
      expect(limited(regained(100_000))).toMatchObject(retried(24 * 3_600_000));
      for (const usage of ['{', '7', 'null', {}, { '1': 'x' }, regained('5'), regained(-5), regained(0)])
        expect(limited(usage)).toMatchObject(retried(undefined));
      expect(limited(regained(19), 2)).toMatchObject({ reason: 'server_error', afterMs: undefined });
    });

    it('honours Retry-After', () => {
      expect(meta.verdict(answer(400, failure(4), { 'retry-after': '60' }), 1)).toMatchObject({ afterMs: 60_000 });
    });
  });
});
