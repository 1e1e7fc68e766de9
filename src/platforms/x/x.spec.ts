import { answer, itNeedsMoreThanA200 } from '../../../test/support/platform-answers.js';
import { itChecksFields } from '../../../test/support/platform-fields.js';
import { describeGoldens } from '../../../test/support/platform-goldens.js';
import { itTellsNoClickButItsOwn, sentItem } from '../../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion } from '../conversion.js';
import type { Connection } from '../platform.js';
import { x } from './index.js';

const connection: Connection = {
  settings: { pixel_id: 'o8z6j', 'event.purchase': 'tw-o8z6j-o87ne', 'event.lead': 'o87nf' },
  secrets: { pixel_token: 'token' },
};
const CALL = { connection, nowMs: 0 };
const WITH_VISIT: Conversion = SAMPLE_CONVERSIONS['with-click-id'];

const itemOf = (conversion: Conversion, settings = {}) =>
  sentItem(x, conversion, { ...connection.settings, ...settings });

describe('x', () => {
  describeGoldens(x, connection);

  it('skips an event that has no id at X', () => {
    for (const event of ['signup', 'Booked a demo', 'toString']) {
      expect(x.payload({ ...WITH_VISIT, event }, connection.settings)).toEqual({ skip: 'event_not_mapped' });
    }
  });

  it('sends address and browser together or not at all', () => {
    const visit = { clicks: {}, cookies: {}, utm: {} };
    const email = { hashed_email: WITH_VISIT.hashes.subject };
    expect(itemOf({ ...WITH_VISIT, visit: { ...visit, ip: '203.0.113.10' } }).identifiers).toEqual([email]);
    expect(itemOf({ ...WITH_VISIT, visit: { ...visit, userAgent: 'UA' } }).identifiers).toEqual([email]);
    expect(itemOf({ ...WITH_VISIT, visit: { ...visit, ip: '203.0.113.10', userAgent: 'UA' } }).identifiers).toEqual([
      email,
      { ip_address: '203.0.113.10', user_agent: 'UA' },
    ]);
  });

  itTellsNoClickButItsOwn(x, connection.settings, 'twclid');

  it('leaves out an amount that is not in the currency of the events, where that is set', () => {
    expect(itemOf(WITH_VISIT, { currency: 'EUR' }).value).toBe('129.90');
    expect(itemOf(SAMPLE_CONVERSIONS.yen, { currency: 'EUR' })).not.toHaveProperty('value');
    expect(itemOf(SAMPLE_CONVERSIONS.yen).value).toBe('1000');
  });

  it('puts several conversions into one call, byte for byte', () => {
    expect(x.request(['{ "a": 1 }', '{"b":2}', '{"c":3}'], CALL)).toMatchObject({
      url: 'https://ads-api.x.com/12/measurement/conversions/o8z6j',
      body: '{"conversions":[{ "a": 1 },{"b":2},{"c":3}]}',
    });
  });

  it('follows an endpoint and a version', () => {
    const settings = { ...connection.settings, api_version: '13' };
    const call = { ...CALL, connection: { ...connection, settings, endpoint: 'http://127.0.0.1:9/x' } };
    expect(x.request(['{}'], call).url).toBe('http://127.0.0.1:9/x/13/measurement/conversions/o8z6j');
  });

  describe('the answer', () => {
    const processed = (conversions_processed: unknown) => ({
      request: { params: { account_id: 'A' } },
      data: { conversions_processed, debug_id: 'D-1' },
    });
    const error = (code: string) => ({ errors: [{ code, parameter: 'event_id', message: 'is wrong' }], request: {} });

    it('counts what was taken', () => {
      expect(x.verdict(answer(200, processed(1)), 1)).toEqual({ kind: 'delivered', requestId: 'D-1' });
      expect(x.verdict(answer(200, processed(3)), 3)).toEqual({ kind: 'delivered', requestId: 'D-1' });
      expect(x.verdict(answer(200, processed(2)), 3)).toMatchObject({ kind: 'split', reason: 'processed 2 of 3' });
      expect(x.verdict(answer(200, processed(0)), 1)).toMatchObject({ kind: 'rejected', reason: 'processed 0 of 1' });
    });

    it.each<[number, string | object, object]>([
      [400, error('INVALID_PARAMETER'), { kind: 'rejected', reason: 'INVALID_PARAMETER: event_id: is wrong' }],
      [400, '<html>', { kind: 'rejected', reason: 'HTTP 400' }],
      [400, error('ACCOUNT_NOT_FOUND'), { kind: 'unauthorized' }],
      [401, error('UNAUTHORIZED_ACCESS'), { kind: 'unauthorized', reason: 'UNAUTHORIZED_ACCESS: event_id: is wrong' }],
      [401, '', { kind: 'unauthorized', reason: 'HTTP 401' }],
      [403, '<html>', { kind: 'unauthorized' }],
      [404, error('NOT_FOUND'), { kind: 'rejected' }],
      [404, error('ACCOUNT_NOT_FOUND'), { kind: 'unauthorized' }],
      [408, error('CANCELLED_REQUEST'), { kind: 'retry', reason: 'server_error' }],
      [429, error('TOO_MANY_REQUESTS'), { kind: 'retry', reason: 'throttled', afterMs: undefined }],
      [500, error('INTERNAL_ERROR'), { kind: 'retry', reason: 'server_error' }],
      [503, '<html>', { kind: 'retry', reason: 'server_error' }],
      [302, '', { kind: 'rejected' }],
    ])('%i %j', (status, body, verdict) => {
      expect(x.verdict(answer(status, body), 1)).toMatchObject(verdict);
    });

    it.each([400, 404, 413])('%i to a batch: halves are tried', (status) => {
      expect(x.verdict(answer(status, error('INVALID_PARAMETER')), 3)).toMatchObject({ kind: 'split' });
    });

    it.each<[Record<string, string>, number | undefined]>([
      [{ 'x-rate-limit-reset': '1772360191' }, 60_000],
      [{ 'x-account-rate-limit-reset': '1772360251' }, 120_000],
      [{ 'x-rate-limit-reset': '1772360191', 'retry-after': '90' }, 90_000],
      [{ 'x-rate-limit-reset': '1772360191000' }, 900_000],
      [{ 'x-rate-limit-reset': '1' }, undefined],
      [{ 'x-rate-limit-reset': 'soon' }, undefined],
    ])('429 with %j: not before %p', (headers, afterMs) => {
      const response = answer(429, '', { date: 'Sun, 01 Mar 2026 10:15:31 GMT', ...headers });
      expect(x.verdict(response, 1)).toEqual({ kind: 'retry', reason: 'throttled', afterMs });
    });

    itNeedsMoreThanA200((response) => x.verdict(response, 1), { data: { debug_id: 'D' } }, processed('1'), {
      ...processed(1),
      ...error('OVER_CAPACITY'),
    });
  });

  describe('settings', () => {
    itChecksFields(
      x,
      ['pixel_id', 'o8z6j', 'o8/../j'],
      ['pixel_token', 'abc', 'two words'],
      ['currency', 'EUR', 'euro'],
      ['api_version', '12', 'v12'],
    );

    it('map events to ids, and have no fields', () => {
      const check = (settings: Record<string, string>) => x.check?.({ settings, secrets: {} });
      expect(check(connection.settings)).toBeUndefined();
      expect(check({ 'event.lead': 'our lead' })).toMatch(/^event\.lead must be the id/);
      expect(check({ 'field.order': 'orderId' })).toMatch(/^field\.order: X takes no fields/);
    });
  });
});
