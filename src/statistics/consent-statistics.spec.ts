import type { PageRow } from '../log/projections/reducer.js';
import { CONSENT } from './consent-statistics.js';

const QUARTER = '2026-03-01T10:15:00.000Z';

function countsOf(type: string, data: object) {
  const row = { site: 'shop.example', type, timeMs: Date.parse('2026-03-01T10:16:00Z'), data: () => data } as unknown;
  const counts = CONSENT.start();
  CONSENT.add(counts, row as PageRow);
  return counts;
}

describe('statistics of consent', () => {
  const of = { site: 'shop.example', quarter: QUARTER };

  it.each([
    ['conversion.rejected.v1', 'UNKNOWN_CONSENT'],
    ['conversion.rejected.v1', 'NO_CONSENT'],
    ['conversion.rejected.v1', 'delivered, but not to 222: NO_CONSENT'],
    ['conversion.failed.v1', 'NO_CONSENT at consent'],
  ])('count a conversion that Google refused because it does not know the consent: %s %s', (type, reason) => {
    expect(countsOf(type, { platform: 'google_ads:second', reason })).toEqual([
      { ...of, platform: 'google_ads:second', unknown: 1 },
    ]);
  });

  it('count no other refusal, no correction, and no such word of another platform', () => {
    const refused = { platform: 'google_ads', reason: 'NO_CONSENT' };
    expect(countsOf('conversion.rejected.v1', { ...refused, reason: 'DENIED_CONSENT' })).toEqual([]);
    expect(countsOf('conversion.rejected.v1', { ...refused, uncounted: true })).toEqual([]);
    expect(countsOf('conversion.failed.v1', { ...refused, platform: 'meta' })).toEqual([]);
    expect(countsOf('conversion.failed.v1', { platform: 'google_ads' })).toEqual([]);
  });

  it('count visitors from Europe who have not consented', () => {
    const stated = (ad_storage: string, europe?: true) =>
      countsOf('visitor.consent_changed.v1', { consent: { ad_storage }, europe });
    expect(stated('denied', true)).toEqual([{ ...of, platform: '', denials: 1 }]);
    expect(stated('denied')).toEqual([]);
    expect(stated('granted', true)).toEqual([]);
  });
});
