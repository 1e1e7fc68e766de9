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

/**
 * The latest time at which an event can have been stored, for what cannot be undone. A step back alone does not tell whether the
 * clock had been ahead before it or was behind after it. Only a time that has not come yet is certainly wrong. All others are taken
 * as they are, and an event after a step is not taken for older than the one before it. Never decreases along the log.
 */
export function latestTimeMs(steps: readonly ClockStep[], position: number, timeMs: number, nowMs: number): number {
  const earlier = steps.filter((step) => step.position <= position && step.beforeMs <= nowMs);
  const next = steps.find((step) => step.position > position && step.afterMs <= nowMs);
  const ownMs = timeMs > nowMs ? (next?.afterMs ?? timeMs) : timeMs;
  return Math.max(ownMs, ...earlier.map(({ beforeMs }) => beforeMs));
}
