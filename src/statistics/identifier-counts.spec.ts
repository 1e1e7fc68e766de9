import { PLATFORMS } from '../platforms/index.js';
import { carriedOf, countCarried, matchedOf, noCounts } from './identifier-counts.js';
import { usedIdentifiers } from './used-identifiers.js';

describe('the counts of identifiers', () => {
  it.each(PLATFORMS.map((platform) => [platform.name, platform] as const))(
    'include all that %s uses',
    (_, platform) => {
      for (const used of usedIdentifiers(platform, {})) expect(carriedOf(noCounts(), used)).toBe(0);
    },
  );

  it('count a conversion with several click ids of a set once', () => {
    const counts = noCounts();
    countCarried(counts, { identifiers: ['email', 'gclid', 'wbraid', 'unheard_of'], matched: true }, 2);
    expect(carriedOf(counts, { anyOf: ['gclid', 'gbraid', 'wbraid'] })).toBe(2);
    expect(carriedOf(counts, { anyOf: ['wbraid'] })).toBe(2);
    expect(carriedOf(counts, { anyOf: ['fbclid'] })).toBe(0);
    expect(matchedOf(counts)).toBe(2);
    countCarried(counts, { identifiers: ['email', 'gclid', 'wbraid'], matched: true }, -2);
    expect(counts).toEqual(noCounts());
  });

  it('do not guess for a set that is not counted', () => {
    expect(() => carriedOf(noCounts(), { anyOf: ['gclid', 'fbclid'] })).toThrow(/no count/);
  });
});
