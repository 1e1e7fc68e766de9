import { deniesIn, readDefaultRegions } from './default-regions.js';

describe('the regions of a default', () => {
  it('are read from untrusted input', () => {
    expect(
      readDefaultRegions({ denied: ['DE', 'US-CA', 'germany', 1, null], granted: 'US', elsewhere: 'yes' }),
    ).toEqual({
      denied: ['DE', 'US-CA'],
      granted: [],
      elsewhere: false,
    });
    expect(readDefaultRegions({ denied: Array(1_000).fill('DE') })?.denied).toHaveLength(300);
    // Without a region, the default applies everywhere.
    for (const nothing of [undefined, null, 'DE', [], {}, { elsewhere: true }])
      expect(readDefaultRegions(nothing)).toBeUndefined();
  });

  it.each([
    ['a country that is named', 'DE', { denied: ['DE'] }, true],
    ['another country', 'US', { denied: ['DE'] }, false],
    ['a country of which a part is named', 'US', { denied: ['US-CA'] }, true],
    ['a country that is excepted', 'US', { granted: ['US'], elsewhere: true }, false],
    ['a country of which a part is excepted', 'US', { granted: ['US-NY'], elsewhere: true }, true],
    ['a country beside the exceptions', 'DE', { granted: ['US'], elsewhere: true }, true],
  ])('decide for %s', (_, country, regions, isDenied) => {
    expect(deniesIn(country, { denied: [], granted: [], elsewhere: false, ...regions })).toBe(isDenied);
  });
});
