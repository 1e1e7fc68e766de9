import { describeCorrectionFixtures } from '../../../test/support/correction-fixtures.js';
import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import type { Conversion, CorrectedOrder } from '../conversion.js';
import type { Settings } from '../platform.js';
import { correction, limits } from './correction.js';
import { platform as googleAds } from './index.js';

const DAY_MS = 86_400_000;
const SETTINGS: Settings = {
  ...{ customer_id: '1234567890', client_id: 'client', refund_event: 'refund', 'event.purchase': '987654321' },
};
const UPLOAD: Settings = { ...SETTINGS, mode: 'upload' };
const SECRETS = { client_secret: 'secret', refresh_token: 'refresh', developer_token: 'developer' };

const REFUND: Conversion = { ...SAMPLE_CONVERSIONS['hashed-only'], event: 'refund' };
const ORDER: CorrectedOrder = {
  ...{ eventId: 'ORD-1001', event: 'purchase', currency: 'EUR', refunded: 30, remaining: 99.9 },
  timeMs: Date.parse('2026-03-01T10:15:30.250Z'),
  settledMs: Date.parse('2026-03-01T10:15:31Z'),
  correctedMs: Date.parse('2026-03-20T08:00:00Z'),
};
const FULL: CorrectedOrder = { ...ORDER, refunded: 129.9, remaining: 0 };

describeCorrectionFixtures(googleAds, {
  'correction-partial': [REFUND, ORDER, { settings: SETTINGS, secrets: SECRETS }],
  'correction-full': [REFUND, FULL, { settings: SETTINGS, secrets: SECRETS }],
  'correction-upload-partial': [REFUND, ORDER, { settings: UPLOAD, secrets: SECRETS }],
  'correction-upload-full': [REFUND, FULL, { settings: UPLOAD, secrets: SECRETS }],
});

describe('a correction at google_ads', () => {
  it.each([SETTINGS, UPLOAD])(
    'is skipped without the conversion action of the order, and after an opt-out',
    (settings) => {
      expect(correction(REFUND, { ...ORDER, event: 'lead' }, settings)).toEqual({ skip: 'event_not_mapped' });
      expect(correction({ ...REFUND, consent: 'denied' }, ORDER, settings)).toEqual({ skip: 'consent_denied' });
    },
  );

  it('adjusts all conversion actions of the event', () => {
    const several = { 'event.purchase': '1,2' };
    expect(correction(REFUND, ORDER, { ...SETTINGS, ...several })).toHaveProperty('group', '1,2');
    expect(correction(REFUND, ORDER, { ...UPLOAD, ...several })).toMatchObject({
      item: [{ conversionAction: expect.stringMatching(/\/1$/) }, { conversionAction: expect.stringMatching(/\/2$/) }],
      ...{ actions: ['1', '2'], group: 'adjustments' },
    });
  });

  it('needs an identifier at the Data Manager only', () => {
    const unidentified = { ...REFUND, hashes: { subject: '' } };
    expect(correction(unidentified, ORDER, SETTINGS)).toEqual({ skip: 'no_identifier' });
    expect(correction(unidentified, ORDER, UPLOAD)).toHaveProperty('item');
    expect(correction(REFUND, ORDER, { ...SETTINGS, require_click_id: 'yes' })).toHaveProperty('item');
  });

  it('is possible from one day to 54 days after the conversion with the upload', () => {
    const late = ORDER.timeMs + DAY_MS;
    expect(limits(UPLOAD, { order: ORDER })).toEqual({
      ...{ agesFromMs: ORDER.timeMs, ageMaxMs: 54 * DAY_MS, earliestMs: (ORDER.settledMs as number) + DAY_MS },
    });
    expect(limits(UPLOAD, { order: { timeMs: ORDER.timeMs } })).toMatchObject({ earliestMs: late });
    expect(limits(SETTINGS, { order: ORDER })).toEqual({});
    expect(limits(UPLOAD, {})).toEqual({});
  });
});
