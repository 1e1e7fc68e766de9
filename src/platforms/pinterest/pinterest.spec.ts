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
  identifiedBy,
  PHONE_NUMBER,
  sentItem,
} from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection, Settings } from '../platform.js';
import { platform as pinterest } from './index.js';

const connection: Connection = { settings: { ad_account_id: '549755885175' }, secrets: { access_token: 'pina_token' } };

const purchase: Conversion = SAMPLE_CONVERSIONS['hashed-only'];

const item = (conversion: Conversion, settings: Settings = {}) => sentItem(pinterest, conversion, settings);

const processed = { status: 'processed', error_message: null, warning_message: null };
const failed = { status: 'failed', error_message: 'event_time is invalid', warning_message: null };
const counted = (...events: object[]) => ({ num_events_received: events.length, num_events_processed: 1, events });

const sha256 = (text: string) => hash('sha256', text);

describePlatformContract(pinterest, {
  connection,
  secretSettings: ['access_token', 'client_secret', 'refresh_token'],
  requiredSettings: ['ad_account_id'],
  payload: {
    unidentified: [
      ...INSUFFICIENT_IDENTIFIERS,
      PHONE_NUMBER,
      ['its own click id', identifiedBy({ clicks: { epik: { id: 'E', timeMs: 1 } } })],
    ],
    names: ['user_data', { fn: ['f'], ln: ['l'] }],
    eventName: { path: 'event_name', mapped: 'custom', custom: false },
    customData: 'custom_data',
    clickId: 'epik',
  },
  request: {
    body: '{"data":[…]}',
    endpoint: [
      { ad_account_id: '1', api_version: 'v6' },
      'http://h/pinterest/',
      'http://h/pinterest/v6/ad_accounts/1/events',
    ],
  },
  unreadable: [
    [processed],
    { events: 'processed' },
    { num_events_received: 1, num_events_processed: 1 },
    counted(processed, processed),
    { code: 8, message: 'This request exceeded a rate limit.' },
  ],
});

describe('pinterest', () => {
  it('contains custom values as text', () => {
    const settings = { 'field.content_brand': 'custom.brand', 'field.content_name': 'custom.gift' };
    const { custom_data } = sentItem(pinterest, SAMPLE_CONVERSIONS['server-only'], settings);
    expect(custom_data).toMatchObject({ content_brand: 'Acme', content_name: 'true' });
  });

  describe('payload', () => {
    it('includes a conversion that is identified by IP address and user agent', () => {
      const sent = item(identifiedBy({ ip: '203.0.113.10', userAgent: 'UA' }));
      expect(sent.user_data).toEqual({ client_ip_address: '203.0.113.10', client_user_agent: 'UA' });
    });

    it('does not require an amount, and contains no currency without one', () => {
      expect(item({ ...purchase, value: undefined }).custom_data).toEqual({ order_id: 'ORD-1001' });
    });

    it('contains the custom fields of the connection as strings', () => {
      const settings = { 'field.predicted_ltv': 'value', 'field.content_name': 'event' };
      expect(item({ ...purchase, currency: 'KWD' }, settings).custom_data).toEqual({
        predicted_ltv: '129.900',
        content_name: 'purchase',
        currency: 'KWD',
        value: '129.900',
        order_id: 'ORD-1001',
      });
    });

    it('contains the address in the form of Pinterest, hashed', () => {
      const user = (address: Conversion['address']) => item({ ...DETAILED, address }).user_data;
      expect(user({ city: 'Saint-Étienne', region: 'BE', postalCode: '10115-99', country: 'DE' })).toMatchObject({
        ct: [sha256('saintétienne')],
        st: [sha256('be')],
        zp: [sha256('1011599')],
        country: [sha256('de')],
      });
      const empty = user({ city: '--', region: 'Bayern', postalCode: 'SW1A 1AA' });
      for (const name of ['ct', 'st', 'zp', 'country']) expect(empty).not.toHaveProperty(name);
    });

    it('has the action source that Pinterest accepts', () => {
      const actionSource = (conversion: Conversion) => item(conversion).action_source;
      const offline = {
        phone_call: 'offline',
        physical_store: 'offline',
        email: 'offline',
        crm: 'offline',
        other: 'offline',
      };
      expect(bySource(DETAILED, actionSource)).toEqual({ ...offline, website: 'web', app: 'offline', none: 'web' });
      expect(bySource(purchase, actionSource)).toEqual({ ...offline, website: 'web', app: 'offline', none: 'offline' });
      const inApp = (userAgent: string) => {
        const visit = { userAgent, clicks: {}, cookies: {}, utm: {} };
        return actionSource({ ...purchase, source: 'app', visit });
      };
      expect(inApp('Shop/2 (Linux; Android 15)')).toBe('app_android');
      expect(inApp('Shop/2 (iPhone; iOS 18.1)')).toBe('app_ios');
      expect(item({ ...DETAILED, source: 'phone_call' })).not.toHaveProperty('event_source_url');
    });

    it('contains after an opt-out what is hashed, and the flag', () => {
      const sent = item(DETAILED_OPT_OUT);
      expect(sent.opt_out).toBe(true);
      expect(sent.user_data).toMatchObject({ ct: [sha256('losangeles')], external_id: [sha256('Customer-42')] });
      for (const name of ['click_id', 'client_ip_address']) expect(sent.user_data).not.toHaveProperty(name);
    });

    it('contains prices with the decimals of their currency', () => {
      const { custom_data } = item({ ...PRICED_LEAD, currency: 'JPY', items: [{ id: 'a', price: 1000 }] });
      expect(custom_data).toMatchObject({ currency: 'JPY', contents: [{ id: 'a', item_price: '1000', quantity: 1 }] });
      expect(item(UNPRICED_LEAD).custom_data).not.toHaveProperty('currency');
    });
  });

  it.each([
    ["'em' is not a SHA-256 digest.", ['email']],
    ["'user_data.zp' is invalid.", ['address']],
    ["'client_ip_address' is invalid.", ['device']],
  ])('names the identifier that an event was refused for: %s', (error_message, identifiers) => {
    const events = counted(processed, { status: 'failed', error_message, warning_message: null });
    expect(pinterest.verdict(answer(200, events), 2)).toEqual([
      { kind: 'delivered' },
      { kind: 'without', identifiers, reason: error_message, requestId: undefined },
    ]);
  });

  it('limits a batch so that its answer fits into 64 KiB', () => {
    const withWarning = { ...processed, warning_message: 'w'.repeat(500) };
    const body = JSON.stringify(counted(...Array(pinterest.batchMax).fill(withWarning)));
    expect(body.length).toBeLessThan(64 * 1_024);
  });

  it('tests with an event that Pinterest does not record', () => {
    const test = pinterest.test?.('{"a":1}', { connection, nowMs: 0 });
    expect(test?.request.url).toBe('https://api.pinterest.com/v5/ad_accounts/549755885175/events?test=true');
    expect(test?.request.body).toBe('{"data":[{"a":1}]}');
    expect(test?.sent).toBe(true);
    expect(test?.verdict(answer(200, counted(processed)))).toEqual({ kind: 'delivered' });
    expect(test?.verdict(answer(200, counted(failed)))).toMatchObject({ kind: 'rejected' });
    expect(test?.verdict(answer(401, { code: 2, message: 'Authentication failed.' }))).toMatchObject({
      kind: 'unauthorized',
    });
    expect(test?.verdict(answer(200, counted()))).toMatchObject({ kind: 'retry' });
  });

  describe('verdict', () => {
    it.each([
      [200, counted(processed, failed, processed)],
      [422, { code: 1, message: 'Not all events', details: counted(processed, failed, processed) }],
    ])('is given for each event of a %i', (status, body) => {
      expect(pinterest.verdict(answer(status, body), 3)).toEqual([
        { kind: 'delivered' },
        { kind: 'rejected', reason: 'event_time is invalid' },
        { kind: 'delivered' },
      ]);
    });

    it('retries an event with an unknown status', () => {
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
    ])('follows from a %i with %j', (status, body, one, three) => {
      expectVerdicts(pinterest, answer(status, body), one, three);
    });

    it('contains the error message of Pinterest', () => {
      const response = answer(400, { code: 4196, message: 'The request was invalid.' });
      expect(pinterest.verdict(response, 1)).toEqual({ kind: 'rejected', reason: 'The request was invalid.' });
    });
  });

  it('refuses mappings that Pinterest would reject', () => {
    const check = (settings: Settings) => pinterest.check?.({ ...connection, settings });
    expect(check({ ad_account_id: '1', 'event.demo': 'custom', 'field.content_name': 'event' })).toBeUndefined();
    expect(check({ 'event.demo': 'Booked a demo' })).toMatch(/^event\.demo must be /);
    expect(check({ 'field.my_field': 'event' })).toMatch(/^field\.my_field is not a field/);
  });
});
