import { jest } from '@jest/globals';
import { PasswordHasher, TooManyPasswords } from './password.js';

// A password at full cost takes seconds while other suites use all processors.
jest.setTimeout(60_000);

/** Cheap, so that the test is. */
const COST = { N: 2 ** 10, r: 8, p: 1 };

describe('passwords', () => {
  it('match their hash only, also in another Unicode form', async () => {
    const hasher = new PasswordHasher();
    const stored = await hasher.hash('na\u00efve caf\u00e9 42');
    expect(stored).toMatch(/^scrypt\$32768\$8\$3\$/);
    expect(await hasher.matches('nai\u0308ve cafe\u0301 42', stored)).toBe(true);
    expect(await hasher.matches('naive cafe 42', stored)).toBe(false);
    expect(await hasher.matches('', null)).toBe(false);
    expect(await new PasswordHasher(COST).matches('na\u00efve caf\u00e9 42', stored)).toBe(true);
  });

  it('are refused when too many wait to be hashed, and hashed again afterwards', async () => {
    const hasher = new PasswordHasher(COST);
    const results = await Promise.allSettled(Array.from({ length: 23 }, () => hasher.matches('a', undefined)));
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused.map(({ reason }) => reason)).toEqual([expect.any(TooManyPasswords)]);
    expect(await hasher.matches('a', undefined)).toBe(false);
  });
});
