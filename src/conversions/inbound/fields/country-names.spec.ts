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
    ['États-Unis', 'US'],
    ['Etats-Unis', 'US'],
    ['Angleterre', 'GB'],
    ['Hollande', 'NL'],
    ['America', 'US'],
    ['Vatican City', 'VA'],
    ['Bosnia', 'BA'],
    ['Bosnia & Herzegovina', 'BA'],
    ['Trinidad & Tobago', 'TT'],
    ['East Timor', 'TL'],
    ['Republic of Ireland', 'IE'],
    ['St. Martin', 'MF'],
    ['KSA', 'SA'],
    ['Grossbritannien', 'GB'],
    ['Großbritannien', 'GB'],
    ['Inglaterra', 'GB'],
    ['Corea del Sur', 'KR'],
    ['Gran Bretagna', 'GB'],
    ['中國', 'CN'],
    ['台灣', 'TW'],
    ['한국', 'KR'],
    ['日本国', 'JP'],
    ['ประเทศไทย', 'TH'],
    ['ລາວ', 'LA'],
    ['မြန်မာ', 'MM'],
    ['عمان', 'OM'],
    ['المملكة العربية السعودية', 'SA'],
    ['الإمارات', 'AE'],
    ['ශ්‍රී ලංකාව', 'LK'],
    ['Shqipëria', 'AL'],
    ['Lëtzebuerg', 'LU'],
    ['Føroyar', 'FO'],
    ['Kalaallit Nunaat', 'GL'],
    ['Pilipinas', 'PH'],
    ['Madagasikara', 'MG'],
    ['La Réunion', 'RE'],
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
