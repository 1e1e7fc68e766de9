import { hash } from 'node:crypto';
import { acceptedIn, bodyOf, itFailsOnDemand } from '../../../test/support/platform-doubles.js';
import { sandboxRequest } from '../double.js';
import { double as ga4 } from './ga4.js';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const QUERY = '?measurement_id=G-ABC123&api_secret=secret';
const purchase = {
  name: 'purchase',
  params: {
    transaction_id: 'ORD-1001',
    value: 129.9,
    currency: 'EUR',
    session_id: '1772359000',
    engagement_time_msec: 100,
    page_location: `https://shop.example/${'a'.repeat(200)}`,
    items: [{ item_id: 'SKU-1', item_name: 'Thing', quantity: 1, price: 129.9 }],
  },
};
const body = {
  client_id: '123456.7654321',
  timestamp_micros: '1772360130000000',
  consent: { ad_user_data: 'GRANTED', ad_personalization: 'DENIED' },
  user_properties: { tier: { value: 'gold' } },
  events: [purchase],
};

const collect = (sent: unknown, query = QUERY) =>
  ga4.answer(sandboxRequest('POST', `/mp/collect${query}`, { body: JSON.stringify(sent), nowMs: NOW_MS }));
const validate = (sent: unknown, query = QUERY) =>
  ga4.answer(sandboxRequest('POST', `/debug/mp/collect${query}`, { body: JSON.stringify(sent), nowMs: NOW_MS }));
const withParams = (change: object) => ({
  ...body,
  events: [{ ...purchase, params: { ...purchase.params, ...change } }],
});

describe('double of ga4', () => {
  it('accepts a purchase with an empty answer', () => {
    expect(collect(body)).toEqual({
      status: 204,
      body: '',
      received: [
        {
          eventId: 'ORD-1001',
          event: 'purchase',
          problems: [],
          accepted: true,
          bodySha256: hash('sha256', JSON.stringify(body)),
          dedupKey: 'purchase ORD-1001',
        },
      ],
    });
    expect(bodyOf(validate(body))).toEqual({ validationMessages: [] });
  });

  it('identifies other events by client id and time', () => {
    const { received } = collect({ ...body, events: [{ name: 'generate_lead' }] });
    expect(received).toMatchObject([{ eventId: '123456.7654321 1772360130000000', accepted: true }]);
  });

  it('counts a conversion with its campaign once, and refuses it with a campaign that is not valid', () => {
    const withCampaign = (params: object) => ({ ...body, events: [{ name: 'campaign_details', params }, purchase] });
    const valid = withCampaign({ campaign_id: '7', campaign: 'spring', source: 'a', session_id: '1772359000' });
    expect(collect(valid).received).toMatchObject([
      { eventId: 'ORD-1001', accepted: true, bodySha256: hash('sha256', JSON.stringify(valid)) },
    ]);
    for (const params of [{}, { session_id: '1772359000' }, { source: 'a', gclid: 'G' }])
      expect(collect(withCampaign(params)).received).toMatchObject([{ event: 'purchase', accepted: false }]);
  });

  it.each([
    ['no client id', { ...body, client_id: undefined }, 'VALUE_REQUIRED'],
    ['a time in milliseconds', { ...body, timestamp_micros: '1772360130000' }, 'VALUE_INVALID'],
    ['a time 73 hours ago', { ...body, timestamp_micros: (NOW_MS - 73 * 3_600_000) * 1_000 }, 'VALUE_OUT_OF_BOUNDS'],
    ['a time in the future', { ...body, timestamp_micros: (NOW_MS + 3_600_000) * 1_000 }, 'VALUE_OUT_OF_BOUNDS'],
    ['the consent format of Google Ads', { ...body, consent: { ad_user_data: 'CONSENT_GRANTED' } }, 'VALUE_INVALID'],
    ['no events', { ...body, events: [] }, 'VALUE_REQUIRED'],
    ['26 events', { ...body, events: Array(26).fill(purchase) }, 'EXCEEDED_MAX_ENTITIES'],
    ['an unknown field', { ...body, gclid: 'GCLID' }, 'VALUE_INVALID'],
    ['a name with spaces', { ...body, events: [{ name: 'Order Completed' }] }, 'NAME_INVALID'],
    ['a reserved name', { ...body, events: [{ name: 'session_start' }] }, 'NAME_RESERVED'],
    [
      '26 params',
      withParams(Object.fromEntries(Array.from({ length: 26 }, (_, i) => [`p${i}`, i]))),
      'EXCEEDED_MAX_ENTITIES',
    ],
    ['a long text', withParams({ coupon: 'a'.repeat(101) }), 'VALUE_OUT_OF_BOUNDS'],
    ['null in a param', withParams({ coupon: null }), 'VALUE_INVALID'],
    ['a list in a param', withParams({ coupons: ['a'] }), 'VALUE_INVALID'],
    ['an item without a name', withParams({ items: [{ quantity: 1 }] }), 'VALUE_INVALID'],
    ['201 items', withParams({ items: Array(201).fill({ item_id: 'SKU-1' }) }), 'VALUE_INVALID'],
    ['half an item', withParams({ items: [{ item_id: 'SKU-1', quantity: 0.5 }] }), 'VALUE_INVALID'],
    ['a price as a string', withParams({ items: [{ item_id: 'SKU-1', price: '1.50' }] }), 'VALUE_INVALID'],
    ['a long category', withParams({ items: [{ item_id: '1', item_category: 'a'.repeat(101) }] }), 'VALUE_INVALID'],
    ['a list in an item', withParams({ items: [{ item_id: '1', item_category: ['a'] }] }), 'VALUE_INVALID'],
    [
      'a price without a currency',
      withParams({ value: undefined, currency: undefined, items: [{ item_id: '1', price: 1 }] }),
      'VALUE_REQUIRED',
    ],
    ['an empty user id', { ...body, user_id: '' }, 'VALUE_INVALID'],
    ['the id of an app in a web stream', { ...body, app_instance_id: 'a'.repeat(32) }, 'VALUE_INVALID'],
    ['an amount as a string', withParams({ value: '129.90' }), 'VALUE_INVALID'],
    ['an amount without a currency', withParams({ currency: undefined }), 'VALUE_REQUIRED'],
    ['no transaction id', withParams({ transaction_id: undefined }), 'VALUE_REQUIRED'],
    ['a user property without a value', { ...body, user_properties: { tier: 'gold' } }, 'VALUE_INVALID'],
    ['a string', 'text', 'VALUE_INVALID'],
    ['too many bytes', { ...body, user_data: 'a'.repeat(130_000) }, 'EXCEEDED_MAX_ENTITIES'],
  ])('silently drops a request with %s, and reports it on validation', (_, sent, code) => {
    const answer = collect(sent);
    expect([answer.status, answer.body]).toEqual([204, '']);
    expect(answer.received?.every(({ accepted, problems }) => !accepted && problems.length > 0)).toBe(true);
    const validated = validate(sent);
    expect([validated.status, validated.received]).toEqual([200, undefined]);
    expect(bodyOf(validated).validationMessages).toMatchObject([{ validationCode: code }]);
  });

  describe('of an app stream', () => {
    const APP = '?firebase_app_id=1:1234567890:android:0a1b2c3d&api_secret=secret';
    const { client_id: _, ...rest } = body;
    const inApp = { ...rest, app_instance_id: '0123456789abcdef0123456789abcdef' };

    it('accepts an event of an app instance', () => {
      expect(collect(inApp, APP)).toMatchObject({ status: 204, received: [{ accepted: true, problems: [] }] });
    });

    it.each([
      ['a client id', body, APP],
      ['another id', { ...inApp, app_instance_id: 'Customer-42' }, APP],
      ['both ids', { ...inApp, client_id: '1.2' }, APP],
      ['the id of a web app', inApp, APP.replace('android', 'web')],
      ['both streams', inApp, `${APP}&measurement_id=G-ABC123`],
    ])('drops a request with %s', (__, sent, query) => {
      expect(collect(sent, query)).toMatchObject({ status: 204, received: [{ accepted: false }] });
    });
  });

  it('drops only the invalid event', () => {
    expect(acceptedIn(collect({ ...body, events: [purchase, { name: '_bad' }] }))).toEqual([true, false]);
  });

  it.each(['?measurement_id=G-ABC123', '?measurement_id=G-ABC123&api_secret=bad', '?measurement_id=UA-1&api_secret=s'])(
    'does not report wrong credentials: %s',
    (query) => {
      expect(collect(body, query)).toMatchObject({ status: 204, received: [{ accepted: false }] });
      expect(bodyOf(validate(body, query))).toEqual({ validationMessages: [] });
    },
  );

  const two = JSON.stringify({ ...body, events: [purchase, purchase] });
  itFailsOnDemand(
    ga4,
    sandboxRequest('POST', `/mp/collect${QUERY}`, { body: two }),
    { refuse: 204, refuse_one: 204, throttle: 429, server_error: 503, unauthorized: 204, forbidden: 204 },
    (kind, answer) => {
      if (kind === 'refuse_one') expect(acceptedIn(answer)).toEqual([false, true]);
      else expect(acceptedIn(answer) ?? []).not.toContain(true);
    },
  );

  it('reports a validation message on refuse', () => {
    const request = sandboxRequest('POST', `/debug/mp/collect${QUERY}`);
    expect(ga4.callKind?.(request)).toBe('test');
    expect(bodyOf(ga4.fail('refuse', request)).validationMessages).toHaveLength(1);
  });

  it('has nothing at other URLs', () => {
    expect(ga4.answer(sandboxRequest('GET', `/mp/collect${QUERY}`)).status).toBe(404);
    expect(ga4.answer(sandboxRequest('POST', `/collect${QUERY}`)).status).toBe(404);
  });
});
