import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { apiKeyPrefix, generateApiKey, hashApiKey, looksLikeApiKey } from './api-key.js';

const secret = fc.uint8Array({ minLength: 32, maxLength: 32 });
const key = secret.map((bytes) => generateApiKey(() => bytes));
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function withChecksum(text: string): string {
  const digits = [5, 4, 3, 2, 1, 0].map((power) => alphabet[Math.floor(crc32(text) / 62 ** power) % 62]);
  return text + digits.join('');
}

describe('API key', () => {
  it('consists of cc_, a 43-character secret and a 6-character checksum', () =>
    fc.assert(
      fc.property(key, (text) => {
        expect(text).toMatch(/^cc_[0-9A-Za-z]{49}$/);
        expect(looksLikeApiKey(text)).toBe(true);
      }),
    ));

  it('has the same length for the smallest and the largest secret', () => {
    expect(generateApiKey(() => new Uint8Array(32))).toBe(`cc_${'0'.repeat(43)}1m4mnR`);
    expect(generateApiKey(() => new Uint8Array(32).fill(255))).toHaveLength(52);
    expect(looksLikeApiKey(withChecksum(`cc_${'z'.repeat(43)}`))).toBe(true);
  });

  it('differs on each call', () => {
    expect(generateApiKey()).not.toBe(generateApiKey());
  });

  it('differs for different secrets', () =>
    fc.assert(
      fc.property(secret, secret, (one, other) => {
        fc.pre(Buffer.compare(one, other) !== 0);
        expect(generateApiKey(() => one)).not.toBe(generateApiKey(() => other));
      }),
    ));

  it('detects a changed character', () =>
    fc.assert(
      fc.property(key, fc.nat(51), fc.constantFrom(...alphabet, ' ', '_', '-', 'é'), (text, at, other) => {
        fc.pre(text[at] !== other);
        expect(looksLikeApiKey(text.slice(0, at) + other + text.slice(at + 1))).toBe(false);
      }),
      { numRuns: 2_000 },
    ));

  it('detects two swapped characters', () =>
    fc.assert(
      fc.property(key, fc.nat(51), fc.nat(51), (text, one, other) => {
        const characters = [...text];
        [characters[one], characters[other]] = [text.charAt(other), text.charAt(one)];
        fc.pre(characters.join('') !== text);
        expect(looksLikeApiKey(characters.join(''))).toBe(false);
      }),
      { numRuns: 2_000 },
    ));

  it('detects missing and extra characters', () => {
    const text = generateApiKey();
    for (const wrong of [
      '',
      'cc_',
      text.slice(1),
      text.slice(0, -1),
      `${text} `,
      ` ${text}`,
      text.repeat(2),
      `${text}\n`,
    ]) {
      expect(looksLikeApiKey(wrong)).toBe(false);
    }
  });

  it.each(['xx_', 'CC_', 'cc-'])('rejects the prefix %s even if the checksum is correct', (prefix) => {
    expect(looksLikeApiKey(withChecksum(prefix + '0'.repeat(43)))).toBe(false);
  });

  it.each(['-', '_', ' ', 'é', '\n'])('rejects the character %j even if the checksum is correct', (character) => {
    expect(looksLikeApiKey(withChecksum(`cc_${'0'.repeat(42)}${character}`))).toBe(false);
  });

  it('does not match random text', () =>
    fc.assert(fc.property(fc.string({ minLength: 52, maxLength: 52 }), (random) => !looksLikeApiKey(random))));

  it('is stored as a SHA-256 hash and displayed by its prefix', () => {
    expect(hashApiKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(apiKeyPrefix('cc_0123456789abcdef')).toBe('cc_01234567');
  });
});
