import { InvalidArgumentError } from 'commander';
import { type Bound, parseBound } from '../../history/bound.js';

export const FROM_HELP = 'start at this position or time, inclusive (UTC unless an offset is given)';
export const TO_HELP = 'end before this position or time, exclusive';
export const OPTIONAL_TO_HELP = `${TO_HELP}; default: now`;

/** Parses an option that is a log position or a time. */
export function readBound(text: string): Bound {
  const bound = parseBound(text);
  if (!bound) throw new InvalidArgumentError('Give a position such as 1017, or a time such as 2025-03-01T09:30:00Z.');
  return bound;
}
