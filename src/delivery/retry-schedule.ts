import type { Platform } from '../platforms/platform.js';

const HOUR_MS = 3_600_000;
/** Waits are spread by this much either way, so that what failed together does not come back together. */
const JITTER = 0.2;

export interface RetryRules {
  /** The wait after each attempt; the last one repeats. */
  readonly scheduleMs: readonly number[];
  /** Where the platform has no window of its own. */
  readonly giveUpMs: number;
}

/**
 * How long after a conversion came in the platform may still be sent it. Later a repeat might count twice, or the
 * platform would refuse it for its age. An hour is kept for clocks and for the way there.
 */
export function sendableForMs(platform: Platform, rules: RetryRules): number {
  const { dedupWindowMs, ageMaxMs } = platform;
  const window = dedupWindowMs === undefined ? rules.giveUpMs : dedupWindowMs - HOUR_MS;
  return ageMaxMs === undefined ? window : Math.min(window, ageMaxMs - HOUR_MS);
}

export interface FailedTry {
  /** From 1. */
  readonly attempt: number;
  readonly receivedMs: number;
  readonly nowMs: number;
  /** What the platform asked for: it can make a wait longer, never shorter. */
  readonly afterMs?: number | undefined;
  /** From 0 to 1. */
  readonly chance: number;
}

/** When to try again; undefined when that would be too late. */
export function nextTryMs(failed: FailedTry, platform: Platform, rules: RetryRules): number | undefined {
  const { scheduleMs } = rules;
  const wait = scheduleMs[Math.min(failed.attempt, scheduleMs.length) - 1] as number;
  const spread = wait * (1 - JITTER + 2 * JITTER * failed.chance);
  const next = failed.nowMs + Math.max(spread, failed.afterMs ?? 0);
  return next <= failed.receivedMs + sendableForMs(platform, rules) ? Math.ceil(next) : undefined;
}
