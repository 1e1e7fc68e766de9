import type { Queryable } from './event-reader.js';

/** A place where the time of the log goes back, because the database's clock had been ahead. */
export interface ClockStep {
  /** First position with the earlier time. */
  readonly position: number;
  /** Time of the event before it, and its own. */
  readonly beforeMs: number;
  readonly afterMs: number;
}

export async function readClockSteps(source: Queryable): Promise<ClockStep[]> {
  const { rows } = await source.query<{ position: string; before: number; after: number }>({
    name: 'read-clock-steps',
    text: `SELECT position, extract(epoch FROM before_time)::float8 * 1000 AS before,
                  extract(epoch FROM after_time)::float8 * 1000 AS after
             FROM cc.clock_steps ORDER BY position`,
  });
  return rows.map(({ position, before, after }) => ({
    position: Number(position),
    beforeMs: before,
    afterMs: after,
  }));
}

/**
 * The time by which an event is looked up and by which windows are counted: that of an event stored while the clock was ahead
 * is the moment at which the clock was set back. Never decreases along the log.
 */
export function effectiveTimeMs(steps: readonly ClockStep[], position: number, timeMs: number): number {
  let effectiveMs = timeMs;
  for (const step of steps) if (step.position > position) effectiveMs = Math.min(effectiveMs, step.afterMs);
  return effectiveMs;
}
