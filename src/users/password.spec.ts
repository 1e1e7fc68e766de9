import { TooManyRequests } from '../kernel/errors.js';
import { type HashCaller, knownUser, PasswordHasher } from './password.js';

const USER = knownUser('ada');
const NETWORK = { id: '203.0.113.1', isKnown: false };

/** Cheap, so that the test is. */
const COST = { N: 2 ** 10, r: 8, p: 1 };

describe('passwords', () => {
  it('match their hash only, also in another Unicode form', async () => {
    const hasher = new PasswordHasher();
    const stored = await hasher.hash('na\u00efve caf\u00e9 42', USER);
    expect(stored).toMatch(/^scrypt\$32768\$8\$3\$/);
    expect(await hasher.matches('nai\u0308ve cafe\u0301 42', stored, NETWORK)).toBe(true);
    expect(await hasher.matches('naive cafe 42', stored, NETWORK)).toBe(false);
    expect(await hasher.matches('', null, NETWORK)).toBe(false);
    expect(await new PasswordHasher(COST).matches('na\u00efve caf\u00e9 42', stored, NETWORK)).toBe(true);
  });

  it('of one network are refused when too many wait, and those of others are checked', async () => {
    const hasher = new PasswordHasher(COST);
    const guess = (caller: HashCaller) => hasher.matches('a', undefined, caller);
    const guesses = Promise.allSettled(Array.from({ length: 40 }, () => guess(NETWORK)));
    const others = [guess({ id: '198.51.100.1', isKnown: false }), guess({ id: NETWORK.id, isKnown: true })];
    expect(await Promise.all(others)).toEqual([false, false]);
    const refused = (await guesses).filter((result) => result.status === 'rejected');
    expect(refused.map(({ reason }) => reason)).toEqual(Array(34).fill(expect.any(TooManyRequests)));
    expect(await guess(NETWORK)).toBe(false);
  });

  it('of known users come first, and are checked although many networks wait', async () => {
    const hasher = new PasswordHasher(COST);
    const order: string[] = [];
    const guess = async (caller: HashCaller) => {
      await hasher.matches('a', undefined, caller);
      order.push(caller.id);
    };
    const guesses = Array.from({ length: 60 }, (_, index) => guess({ id: `network ${index}`, isKnown: false }));
    const user = guess(USER);
    const results = await Promise.allSettled(guesses);
    await user;
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(18);
    expect(order.indexOf(USER.id)).toBeLessThan(10);
  });
});
