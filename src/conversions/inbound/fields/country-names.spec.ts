import { readCountryName } from './country-names.js';

describe('readCountryName', () => {
  it.each([
    ['de', 'DE'],
    [' DEU ', 'DE'],
    ['Deutschland', 'DE'],
    ['Allemagne', 'DE'],
    ['United States of America', 'US'],
    ['U.S.A.', 'US'],
    ['United Kingdom', 'GB'],
    ['UK', 'GB'],
    ['England', 'GB'],
    ['The Netherlands', 'NL'],
    ['Česko', 'CZ'],
    ['Türkiye', 'TR'],
    ['日本', 'JP'],
    ['South Korea', 'KR'],
    ['Kosovo', 'XK'],
    ['XKX', 'XK'],
  ])('reads %s', (text, code) => {
    expect(readCountryName(text)).toBe(code);
  });

  it.each(['', '?', 'Atlantis', 'EU', 'ZZ', 'ABC', '49', 'x'.repeat(101), 'Congo'])(
    'reads no country from %j',
    (text) => {
      expect(readCountryName(text)).toBeUndefined();
    },
  );
});
