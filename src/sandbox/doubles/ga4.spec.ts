import { hash } from 'node:crypto';
import { FAILURE_KINDS, sandboxRequest } from '../double.js';
import { ga4 } from './ga4.js';

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

describe('GA4', () => {
  it('takes a purchase and says nothing', () => {
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
    expect(JSON.parse(validate(body).body)).toEqual({ validationMessages: [] });
  });

  it('tells other events by the visitor and the time', () => {
    const { received } = collect({ ...body, events: [{ name: 'generate_lead' }] });
    expect(received).toMatchObject([{ eventId: '123456.7654321 1772360130000000', accepted: true }]);
  });

  it.each([
    ['no client', { ...body, client_id: undefined }, 'VALUE_REQUIRED'],
    ['a time in milliseconds', { ...body, timestamp_micros: '1772360130000' }, 'VALUE_INVALID'],
    ['a time 73 hours ago', { ...body, timestamp_micros: (NOW_MS - 73 * 3_600_000) * 1_000 }, 'VALUE_OUT_OF_BOUNDS'],
    ['a time ahead', { ...body, timestamp_micros: (NOW_MS + 3_600_000) * 1_000 }, 'VALUE_OUT_OF_BOUNDS'],
    ['Google Ads’ consent', { ...body, consent: { ad_user_data: 'CONSENT_GRANTED' } }, 'VALUE_INVALID'],
    ['no events', { ...body, events: [] }, 'VALUE_REQUIRED'],
    ['26 events', { ...body, events: Array(26).fill(purchase) }, 'EXCEEDED_MAX_ENTITIES'],
    ['a field it does not know', { ...body, gclid: 'GCLID' }, 'VALUE_INVALID'],
    ['a name with spaces', { ...body, events: [{ name: 'Order Completed' }] }, 'NAME_INVALID'],
    ['a name of Google’s own', { ...body, events: [{ name: 'session_start' }] }, 'NAME_RESERVED'],
    [
      '26 params',
      withParams(Object.fromEntries(Array.from({ length: 26 }, (_, i) => [`p${i}`, i]))),
      'EXCEEDED_MAX_ENTITIES',
    ],
    ['a long text', withParams({ coupon: 'a'.repeat(101) }), 'VALUE_OUT_OF_BOUNDS'],
    ['nothing in a param', withParams({ coupon: null }), 'VALUE_INVALID'],
    ['a list in a param', withParams({ coupons: ['a'] }), 'VALUE_INVALID'],
    ['a nameless item', withParams({ items: [{ quantity: 1 }] }), 'VALUE_INVALID'],
    ['an amount as text', withParams({ value: '129.90' }), 'VALUE_INVALID'],
    ['an amount without a currency', withParams({ currency: undefined }), 'VALUE_REQUIRED'],
    ['no transaction', withParams({ transaction_id: undefined }), 'VALUE_REQUIRED'],
    ['a user property without a value', { ...body, user_properties: { tier: 'gold' } }, 'VALUE_INVALID'],
    ['text', 'text', 'VALUE_INVALID'],
    ['too much', { ...body, user_id: 'a'.repeat(130_000) }, 'EXCEEDED_MAX_ENTITIES'],
  ])('loses a call with %s without a word, and says so when it validates', (_, sent, code) => {
    const answer = collect(sent);
    expect([answer.status, answer.body]).toEqual([204, '']);
    expect(answer.received?.every(({ accepted, problems }) => !accepted && problems.length > 0)).toBe(true);
    const { status, body: text, received } = validate(sent);
    expect([status, received]).toEqual([200, undefined]);
    expect(JSON.parse(text).validationMessages).toMatchObject([{ validationCode: code }]);
  });

  it('loses only the event that is wrong', () => {
    const { received } = collect({ ...body, events: [purchase, { name: '_bad' }] });
    expect(received?.map(({ accepted }) => accepted)).toEqual([true, false]);
  });

  it.each(['?measurement_id=G-ABC123', '?measurement_id=G-ABC123&api_secret=bad', '?measurement_id=UA-1&api_secret=s'])(
    'does not tell anybody that %s is wrong',
    (query) => {
      expect(collect(body, query)).toMatchObject({ status: 204, received: [{ accepted: false }] });
      expect(JSON.parse(validate(body, query).body)).toEqual({ validationMessages: [] });
    },
  );

  it.each(FAILURE_KINDS)('fails on demand: %s', (kind) => {
    const text = JSON.stringify({ ...body, events: [purchase, purchase] });
    const answer = ga4.fail(kind, sandboxRequest('POST', `/mp/collect${QUERY}`, { body: text }));
    const expected = {
      refuse: 204,
      refuse_one: 204,
      throttle: 429,
      server_error: 503,
      unauthorized: 204,
      forbidden: 204,
    };
    expect(answer.status).toBe(expected[kind]);
    const accepted = answer.received?.map((item) => item.accepted);
    if (kind === 'refuse_one') expect(accepted).toEqual([false, true]);
    else expect(accepted ?? []).not.toContain(true);
  });

  it('fails a validation by a message', () => {
    const request = sandboxRequest('POST', `/debug/mp/collect${QUERY}`);
    expect(ga4.callKind?.(request)).toBe('test');
    expect(JSON.parse(ga4.fail('refuse', request).body).validationMessages).toHaveLength(1);
  });

  it('has nothing at other addresses', () => {
    expect(ga4.answer(sandboxRequest('GET', `/mp/collect${QUERY}`)).status).toBe(404);
    expect(ga4.answer(sandboxRequest('POST', `/collect${QUERY}`)).status).toBe(404);
  });
});
