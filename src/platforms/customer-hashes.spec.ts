import { externalIdHash, joinedOf, latinOf, sha256Of, twoLettersOf } from './customer-hashes.js';

/** SHA-256 of `ca`. */
const HASH = '6959097001d10501ac7d54c0bdb8db61420f658f2922cc26e46d536119a31126';

describe('sha256Of', () => {
  it('hashes a text, but not an empty one', () => {
    expect(sha256Of('ca')).toBe(HASH);
    expect(sha256Of('')).toBeUndefined();
    expect(sha256Of(undefined)).toBeUndefined();
  });
});

describe('externalIdHash', () => {
  it('hashes an id as it is, or in the form of the platform', () => {
    expect(externalIdHash('ca')).toBe(HASH);
    expect(externalIdHash('CA')).not.toBe(HASH);
    expect(externalIdHash('CA', (id) => id.toLowerCase())).toBe(HASH);
    expect(externalIdHash(undefined)).toBeUndefined();
  });

  it('keeps an id that is a hash already', () => {
    expect(externalIdHash(HASH.toUpperCase())).toBe(HASH);
    expect(externalIdHash(HASH.slice(1))).not.toBe(HASH.slice(1));
  });
});

describe('latinOf', () => {
  it.each([
    ['Los Angeles', 'losangeles'],
    ["L'Haÿ-les-Roses", 'lhalesroses'],
    ['St. Louis', 'stlouis'],
    ['NSW', 'nsw'],
    ['東京', undefined],
    ['6th of October', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('shortens %j to %j', (text, expected) => {
    expect(latinOf(text)).toBe(expected);
  });
});

describe('joinedOf', () => {
  it.each([
    ["L'Haÿ-les-Roses", 'lhaÿlesroses'],
    ['SW1A 1AA', 'sw1a1aa'],
    ['東京', '東京'],
    ['---', ''],
    [undefined, undefined],
  ])('shortens %j to %j', (text, expected) => {
    expect(joinedOf(text)).toBe(expected);
  });
});

describe('twoLettersOf', () => {
  it.each([
    ['CA', 'ca'],
    ['NSW', undefined],
    ['Bayern', undefined],
    ['75', undefined],
    [undefined, undefined],
  ])('converts %j to %j', (text, expected) => {
    expect(twoLettersOf(text)).toBe(expected);
  });
});
