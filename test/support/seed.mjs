import { randomInt } from 'node:crypto';

/** Seed of random fault moments: TEST_SEED, or a new one. It is printed, so that a failed run can be repeated. */
export function printSeed(name) {
  const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
  process.stderr.write(`${name}: TEST_SEED=${seed}\n`);
  return seed;
}

/** A seeded replacement for Math.random (mulberry32). Concurrent users of one seed each need their own stream number. */
export function seededRandom(seed, stream = 0) {
  let state = seed + stream;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
