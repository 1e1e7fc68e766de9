import { answerOf } from '../../../test/support/correction-fixtures.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import { platform } from '../../platforms/google_ads/index.js';
import { type Memory, sandboxRequest } from '../double.js';
import { double as googleAds } from './google_ads.js';

const ACTION = 'customers/1234567890/conversionActions/987';
const HEADERS = { authorization: 'Bearer token', 'content-type': 'application/json', 'developer-token': 'token' };
const DAY_MS = 86_400_000;
const CONVERTED_MS = Date.parse('2026-03-01T10:15:30Z');
const NOW_MS = CONVERTED_MS + 2 * DAY_MS;

const conversion = {
  ...{ gclid: 'GCLID', conversionAction: ACTION, conversionDateTime: '2026-03-01 10:15:30+00:00', orderId: 'ORD-1' },
  ...{ conversionValue: 100, currencyCode: 'EUR' },
};
const restatement = {
  ...{ conversionAction: ACTION, adjustmentType: 'RESTATEMENT', orderId: 'ORD-1' },
  ...{ adjustmentDateTime: '2026-03-02 08:00:00+00:00', restatementValue: { adjustedValue: 70, currencyCode: 'EUR' } },
};
const { restatementValue: _, ...withoutValue } = restatement;
const retraction = { ...withoutValue, adjustmentType: 'RETRACTION', adjustmentDateTime: '2026-03-02 09:00:00+00:00' };

describe('double of google_ads: adjustments', () => {
  let memory: Memory;
  beforeEach(() => {
    memory = new Map();
    upload('ClickConversions', { conversions: [conversion] });
  });

  function upload(method: string, list: object, nowMs = NOW_MS) {
    const call = { headers: HEADERS, body: JSON.stringify({ ...list, partialFailure: true }), nowMs, memory };
    const answer = googleAds.answer(sandboxRequest('POST', `/v25/customers/1234567890:upload${method}`, call));
    return { ...answer, json: JSON.parse(answer.body) };
  }
  const adjust = (adjustment: object, nowMs?: number) =>
    upload('ConversionAdjustments', { conversionAdjustments: [adjustment] }, nowMs);
  const codeOf = ({ json }: ReturnType<typeof adjust>) =>
    json.partialFailureError?.details[0].errors[0].errorCode.conversionAdjustmentUploadError;

  it('accepts a restatement, then a retraction', () => {
    expect(adjust(restatement)).toMatchObject({
      json: { results: [{ conversionAction: ACTION, adjustmentType: 'RESTATEMENT', orderId: 'ORD-1' }] },
      received: [{ event: '987 RESTATEMENT', eventId: 'ORD-1', accepted: true, problems: [] }],
    });
    expect(codeOf(adjust(retraction))).toBeUndefined();
    expect(codeOf(adjust({ ...retraction, adjustmentDateTime: '2026-03-02 10:00:00+00:00' }))).toBe(
      'CONVERSION_ALREADY_RETRACTED',
    );
  });

  it.each([
    ['another order', { orderId: 'ORD-2' }, 'CONVERSION_NOT_FOUND'],
    ['another action', { conversionAction: `${ACTION}1` }, 'CONVERSION_NOT_FOUND'],
    [
      'an action of another customer',
      { conversionAction: 'customers/1/conversionActions/987' },
      'NO_CONVERSION_ACTION_FOUND',
    ],
    [
      'a time before the conversion',
      { adjustmentDateTime: '2026-03-01 10:15:30+00:00' },
      'ADJUSTMENT_PRECEDES_CONVERSION',
    ],
    ['a time in ISO format', { adjustmentDateTime: '2026-03-02T08:00:00Z' }, 'INVALID_DATE_TIME'],
    ['a restatement without a value', { restatementValue: undefined }, 'INVALID_VALUE'],
    ['a retraction with a value', { adjustmentType: 'RETRACTION' }, 'VALUE_MUST_BE_UNSET'],
    ['an unknown type', { adjustmentType: 'REFUND', restatementValue: undefined }, 'INVALID_ARGUMENT'],
    ['an unknown field', { value: 1 }, 'INVALID_ARGUMENT'],
    ['two identifiers', { gclidDateTimePair: {} }, 'GCLID_DATE_TIME_PAIR_AND_ORDER_ID_BOTH_SET'],
    ['an email address as the order', { orderId: 'jane@example.com' }, 'ORDER_ID_CONTAINS_PII'],
  ])('refuses %s', (_, change, code) => {
    const answer = adjust({ ...restatement, ...change });
    expect(codeOf(answer)).toBe(code);
    expect(answer).toMatchObject({ json: { results: [{}] }, received: [{ accepted: false }] });
  });

  it('accepts adjustments from one day to 54 days after the conversion', () => {
    expect(codeOf(adjust(restatement, CONVERTED_MS + DAY_MS - 1))).toBe('TOO_RECENT_CONVERSION');
    expect(codeOf(adjust(restatement, CONVERTED_MS + 54 * DAY_MS + 1))).toBe('CONVERSION_EXPIRED');
    expect(codeOf(adjust(restatement, CONVERTED_MS + DAY_MS))).toBeUndefined();
  });

  it('refuses a restatement that is not newer than the last', () => {
    adjust(restatement);
    expect(codeOf(adjust(restatement))).toBe('RESTATEMENT_ALREADY_EXISTS');
    expect(codeOf(adjust({ ...restatement, adjustmentDateTime: '2026-03-02 07:00:00+00:00' }))).toBe(
      'MORE_RECENT_RESTATEMENT_FOUND',
    );
  });

  it('accepts what the service sends', () => {
    const settings = { customer_id: '1234567890', mode: 'upload', 'event.purchase': '987', refund_event: 'refund' };
    const order = {
      ...{ eventId: 'ORD-1', event: 'purchase', currency: 'EUR', refunded: 30, remaining: 70 },
      ...{ timeMs: CONVERTED_MS, correctedMs: CONVERTED_MS + DAY_MS },
    };
    const sample = [
      SAMPLE_CONVERSIONS['hashed-only'],
      order,
      { settings, secrets: { developer_token: 'token' } },
    ] as const;
    expect(answerOf(googleAds, platform, sample, NOW_MS, memory).received).toMatchObject([
      { accepted: true, problems: [] },
    ]);
  });
});
