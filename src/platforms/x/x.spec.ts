import { describeErrorTable } from '../../../test/support/error-table.js';
import { answer } from '../../../test/support/platform-answers.js';
import { describePlatformContract } from '../../../test/support/platform-contract.js';
import { identifiedBy, sentItem } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection, Verdict } from '../platform.js';
import { ERRORS } from './errors.js';
import { platform as x } from './index.js';

const connection: Connection = {
  settings: { pixel_id: 'o8z6j', 'event.purchase': 'tw-o8z6j-o87ne', 'event.lead': 'o87nf' },
  secrets: { pixel_token: 'token' },
};
const withVisit: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const item = (conversion: Conversion, settings = {}) =>
  sentItem(x, conversion, { ...connection.settings, ...settings });

const processed = (conversions_processed: unknown) => ({
  request: { params: { account_id: 'A' } },
  data: { conversions_processed, debug_id: 'D-1' },
});
const error = (code: string) => ({ errors: [{ code, parameter: 'event_id', message: 'is wrong' }], request: {} });

describePlatformContract(x, {
  connection,
  severalActions: { 'event.purchase': 'tw-o8z6j-o87ne,tw-o8z6j-o87nf' },
  payload: { unmappedEvents: ['signup', 'Booked a demo', 'toString'], clickId: 'twclid' },
  request: {
    endpoint: [
      { ...connection.settings, api_version: '13' },
      'http://127.0.0.1:9/x',
      'http://127.0.0.1:9/x/13/measurement/conversions/o8z6j',
    ],
  },
  verdicts: [
    [400, error('INVALID_PARAMETER'), { kind: 'rejected', reason: 'INVALID_PARAMETER: event_id: is wrong' }],
    [400, '<html>', { kind: 'rejected', reason: 'HTTP 400' }],
    [400, error('ACCOUNT_NOT_FOUND'), { kind: 'unauthorized' }],
    [401, error('UNAUTHORIZED_ACCESS'), { kind: 'unauthorized', reason: 'UNAUTHORIZED_ACCESS: event_id: is wrong' }],
    [401, '', { kind: 'unauthorized', reason: 'HTTP 401' }],
    [403, '<html>', { kind: 'unauthorized' }],
    [404, error('NOT_FOUND'), { kind: 'rejected' }],
    [404, error('ROUTE_NOT_FOUND'), { kind: 'misconfigured', reason: 'ROUTE_NOT_FOUND: event_id: is wrong' }],
    [404, '<html>', { kind: 'rejected', reason: 'HTTP 404' }],
    [404, error('ACCOUNT_NOT_FOUND'), { kind: 'unauthorized' }],
    [408, error('CANCELLED_REQUEST'), { kind: 'retry', reason: 'server_error' }],
    [429, error('TOO_MANY_REQUESTS'), { kind: 'retry', reason: 'throttled', afterMs: undefined }],
    [500, error('INTERNAL_ERROR'), { kind: 'retry', reason: 'server_error' }],
    [503, '<html>', { kind: 'retry', reason: 'server_error' }],
    [302, '', { kind: 'rejected' }],
  ],
  unreadable: [{ data: { debug_id: 'D' } }, processed('1'), { ...processed(1), ...error('OVER_CAPACITY') }],
});

describe('x', () => {
  it('names the identifier of a single conversion that alone was refused', () => {
    const refused = (...parameters: string[]) =>
      answer(400, { errors: parameters.map((parameter) => ({ code: 'INVALID_PARAMETER', parameter, message: 'no' })) });
    expect(x.verdict(refused('identifiers.1.hashed_phone_number'), 1)).toMatchObject({
      ...{ kind: 'without', identifiers: ['phone'], reason: expect.stringContaining('INVALID_PARAMETER') },
    });
    expect(x.verdict(refused('hashed_phone_number'), 3)).toMatchObject({ kind: 'split' });
    expect(x.verdict(refused('hashed_email', 'value'), 1)).toMatchObject({ kind: 'rejected' });
  });

  it('skips a conversion without an identifier that X accepts alone', () => {
    for (const visit of [{ ip: '203.0.113.10' }, { userAgent: 'UA' }, {}])
      expect(x.payload(identifiedBy(visit), connection.settings)).toEqual({ skip: 'no_identifier' });
    expect(item(identifiedBy({ ip: '203.0.113.10', userAgent: 'UA' })).identifiers).toEqual([
      { ip_address: '203.0.113.10', user_agent: 'UA' },
    ]);
  });

  describe('payload', () => {
    it('contains IP address and user agent as one entry, and one of them only beside another identifier', () => {
      const visit = { clicks: {}, cookies: {}, utm: {} };
      const email = { hashed_email: withVisit.hashes.subject };
      const byAddress = { ...withVisit, visit: { ...visit, ip: '203.0.113.10' } };
      const byUserAgent = { ...withVisit, visit: { ...visit, userAgent: 'UA' } };
      expect(item(byAddress).identifiers).toEqual([{ ...email, ip_address: '203.0.113.10' }]);
      expect(item(byUserAgent).identifiers).toEqual([{ ...email, user_agent: 'UA' }]);
      expect(item({ ...byAddress, payloadVersion: 2 }).identifiers).toEqual([email]);
      expect(item({ ...withVisit, visit: { ...visit, ip: '203.0.113.10', userAgent: 'UA' } }).identifiers).toEqual([
        email,
        { ip_address: '203.0.113.10', user_agent: 'UA' },
      ]);
    });

    it('contains items and their number, with prices only in the configured currency', () => {
      const ordered: Conversion = SAMPLE_CONVERSIONS['by-phone'];
      expect(item({ ...ordered, value: undefined })).toMatchObject({ price_currency: 'EUR', number_items: 4 });
      const unpriced = item(ordered, { currency: 'USD' });
      expect(unpriced).not.toHaveProperty('price_currency');
      expect(unpriced.contents).toEqual([
        { content_id: 'SKU-1', content_name: 'Running shoe', content_type: 'Shoes > Running', num_items: 2 },
        { content_id: 'SKU-2', num_items: 1 },
        { content_id: 'SKU-3', num_items: 1 },
      ]);
    });

    it('contains neither external id nor address', () => {
      expect(JSON.stringify(item(SAMPLE_CONVERSIONS['with-details']))).not.toMatch(/Customer-42|90001|Angeles/);
    });

    it('leaves out an amount in another currency than the configured one', () => {
      expect(item(withVisit, { currency: 'EUR' }).value).toBe('129.90');
      const withoutAmount = item(SAMPLE_CONVERSIONS.yen, { currency: 'EUR' });
      expect(withoutAmount).not.toHaveProperty('value');
      expect(withoutAmount).not.toHaveProperty('price_currency');
      expect(item(SAMPLE_CONVERSIONS.yen)).toMatchObject({ value: '1000', price_currency: 'JPY' });
    });
  });

  it('sends several payloads byte for byte to the URL of the pixel', () => {
    expect(x.request(['{ "a": 1 }', '{"b":2}', '{"c":3}'], { connection, nowMs: 0 })).toMatchObject({
      url: 'https://ads-api.x.com/12/measurement/conversions/o8z6j',
      body: '{"conversions":[{ "a": 1 },{"b":2},{"c":3}]}',
    });
  });

  describe('verdict', () => {
    it('compares the number of processed conversions', () => {
      expect(x.verdict(answer(200, processed(1)), 1)).toEqual({ kind: 'delivered', requestId: 'D-1' });
      expect(x.verdict(answer(200, processed(3)), 3)).toEqual({ kind: 'delivered', requestId: 'D-1' });
      expect(x.verdict(answer(200, processed(2)), 3)).toMatchObject({ kind: 'split', reason: 'processed 2 of 3' });
      expect(x.verdict(answer(200, processed(0)), 1)).toMatchObject({ kind: 'rejected', reason: 'processed 0 of 1' });
    });

    describe('on an error as a 400', () => {
      describeErrorTable(
        ERRORS,
        {
          unauthorized: [
            ...['UNAUTHORIZED_ACCESS', 'UNAUTHORIZED_CLIENT_APPLICATION', 'READONLY_CLIENT_APPLICATION'],
            ...['ACCOUNT_NOT_FOUND', 'ACCOUNT_LOCKED_OUT', 'CURRENT_USER_SUSPENDED', 'USER_NOT_FOUND'],
          ],
          misconfigured: ['ROUTE_NOT_FOUND'],
        },
        { rejected: ['INVALID_PARAMETER', 'MISSING_PARAMETER', 'NOT_FOUND', 'WEB_EVENT_TAG_NOT_FOUND'] },
        (code) => x.verdict(answer(400, error(String(code))), 1) as Verdict,
      );
    });

    it.each([400, 404, 413])('splits a batch after a %i', (status) => {
      expect(x.verdict(answer(status, error('INVALID_PARAMETER')), 3)).toMatchObject({ kind: 'split' });
    });

    it.each<[Record<string, string>, number | undefined]>([
      [{ 'x-rate-limit-reset': '1772360191' }, 60_000],
      [{ 'x-account-rate-limit-reset': '1772360251' }, 120_000],
      [{ 'x-rate-limit-reset': '1772360191', 'retry-after': '90' }, 90_000],
      [{ 'x-rate-limit-reset': '1772360191000' }, 900_000],
      [{ 'x-rate-limit-reset': '1' }, undefined],
      [{ 'x-rate-limit-reset': 'soon' }, undefined],
    ])('on a 429 with %j waits %p ms', (headers, afterMs) => {
      const response = answer(429, '', { date: 'Sun, 01 Mar 2026 10:15:31 GMT', ...headers });
      expect(x.verdict(response, 1)).toEqual({ kind: 'retry', reason: 'throttled', afterMs });
    });
  });

  it('requires event ids and refuses custom fields', () => {
    const check = (settings: Record<string, string>) => x.check?.({ settings, secrets: {} });
    expect(check(connection.settings)).toBeUndefined();
    expect(check({ 'event.lead': 'our lead' })).toMatch(/^event\.lead must be the id/);
    expect(check({ 'field.order': 'orderId' })).toMatch(/^field\.order: X accepts no custom fields/);
  });
});
