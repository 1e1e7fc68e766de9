import { hash } from 'node:crypto';
import { describeErrorTable } from '../../../test/support/error-table.js';
import {
  bySource,
  DETAILED,
  DETAILED_OPT_OUT,
  PRICED_LEAD,
  UNPRICED_LEAD,
} from '../../../test/support/optional-fields.js';
import { answer } from '../../../test/support/platform-answers.js';
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
import type { Connection, Settings, Verdict } from '../platform.js';
import { ERRORS } from './errors.js';
import { platform as tiktok } from './index.js';

const connection: Connection = { settings: { pixel_code: 'C0PIXEL' }, secrets: { access_token: 'token' } };

const purchase: Conversion = SAMPLE_CONVERSIONS['hashed-only'];
const withVisit: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const item = (conversion: Conversion, settings: Settings = {}) => sentItem(tiktok, conversion, settings);

const sha256 = (text: string) => hash('sha256', text);

describePlatformContract(tiktok, {
  connection,
  modes: {
    'by-source': {
      ...connection,
      settings: { ...connection.settings, crm_event_set_id: '701', offline_event_set_id: '702', app_id: '703' },
    },
  },
  secretSettings: ['access_token'],
  requiredSettings: ['pixel_code', 'access_token'],
  payload: {
    unidentified: [...INSUFFICIENT_IDENTIFIERS, GOOGLE_CLICK_ID],
    identified: [
      PHONE_NUMBER,
      ['a click id', identifiedBy({ clicks: { ttclid: { id: 'C', timeMs: 1 } } })],
      ['a browser id', identifiedBy({ cookies: { _ttp: 'T' } })],
      IP_AND_USER_AGENT,
    ],
    email: 'user.email',
    names: ['user', { first_name: 'f-joined', last_name: 'l-joined' }],
    eventName: { path: 'event', mapped: 'Purchase', custom: true },
    customData: 'properties',
    clickId: 'ttclid',
  },
  request: {
    body: '{"event_source":"web","event_source_id":"C0PIXEL","data":[…]}',
    endpoint: [
      { pixel_code: 'C', api_version: 'v1.4' },
      'http://h/tiktok',
      'http://h/tiktok/open_api/v1.4/event/track/',
    ],
  },
  testCode: {
    settings: { pixel_code: 'C', test_event_code: 'TEST1' },
    body: '{"event_source":"web","event_source_id":"C","data":[{"a":1}],"test_event_code":"TEST1"}',
    delivered: { code: 0 },
    rejected: [200, { code: 40002, message: 'Batch.0.x' }],
  },
  verdicts: [
    [502, undefined, { kind: 'retry' }],
    [429, undefined, { kind: 'retry' }],
    [404, undefined, { kind: 'rejected' }],
    [500, { code: 0, message: 'OK' }, { kind: 'retry' }],
    [401, { code: 40105, message: 'Access token is incorrect' }, { kind: 'unauthorized' }],
    [500, { code: 40104, message: 'Access token is null' }, { kind: 'unauthorized' }],
  ],
  unreadable: [{ code: '0' }, { code: null }, { message: 'OK' }],
});

describe('tiktok', () => {
  describe('payload', () => {
    it('leaves out an amount whose currency is not accepted', () => {
      expect(item(purchase, { currencies: 'USD,EUR' }).properties).toHaveProperty('value', 129.9);
      expect(item(purchase, { currencies: 'USD, GBP' }).properties).toEqual({ order_id: 'ORD-1001' });
    });

    it('does not require an amount', () => {
      expect(item({ ...purchase, value: undefined }).properties).toEqual({ order_id: 'ORD-1001' });
    });

    it('contains the custom fields of the connection', () => {
      expect(item(purchase, { 'field.description': 'event' }).properties).toHaveProperty('description', 'purchase');
    });

    describe('event source', () => {
      const SETS = { crm_event_set_id: '77001', offline_event_set_id: '77002', app_id: '77003' };
      const groupOf = (conversion: Conversion, settings: Settings) => {
        const payload = tiktok.payload(conversion, settings);
        return 'group' in payload ? payload.group : undefined;
      };
      const groups = (conversion: Conversion, settings: Settings) =>
        bySource(conversion, (one) => groupOf(one, settings));

      it('follows the source', () => {
        const sourced = { website: undefined, app: 'app:77003', physical_store: 'offline:77002', crm: 'crm:77001' };
        const others = { phone_call: 'offline:77002', email: undefined, other: undefined, none: undefined };
        expect(groups(withVisit, SETS)).toEqual({ ...sourced, ...others });
        const unsourced = { email: 'crm:77001', other: 'crm:77001', none: 'crm:77001' };
        expect(groups(purchase, SETS)).toEqual({ ...sourced, ...others, ...unsourced });
      });

      it('is the pixel where the connection has no id of the source', () => {
        expect(new Set(Object.values(groups(purchase, {})))).toEqual(new Set([undefined]));
        expect(groups(purchase, { crm_event_set_id: '77001' })).toMatchObject({
          ...{ website: undefined, app: undefined, physical_store: 'crm:77001', phone_call: 'crm:77001' },
        });
      });

      it('was the CRM event set before, whenever there is no visit', () => {
        expect(new Set(Object.values(groups({ ...purchase, payloadVersion: 2 }, SETS)))).toEqual(
          new Set(['crm:77001']),
        );
        expect(new Set(Object.values(groups({ ...withVisit, payloadVersion: 2 }, SETS)))).toEqual(new Set([undefined]));
      });

      it('allows older conversions for an offline event set', () => {
        const days = (settings: Settings, source: Conversion['source']) =>
          (tiktok.limits?.(settings, { source })?.ageMaxMs ?? 0) / 86_400_000;
        expect([days(SETS, 'physical_store'), days(SETS, 'website'), days({}, 'physical_store')]).toEqual([28, 7, 7]);
      });
    });

    it('contains the postal code hashed and the rest of the address plain', () => {
      const user = (address: Conversion['address']) => item({ ...DETAILED, address }).user;
      expect(
        user({ city: 'Saint-Étienne', region: 'Rhône-Alpes', postalCode: 'SW1A 1AA', country: 'FR' }),
      ).toMatchObject({
        city: 'sainttienne',
        state: 'rhnealpes',
        zip_code: sha256('sw1a1aa'),
        country: 'fr',
      });
      const empty = user({ city: '東京', region: '--', postalCode: '-' });
      for (const name of ['city', 'state', 'zip_code', 'country']) expect(empty).not.toHaveProperty(name);
    });

    it('contains the hashed customer id, which suffices to identify a person', () => {
      expect(item({ ...identifiedBy({}), externalId: 'C-42' }).user).toEqual({ external_id: sha256('C-42') });
    });

    it('contains after an opt-out what is hashed, and limits its use', () => {
      const sent = item(DETAILED_OPT_OUT);
      expect(sent.limited_data_use).toBe(true);
      expect(sent.user).toMatchObject({ zip_code: sha256('90001'), external_id: sha256('Customer-42') });
      for (const name of ['city', 'state', 'country', 'ip', 'ttclid']) expect(sent.user).not.toHaveProperty(name);
    });

    it('contains prices only in a currency that is accepted', () => {
      const { currency, contents } = item(PRICED_LEAD).properties;
      expect([currency, contents[0].price]).toEqual(['EUR', 49.95]);
      expect(item(UNPRICED_LEAD).properties).not.toHaveProperty('currency');
      const refused = item(DETAILED, { currencies: 'USD' }).properties;
      expect(Object.keys(refused)).toEqual(['order_id', 'content_type', 'contents']);
      expect(JSON.stringify(refused)).not.toContain('price');
    });

    it('contains a custom field in place of its own', () => {
      const { properties } = item(DETAILED, { 'field.content_type': '"product_group"' });
      expect(properties.content_type).toBe('product_group');
    });
  });

  it.each(['app', 'offline', 'crm'])('sends the source of a group as the source of its events: %s', (source) => {
    const { body } = tiktok.request(['{}'], { connection, nowMs: 0, group: `${source}:77001` });
    expect(body).toBe(`{"event_source":"${source}","event_source_id":"77001","data":[{}]}`);
  });

  describe('verdict', () => {
    it('contains the request id', () => {
      const ok = answer(200, { code: 0, message: 'OK', request_id: 'R', data: {} });
      expect(tiktok.verdict(ok, 3)).toEqual({ kind: 'delivered', requestId: 'R' });
    });

    describe('on a 200', () => {
      describeErrorTable(
        ERRORS,
        {
          delivered: [0, 40050],
          throttled: [40100, 40016, 40132, 40133],
          unauthorized: [
            ...[40101, 40102, 40104, 40105, 40106, 40113, 40115, 40116, 40117, 40118, 40119, 40124, 40125],
            ...[40001, 40300, 40301],
          ],
          misconfigured: [40006, 40008, 40010, 40051, 41000, 41001],
          rejected: [40000, 40002, 40007],
          server_error: [40202, 40700, 50000, 50002, 51305, 60001],
        },
        {
          delivered: [20001],
          rejected: [40103, 40107, 40114, 40120, 40999, 41002, 49999],
          server_error: [59999, 1, -1],
        },
        (code) => tiktok.verdict(answer(200, { code, message: 'Invalid', request_id: 'R' }), 1) as Verdict,
      );
    });

    it('rejects the event whose index is named and resends the others', () => {
      const message = 'Batch.1.properties.contents.0.content_id: Not a valid string';
      expect(tiktok.verdict(answer(200, { code: 40002, message, request_id: 'R' }), 3)).toEqual([
        { kind: 'resend' },
        { kind: 'rejected', reason: `40002 ${message}`, requestId: 'R' },
        { kind: 'resend' },
      ]);
    });

    it('splits a batch that was accepted in part, and delivers a single event', () => {
      const partial = answer(200, { code: 20001, message: 'Batch.1.event: partial', request_id: 'R' });
      const reason = '20001 Batch.1.event: partial';
      expect(tiktok.verdict(partial, 3)).toEqual({ kind: 'split', reason, unknown: true, requestId: 'R' });
      expect(tiktok.verdict(partial, 1)).toEqual({ kind: 'delivered', requestId: 'R' });
    });

    it('names the identifiers that alone were refused', () => {
      const refused = (message: string, items: number) => tiktok.verdict(answer(200, { code: 40002, message }), items);
      expect(refused('Batch.0.user.phone: no; Batch.0.user.zip_code: no', 1)).toMatchObject([
        { kind: 'without', identifiers: ['phone', 'address'] },
      ]);
      expect(refused('Batch.1.user.ttclid: no; Batch.0.user.email: no; Batch.0.event: no', 2)).toMatchObject([
        { kind: 'rejected' },
        { kind: 'without', identifiers: ['click'] },
      ]);
      expect(refused('Batch.0.user.locale: no', 1)).toMatchObject([{ kind: 'rejected' }]);
    });

    it('rejects each of several named events', () => {
      const verdict = tiktok.verdict(answer(200, { code: 40002, message: 'Batch.0.a: no; Batch.2.b: no' }), 3);
      expect(verdict).toMatchObject([{ kind: 'rejected' }, { kind: 'resend' }, { kind: 'rejected' }]);
    });

    it.each(['Invalid parameter', 'Batch.3.event: no', 'Batch.x.event: no'])(
      'splits the batch when the message is "%s"',
      (message) => {
        expect(tiktok.verdict(answer(200, { code: 40002, message }), 3)).toMatchObject({ kind: 'split' });
      },
    );
  });
});
