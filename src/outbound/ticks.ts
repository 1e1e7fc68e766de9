/**
 * The first tick after a moment. Ticks are the multiples of the interval, counted in milliseconds from 1970 in UTC: no
 * summer time, month or zone can move, lose or double one.
 */
export function nextTickMs(afterMs: number, everyMs: number): number {
  return (Math.floor(afterMs / everyMs) + 1) * everyMs;
}
