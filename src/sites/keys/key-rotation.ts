import type { Clock } from '../../kernel/clock.js';
import { formatDuration, parseDurationMs } from '../../kernel/durations.js';
import { messageOf, UserError } from '../../kernel/errors.js';

const OVERLAP_MAX_MS = 90 * 86_400_000;
export const OVERLAP_DEFAULT = '24h';

/** When a replaced key expires, by the database's clock. The overlap is a duration such as 24h; with 0s it expires at once. */
export function keyExpiry(clock: Clock, overlap: string): string {
  let ms: number;
  try {
    ms = parseDurationMs(overlap);
  } catch (error) {
    throw new UserError(`--overlap: ${messageOf(error)}`);
  }
  if (ms > OVERLAP_MAX_MS)
    throw new UserError(
      `--overlap: give at most ${formatDuration(OVERLAP_MAX_MS)}, after which the old key is refused.`,
    );
  return new Date(clock.nowMs() + ms).toISOString();
}
