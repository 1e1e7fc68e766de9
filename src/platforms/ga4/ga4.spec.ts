import { answer, itNeedsMoreThanA200 } from '../../../test/support/platform-answers.js';
import { itChecksFields } from '../../../test/support/platform-fields.js';
import { describeGoldens } from '../../../test/support/platform-goldens.js';
import { sentItem } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection } from '../platform.js';
import { ga4 } from './index.js';

const connection: Connection = {
  settings: { measurement_id: 'G-ABC1234', 'field.order': 'orderId' },
  secrets: { api_secret: 's3cret/+&' },
};
const CALL = { connection, nowMs: 0 };
const WITH_VISIT: Conversion = SAMPLE_CONVERSIONS['with-click-id'];
const WITHOUT_VISIT: Conversion = SAMPLE_CONVERSIONS['hashed-only'];

interface Item {
  readonly client_id: string;
  readonly consent?: object;
  readonly events: readonly [{ readonly name: string; readonly params: Readonly<Record<string, unknown>> }];
}

const itemOf = (conversion: Conversion, settings = {}): Item =>
  sentItem(ga4, conversion, { ...connection.settings, ...settings });

describe('ga4', () => {
  describeGoldens(ga4, connection);

  describe('what is skipped', () => {
    it('a conversion without the cookie’s client id', () => {
      const visit = { ...(WITH_VISIT.visit as object), cookies: {} } as Conversion['visit'];
      expect(ga4.payload(WITHOUT_VISIT, connection.settings)).toEqual({ skip: 'no_client_identifier' });
      expect(ga4.payload({ ...WITH_VISIT, visit }, connection.settings)).toEqual({ skip: 'no_client_identifier' });
    });

    it.each(['Réservation', '1st order', 'ga_thing', 'error', 'a'.repeat(41), '__proto__', '', 'in-app purchase'])(
      'an event that cannot be a name: %s',
      (event) => {
        expect(ga4.payload({ ...WITH_VISIT, event }, connection.settings)).toEqual({ skip: 'event_not_mapped' });
      },
    );

    it('not when the event is mapped', () => {
      expect(itemOf({ ...WITH_VISIT, event: 'error' }, { 'event.error': 'form_error' }).events[0].name).toBe(
        'form_error',
      );
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
    expect(itemOf({ ...WITH_VISIT, event }).events[0].name).toBe(name);
  });

  describe('synthetic_client_id=yes', () => {
    const synthetic = { synthetic_client_id: 'yes' };

    it('makes the same id for the same person every time, and shows nothing of the hash', () => {
      const { client_id } = itemOf(WITHOUT_VISIT, synthetic);
      expect(client_id).toMatch(/^\d{1,10}\.\d{1,10}$/);
      expect(itemOf({ ...WITHOUT_VISIT, id: 'other', eventId: 'ORD-2', timeMs: 1 }, synthetic).client_id).toBe(
        client_id,
      );
      expect(client_id).not.toContain(String(Number.parseInt(WITHOUT_VISIT.hashes.subject.slice(0, 8), 16)));
    });

    it('makes another id for another person and for another property', () => {
      const { client_id } = itemOf(WITHOUT_VISIT, synthetic);
      const other = SAMPLE_CONVERSIONS['phone-and-name'];
      expect(itemOf(other, synthetic).client_id).not.toBe(client_id);
      expect(itemOf(WITHOUT_VISIT, { ...synthetic, measurement_id: 'G-OTHER' }).client_id).not.toBe(client_id);
    });

    it('leaves the cookie’s id where there is one, and claims no session where there is none', () => {
      expect(itemOf(WITH_VISIT, synthetic).client_id).toBe('123456.7654321');
      const { params } = itemOf(WITHOUT_VISIT, synthetic).events[0];
      expect(params).not.toHaveProperty('session_id');
      expect(params).not.toHaveProperty('engagement_time_msec');
    });

    it('says when consent was denied', () => {
      expect(itemOf(SAMPLE_CONVERSIONS['consent-denied'], synthetic).consent).toEqual({
        ad_user_data: 'DENIED',
        ad_personalization: 'DENIED',
      });
    });
  });

  it('has a currency only with an amount, which is a number', () => {
    expect(itemOf({ ...WITH_VISIT, value: 0, currency: 'JPY' }).events[0].params).toMatchObject({
      value: 0,
      currency: 'JPY',
    });
    expect(itemOf({ ...WITH_VISIT, value: undefined }).events[0].params).not.toHaveProperty('currency');
  });

  it('replaces a transaction id and leaves out other texts that are too long', () => {
    const orderId = 'x'.repeat(101);
    const visit = { ...WITH_VISIT.visit, pageUrl: `https://shop.example/${'a'.repeat(90)}` } as Conversion['visit'];
    const { params } = itemOf({ ...WITH_VISIT, visit, orderId, eventId: orderId }).events[0];
    expect(params['transaction_id']).toMatch(/^[0-9a-f]{64}$/);
    expect(params).not.toHaveProperty('order');
    expect(params).not.toHaveProperty('page_location');
  });

  it('sends the item byte for byte, and the secret encoded', () => {
    const request = ga4.request(['{ "a": 1 }'], CALL);
    expect(request.body).toBe('{ "a": 1 }');
    expect(new URL(request.url).searchParams.get('api_secret')).toBe('s3cret/+&');
  });

  it('follows an endpoint', () => {
    const { url } = ga4.request(['{}'], {
      ...CALL,
      connection: { ...connection, endpoint: 'http://127.0.0.1:9/ga4/' },
    });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:9\/ga4\/mp\/collect\?measurement_id=G-ABC1234&/);
  });

  describe('the answer', () => {
    it.each([
      [204, '', 'accepted'],
      [200, '', 'accepted'],
      [200, 'ok', 'accepted'],
      [200, '<!doctype html><title>Sign in</title>', 'retry'],
      [302, '', 'rejected'],
      [400, '', 'rejected'],
      [413, '', 'rejected'],
      [403, '', 'unauthorized'],
      [408, '', 'retry'],
      [429, '', 'retry'],
      [500, '', 'retry'],
      [503, '<html>', 'retry'],
    ])('%i %j is %s', (status, body, kind) => {
      expect(ga4.verdict(answer(status, body), 1)).toMatchObject({ kind });
    });
  });

  describe('the test', () => {
    const test = ga4.test?.('{"client_id":"1.2"}', CALL);

    it('asks Google’s validator and sends no conversion', () => {
      expect(test?.sent).toBe(false);
      expect(test?.request.url).toMatch(/^https:\/\/www\.google-analytics\.com\/debug\/mp\/collect\?/);
      expect(test?.request.body).toBe('{"client_id":"1.2"}');
    });

    it('tells what the validator found', () => {
      expect(test?.verdict(answer(200, { validationMessages: [] }))).toEqual({ kind: 'accepted' });
      const found = {
        fieldPath: 'events',
        description: 'Event at index: [0] has invalid name',
        validationCode: 'NAME_INVALID',
      };
      expect(test?.verdict(answer(200, { validationMessages: [found] }))).toEqual({
        kind: 'rejected',
        reason: 'NAME_INVALID: Event at index: [0] has invalid name',
      });
      expect(test?.verdict(answer(200, { validationMessages: [null] }))).toEqual({
        kind: 'rejected',
        reason: 'not valid',
      });
    });

    itNeedsMoreThanA200((response) => test?.verdict(response));

    it('fails with the status', () => {
      expect(test?.verdict(answer(404))).toMatchObject({ kind: 'rejected' });
    });
  });

  describe('settings', () => {
    itChecksFields(
      ga4,
      ['measurement_id', 'G-ABC1234', 'UA-12345-1'],
      ['api_secret', 'abc-DEF_123', 'two words'],
      ['synthetic_client_id', 'yes', 'maybe'],
    );

    it('refuses names that Google Analytics would drop without a word', () => {
      const check = (settings: Record<string, string>) => ga4.check?.({ settings, secrets: {} });
      expect(check({ 'event.demo': 'book_demo', 'field.order_id': 'orderId', events: 'demo' })).toBeUndefined();
      expect(check({ 'event.demo': 'book a demo' })).toMatch(/^event\.demo must/);
      expect(check({ 'event.demo': 'first_visit' })).toMatch(/^event\.demo must/);
      expect(check({ 'field.ga_order': 'orderId' })).toMatch(/^field\.ga_order: /);
    });
  });
});
