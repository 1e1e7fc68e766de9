import { InvalidArgumentError } from 'commander';

const COUNT_MAX = 10_000;

/** Parses the number of an option such as --last. */
export function readCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count > COUNT_MAX) {
    throw new InvalidArgumentError(`Give a whole number up to ${COUNT_MAX}.`);
  }
  return count;
}
