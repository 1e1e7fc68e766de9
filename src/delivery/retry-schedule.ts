import type { Platform } from '../platforms/platform.js';

const HOUR_MS = 3_600_000;
/** Delays vary by ±20 %, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;

export interface RetryRules {
  /** The delay after each attempt; the last one repeats. */
  readonly scheduleMs: readonly number[];
  /** For platforms without a dedup window. */
  readonly giveUpMs: number;
}

/**
 * How long after it was received a conversion may be sent to the platform. Later the platform might count a duplicate
 * twice, or reject the conversion for its age. One hour is kept in reserve for clock differences and time in transit.
 */
export function sendableForMs(platform: Platform, rules: RetryRules): number {
  const { dedupWindowMs, ageMaxMs } = platform;
  const window = dedupWindowMs === undefined ? rules.giveUpMs : dedupWindowMs - HOUR_MS;
  return ageMaxMs === undefined ? window : Math.min(window, ageMaxMs - HOUR_MS);
}

export interface FailedAttempt {
  /** From 1. */
  readonly attempt: number;
  readonly receivedMs: number;
  readonly nowMs: number;
  /** Requested by the platform: can lengthen the delay, never shorten it. */
  readonly afterMs?: number | undefined;
  /** From 0 to 1, for the jitter. */
  readonly random: number;
}

/** Time of the next attempt; undefined if that would be too late. */
export function nextAttemptMs(failed: FailedAttempt, platform: Platform, rules: RetryRules): number | undefined {
  const { scheduleMs } = rules;
  const delay = scheduleMs[Math.min(failed.attempt, scheduleMs.length) - 1] as number;
  const jittered = delay * (1 - JITTER + 2 * JITTER * failed.random);
  const next = failed.nowMs + Math.max(jittered, failed.afterMs ?? 0);
  return next <= failed.receivedMs + sendableForMs(platform, rules) ? Math.ceil(next) : undefined;
}
