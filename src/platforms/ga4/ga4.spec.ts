import { answer, itRetriesUnreadable200 } from '../../../test/support/platform-answers.js';
import { describePlatformContract } from '../../../test/support/platform-contract.js';
import { sentItem } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection } from '../platform.js';
import { platform as ga4 } from './index.js';

const connection: Connection = {
  settings: { measurement_id: 'G-ABC1234', 'field.order': 'orderId' },
  secrets: { api_secret: 's3cret/+&' },
};
const call = { connection, nowMs: 0 };
const withVisit: Conversion = SAMPLE_CONVERSIONS['with-click-id'];
const withoutVisit: Conversion = SAMPLE_CONVERSIONS['hashed-only'];

interface Item {
  readonly client_id: string;
  readonly consent?: object;
  readonly events: readonly [{ readonly name: string; readonly params: Readonly<Record<string, unknown>> }];
}

const item = (conversion: Conversion, settings = {}): Item =>
  sentItem(ga4, conversion, { ...connection.settings, ...settings });

describePlatformContract(ga4, {
  connection,
  modes: { synthetic: { ...connection, settings: { ...connection.settings, synthetic_client_id: 'yes' } } },
  verdicts: [
    [204, '', { kind: 'accepted' }],
    [200, '', { kind: 'accepted' }],
    [200, 'ok', { kind: 'accepted' }],
    [200, '<!doctype html><title>Sign in</title>', { kind: 'retry' }],
    [302, '', { kind: 'rejected' }],
    [400, '', { kind: 'rejected' }],
    [413, '', { kind: 'rejected' }],
    [403, '', { kind: 'unauthorized' }],
    [408, '', { kind: 'retry' }],
    [429, '', { kind: 'retry' }],
    [500, '', { kind: 'retry' }],
    [503, '<html>', { kind: 'retry' }],
  ],
});

describe('ga4', () => {
  describe('payload', () => {
    it('skips a conversion without the client id of the cookie', () => {
      const visit = { ...(withVisit.visit as object), cookies: {} } as Conversion['visit'];
      expect(ga4.payload(withoutVisit, connection.settings)).toEqual({ skip: 'no_client_identifier' });
      expect(ga4.payload({ ...withVisit, visit }, connection.settings)).toEqual({ skip: 'no_client_identifier' });
    });

    it.each(['Réservation', '1st order', 'ga_thing', 'error', 'a'.repeat(41), '__proto__', '', 'in-app purchase'])(
      'skips an event whose name is not allowed: %s',
      (event) => {
        expect(ga4.payload({ ...withVisit, event }, connection.settings)).toEqual({ skip: 'event_not_mapped' });
      },
    );

    it('includes an event whose name is not allowed if it is mapped to one that is', () => {
      expect(item({ ...withVisit, event: 'error' }, { 'event.error': 'form_error' }).events[0].name).toBe('form_error');
    });
  });

  it.each([
    ['purchase', 'purchase'],
    ['lead', 'generate_lead'],
    ['signup', 'sign_up'],
    ['Booked a demo', 'Booked_a_demo'],
    ['sign-off', 'sign_off'],
    ['constructor', 'constructor'],
  ])('sends the event %s as %s', (event, name) => {
    expect(item({ ...withVisit, event }).events[0].name).toBe(name);
  });

  describe('synthetic_client_id=yes', () => {
    const synthetic = { synthetic_client_id: 'yes' };

    it('derives a stable id per person that does not reveal the hash', () => {
      const { client_id } = item(withoutVisit, synthetic);
      expect(client_id).toMatch(/^\d{1,10}\.\d{1,10}$/);
      expect(item({ ...withoutVisit, id: 'other', eventId: 'ORD-2', timeMs: 1 }, synthetic).client_id).toBe(client_id);
      expect(client_id).not.toContain(String(Number.parseInt((withoutVisit.hashes.subject as string).slice(0, 8), 16)));
    });

    it('derives different ids for other persons and other properties', () => {
      const { client_id } = item(withoutVisit, synthetic);
      const other = SAMPLE_CONVERSIONS['phone-and-name'];
      expect(item(other, synthetic).client_id).not.toBe(client_id);
      expect(item(withoutVisit, { ...synthetic, measurement_id: 'G-OTHER' }).client_id).not.toBe(client_id);
    });

    it('prefers the id of the cookie, and sends no session without a cookie', () => {
      expect(item(withVisit, synthetic).client_id).toBe('123456.7654321');
      const { params } = item(withoutVisit, synthetic).events[0];
      expect(params).not.toHaveProperty('session_id');
      expect(params).not.toHaveProperty('engagement_time_msec');
    });

    it('reports denied consent', () => {
      expect(item(SAMPLE_CONVERSIONS['consent-denied'], synthetic).consent).toEqual({
        ad_user_data: 'DENIED',
        ad_personalization: 'DENIED',
      });
    });
  });

  describe('the campaign', () => {
    const stated: Conversion = SAMPLE_CONVERSIONS['server-only'];
    const namesOf = (conversion: Conversion, settings = {}) =>
      (item(conversion, settings).events as readonly { name: string }[]).map(({ name }) => name);
    const withUtm = (utm: Record<string, string>) => ({ ...stated, visit: { ...stated.visit, utm } }) as Conversion;

    it('precedes a conversion whose sender states it, in its session', () => {
      const utm = { source: 'a', medium: 'b', campaign: 'c', term: 'd', content: 'e', id: '7', platform: 'x' };
      expect(item(withUtm({ ...utm, term: 'x'.repeat(101) })).events[0]).toEqual({
        name: 'campaign_details',
        params: {
          ...{ campaign_id: '7', campaign: 'c', source: 'a', medium: 'b', content: 'e' },
          session_id: '1772359000',
        },
      });
      expect(namesOf(stated)).toEqual(['campaign_details', 'purchase']);
    });

    it('is left out where the tag recorded the visit, where there is none, of a refund, and before version 4', () => {
      expect(namesOf(withVisit)).toEqual(['purchase']);
      expect(namesOf(withUtm({}))).toEqual(['purchase']);
      expect(namesOf({ ...stated, payloadVersion: 3 })).toEqual(['purchase']);
      expect(namesOf({ ...stated, event: 'Returned' }, { 'event.Returned': 'refund' })).toEqual(['refund']);
    });
  });

  it('contains a currency only with an amount, which is a number', () => {
    expect(item({ ...withVisit, value: 0, currency: 'JPY' }).events[0].params).toMatchObject({
      value: 0,
      currency: 'JPY',
    });
    expect(item({ ...withVisit, value: undefined }).events[0].params).not.toHaveProperty('currency');
  });

  describe('items', () => {
    const ordered: Conversion = SAMPLE_CONVERSIONS['with-details'];
    const long = 'x'.repeat(101);

    it('have a currency, also without an amount', () => {
      expect(item({ ...ordered, value: undefined }).events[0].params).toMatchObject({
        currency: 'EUR',
        items: [{ item_id: 'SKU-1' }, { item_id: 'SKU-2', price: 30 }, { item_id: 'SKU-3' }],
      });
    });

    it('contain no texts that are too long, and an id or a name', () => {
      const items = [{ id: long, name: 'Shoe', category: long }, { id: long }, { id: 'SKU-1', name: long }];
      expect(item({ ...ordered, items }).events[0].params['items']).toEqual([
        { item_name: 'Shoe' },
        { item_id: 'SKU-1' },
      ]);
      expect(item({ ...ordered, items: [{ id: long }] }).events[0].params).not.toHaveProperty('items');
    });

    it('leave a custom field of their name in place if there are none', () => {
      expect(item(withVisit, { 'field.items': '"many"' }).events[0].params).toHaveProperty('items', 'many');
    });
  });

  describe('external_id', () => {
    const known: Conversion = SAMPLE_CONVERSIONS['with-details'];

    it('is the user id only if the connection says so', () => {
      expect(JSON.stringify(item(known))).not.toContain('Customer-42');
      expect(item(known, { external_id: 'user_id' })).toMatchObject({
        client_id: '123456.7654321',
        user_id: 'Customer-42',
      });
      expect(item(withVisit, { external_id: 'user_id' })).not.toHaveProperty('user_id');
    });

    it('is not sent after an opt-out', () => {
      const sent = item({ ...known, consent: 'denied' }, { external_id: 'user_id' });
      expect(JSON.stringify(sent)).not.toContain('Customer-42');
    });
  });

  describe('firebase_app_id', () => {
    const settings = { firebase_app_id: '1:1234567890:ios:0a1b2c3d', external_id: 'app_instance_id' };
    const instance = '0123456789ABCDEF0123456789abcdef';
    const inApp: Conversion = { ...withVisit, externalId: instance };

    it('sends the id of the app instance to the stream of the app, without the cookies of the web stream', () => {
      const sent = sentItem(ga4, inApp, settings);
      expect(sent).toMatchObject({ app_instance_id: instance, events: [{ name: 'purchase' }] });
      expect(sent).not.toHaveProperty('client_id');
      expect(sent.events[0].params).not.toHaveProperty('session_id');
      const { url } = ga4.request(['{}'], { ...call, connection: { ...connection, settings } });
      expect(Object.fromEntries(new URL(url).searchParams)).toEqual({
        firebase_app_id: '1:1234567890:ios:0a1b2c3d',
        api_secret: 's3cret/+&',
      });
    });

    it.each<[string, Conversion]>([
      ['no external id', withVisit],
      ['the id of a customer', { ...inApp, externalId: 'Customer-42' }],
      ['an opt-out', { ...inApp, consent: 'denied' }],
    ])('skips a conversion with %s', (_, conversion) => {
      const synthetic = { ...settings, synthetic_client_id: 'yes' };
      expect(ga4.payload(conversion, synthetic)).toEqual({ skip: 'no_client_identifier' });
    });

    it.each<[Record<string, string>, RegExp | undefined]>([
      [settings, undefined],
      [{ measurement_id: 'G-ABC1234' }, undefined],
      [{ measurement_id: 'G-ABC1234', external_id: 'user_id' }, undefined],
      [{}, /^measurement_id or firebase_app_id is required/],
      [{ ...settings, measurement_id: 'G-ABC1234' }, /^measurement_id or firebase_app_id .* not both$/],
      [{ measurement_id: 'G-ABC1234', external_id: 'app_instance_id' }, /requires firebase_app_id$/],
      [{ firebase_app_id: '1:1:ios:0' }, /^firebase_app_id requires external_id=app_instance_id/],
      [{ ...settings, external_id: 'user_id' }, /^firebase_app_id requires/],
    ])('is checked: %j reports %s', (given, problem) => {
      const found = ga4.check?.({ settings: given, secrets: {} });
      if (problem === undefined) expect(found).toBeUndefined();
      else expect(found).toMatch(problem);
    });
  });

  it('replaces a transaction id that is too long, and leaves out other long texts', () => {
    const orderId = 'x'.repeat(101);
    const visit = { ...withVisit.visit, pageUrl: `https://shop.example/${'a'.repeat(90)}` } as Conversion['visit'];
    const { params } = item({ ...withVisit, visit, orderId, eventId: orderId }).events[0];
    expect(params['transaction_id']).toMatch(/^[0-9a-f]{64}$/);
    expect(params).not.toHaveProperty('order');
    expect(params).not.toHaveProperty('page_location');
  });

  it('sends the payload byte for byte and encodes the secret', () => {
    const request = ga4.request(['{ "a": 1 }'], call);
    expect(request.body).toBe('{ "a": 1 }');
    expect(new URL(request.url).searchParams.get('api_secret')).toBe('s3cret/+&');
  });

  it('uses the endpoint of the connection', () => {
    const { url } = ga4.request(['{}'], {
      ...call,
      connection: { ...connection, endpoint: 'http://127.0.0.1:9/ga4/' },
    });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:9\/ga4\/mp\/collect\?measurement_id=G-ABC1234&/);
  });

  describe('test mode', () => {
    const test = ga4.test?.('{"client_id":"1.2"}', call);

    it('uses the validation endpoint and sends no conversion', () => {
      expect(test?.sent).toBe(false);
      expect(test?.request.url).toMatch(/^https:\/\/www\.google-analytics\.com\/debug\/mp\/collect\?/);
      expect(test?.request.body).toBe('{"client_id":"1.2"}');
    });

    it('reports the validation messages', () => {
      expect(test?.verdict(answer(200, { validationMessages: [] }))).toEqual({ kind: 'accepted' });
      const message = {
        fieldPath: 'events',
        description: 'Event at index: [0] has invalid name',
        validationCode: 'NAME_INVALID',
      };
      expect(test?.verdict(answer(200, { validationMessages: [message] }))).toEqual({
        kind: 'rejected',
        reason: 'NAME_INVALID: Event at index: [0] has invalid name',
      });
      expect(test?.verdict(answer(200, { validationMessages: [null] }))).toEqual({
        kind: 'rejected',
        reason: 'not valid',
      });
    });

    itRetriesUnreadable200((response) => test?.verdict(response));

    it('fails with an error status', () => {
      expect(test?.verdict(answer(404))).toMatchObject({ kind: 'rejected' });
    });
  });

  it('refuses names that Google Analytics would silently drop', () => {
    const check = (settings: Record<string, string>) => ga4.check?.({ settings, secrets: {} });
    const { measurement_id = '' } = connection.settings;
    expect(
      check({ measurement_id, 'event.demo': 'book_demo', 'field.order_id': 'orderId', events: 'demo' }),
    ).toBeUndefined();
    expect(check({ 'event.demo': 'book a demo' })).toMatch(/^event\.demo must/);
    expect(check({ 'event.demo': 'first_visit' })).toMatch(/^event\.demo must/);
    expect(check({ 'field.ga_order': 'orderId' })).toMatch(/^field\.ga_order: /);
  });
});
