import { answerOf, describeCorrectionFixtures } from '../../../test/support/correction-fixtures.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import { double } from '../../sandbox/doubles/ga4.js';
import type { Conversion, CorrectedOrder } from '../conversion.js';
import { platform as ga4 } from './index.js';

const CONNECTION = {
  settings: { measurement_id: 'G-ABC123', refund_event: 'refund' },
  secrets: { api_secret: 'secret' },
};
const REFUND: Conversion = { ...SAMPLE_CONVERSIONS['with-click-id'], event: 'refund', value: 30 };
const ITEMS: Conversion = { ...REFUND, items: [{ id: 'SKU-1', quantity: 1, price: 30 }] };
const ORDER: CorrectedOrder = {
  ...{ eventId: 'ORD-1001', event: 'purchase', currency: 'EUR', refunded: 30, remaining: 99.9 },
  timeMs: Date.parse('2026-02-20T10:15:30Z'),
  correctedMs: Date.parse('2026-03-01T10:15:30Z'),
};

describeCorrectionFixtures(ga4, {
  'correction-partial': [ITEMS, ORDER, CONNECTION],
  'correction-full': [{ ...REFUND, value: undefined }, { ...ORDER, refunded: 129.9, remaining: 0 }, CONNECTION],
});

describe('a correction at ga4', () => {
  it('is accepted by the double, and several of one transaction are no duplicates', () => {
    const later = { ...REFUND, timeMs: REFUND.timeMs + 1_000 };
    const received = [ITEMS, later].flatMap(
      (refund) => answerOf(double, ga4, [refund, ORDER, CONNECTION], REFUND.timeMs + 2_000).received,
    );
    expect(received).toMatchObject([
      { event: 'refund', eventId: 'ORD-1001', problems: [], accepted: true },
      { event: 'refund', eventId: 'ORD-1001', problems: [], accepted: true },
    ]);
    expect(new Set(received.map((item) => item?.dedupKey)).size).toBe(2);
  });

  it('has no amount if that of the order is not known', () => {
    const order = { ...ORDER, refunded: undefined, remaining: 0 };
    expect(JSON.stringify(ga4.correction?.(REFUND, order, CONNECTION.settings))).not.toMatch(/"(value|currency)"/);
  });
});
