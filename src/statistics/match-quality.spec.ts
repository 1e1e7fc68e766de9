import { countCarried, noCounts } from './identifier-counts.js';
import { type CarriedCount, qualityOf } from './match-quality.js';

const USED = ['click_id', 'phone', 'city'].map((identifier) => ({
  identifier,
  anyOf: identifier === 'click_id' ? ['gclid', 'gbraid', 'wbraid'] : [identifier],
}));
function carried(conversions: number, ...identifiers: string[]): CarriedCount {
  const counts = noCounts();
  for (let counted = 0; counted < conversions; counted += 1)
    countCarried(counts, { identifiers, matched: identifiers.includes('gclid') }, 1);
  return { platforms: ['google_ads'], conversions, carried: counts };
}

describe('qualityOf', () => {
  it('counts what the conversions of a connection carried', () => {
    const counts = [
      carried(6, 'gclid', 'phone'),
      carried(2, 'wbraid'),
      carried(2, 'city', 'phone'),
      { ...carried(100), platforms: ['meta', 'google_ads:second'] },
    ];
    expect(qualityOf('google_ads', USED, counts)).toEqual({
      platform: 'google_ads',
      conversions: 10,
      matched: 6,
      matchRate: 0.6,
      identifiers: [
        { identifier: 'click_id', carried: 8, share: 0.8 },
        { identifier: 'phone', carried: 8, share: 0.8 },
        { identifier: 'city', carried: 2, share: 0.2 },
      ],
      helpsMost: { identifier: 'city', missing: 8 },
    });
  });

  it('prefers an identifier that finds a person alone', () => {
    const { helpsMost } = qualityOf('google_ads', USED, [carried(6, 'gclid'), carried(4, 'gclid', 'phone', 'city')]);
    expect(helpsMost).toEqual({ identifier: 'phone', missing: 6 });
  });

  it('has no shares without conversions', () => {
    expect(qualityOf('google_ads', USED, [])).toMatchObject({ conversions: 0, matchRate: null, helpsMost: null });
  });
});
