import { InvalidArgumentError } from 'commander';
import { type Bound, parseBound } from '../history/bound.js';

/** For options that name a place in the log. */
export function readBound(text: string): Bound {
  const bound = parseBound(text);
  if (!bound) throw new InvalidArgumentError('Give a position such as 1017, or a time such as 2025-03-01T09:30:00Z.');
  return bound;
}
