import { InvalidArgumentError } from 'commander';
import { parseDurationMs } from '../../kernel/durations.js';

/** Parses a length of time such as 7d. */
export function readDurationMs(text: string): number {
  let ms: number | undefined;
  try {
    ms = parseDurationMs(text);
  } catch {}
  if (!ms) throw new InvalidArgumentError('Give a length of time such as 24h or 7d.');
  return ms;
}
