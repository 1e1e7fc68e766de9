/**
 * The first tick after a time. Ticks are multiples of the interval in Unix milliseconds, so daylight saving time and time zones
 * cannot move, skip or repeat one.
 */
export function nextTickMs(afterMs: number, everyMs: number): number {
  return (Math.floor(afterMs / everyMs) + 1) * everyMs;
}
