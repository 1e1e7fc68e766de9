import { randomInt } from 'node:crypto';

/** Random numbers (mulberry32) from a printed seed. `TEST_SEED=<seed>` repeats a run. */
export function seededRandom(suite) {
  const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
  if (!Number.isInteger(seed)) throw new Error(`TEST_SEED must be an integer, not ${process.env.TEST_SEED}.`);
  process.stderr.write(`${suite}: TEST_SEED=${seed}\n`);
  let state = seed;
  /** A number from 0 up to, but not including, 1. */
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** An integer from `least` to `most`, both included. */
  const integer = (least, most) => least + Math.floor(next() * (most - least + 1));
  return { seed, next, integer, pick: (items) => items[integer(0, items.length - 1)] };
}
