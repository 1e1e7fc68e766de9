import { differenceRows, differenceText, isShadowResult } from './shadow-view.js';

const NOTHING = { was: {}, would: {}, changes: [] };
const RESULT = {
  conversions: { ...NOTHING, changes: [{ was: 'received', would: 'deduplicated', count: 3 }] },
  platforms: {
    meta: {
      ...NOTHING,
      changes: [{ was: 'sent', would: 'skipped: event_not_selected', count: 32 }],
      payloadsChanged: 2,
    },
    x: { ...NOTHING, payloadsChanged: 0 },
  },
  undecided: 0,
};

describe('the result of a shadow replay', () => {
  it('is a row for each kind of change', () => {
    expect(differenceRows(RESULT)).toEqual([
      { of: 'Conversions', was: 'received', would: 'deduplicated', count: 3 },
      { of: 'Meta', was: 'sent', would: 'skipped: event_not_selected', count: 32 },
      { of: 'Meta', was: 'sent', would: 'sent with another payload', count: 2 },
    ]);
    expect(differenceText(RESULT)).toBe('37 would differ');
  });

  it('may be no difference', () => {
    expect(differenceText({ conversions: NOTHING, platforms: {}, undecided: 0 })).toBe('No difference');
  });

  it('is told from that of other jobs', () => {
    expect(isShadowResult(RESULT)).toBe(true);
    expect(isShadowResult({ requested: 1 })).toBe(false);
    expect(isShadowResult(undefined)).toBe(false);
  });
});
