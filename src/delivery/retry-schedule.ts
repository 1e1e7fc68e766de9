import type { DeliveryLimits } from '../platforms/platform.js';

const HOUR_MS = 3_600_000;
/** Delays vary by ±20 %, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;

export interface RetryRules {
  /** The delay after each attempt; the last one repeats. */
  readonly scheduleMs: readonly number[];
  /** Where no limit of the platform is known. */
  readonly giveUpMs: number;
}

/** What bounds the age of a delivery where the platform states no limit. */
export type AgeRules = Pick<RetryRules, 'giveUpMs'>;

/** Since when a delivery ages. */
export interface DeliveryAge {
  readonly receivedMs: number;
  /** When the conversion occurred, at most the time of receipt: platforms count its age from then. */
  readonly occurredMs: number;
  /** First attempt that the platform may have accepted without saying so. */
  readonly unknownSinceMs?: number | undefined;
}

/**
 * Until when a delivery may be sent. One hour of each limit is kept in reserve for clock differences and time in transit. Once the
 * platform may have accepted it, a later duplicate might be counted twice.
 */
export function sendableUntilMs(age: DeliveryAge, limits: DeliveryLimits, { giveUpMs }: AgeRules): number {
  const { ageMaxMs, agesFromMs = age.occurredMs, dedupWindowMs } = limits;
  const byAge = ageMaxMs === undefined ? age.receivedMs + giveUpMs : agesFromMs + ageMaxMs - HOUR_MS;
  if (age.unknownSinceMs === undefined) return byAge;
  const windowMs = dedupWindowMs === undefined ? giveUpMs : dedupWindowMs - HOUR_MS;
  return Math.min(byAge, age.unknownSinceMs + windowMs);
}

export interface FailedAttempt {
  /** From 1. */
  readonly attempt: number;
  readonly nowMs: number;
  /** Requested by the platform: can lengthen the delay, never shorten it. */
  readonly afterMs?: number | undefined;
  /** From 0 to 1, for the jitter. */
  readonly random: number;
}

/** Time of the next attempt; undefined if that would be too late. */
export function nextAttemptMs(failed: FailedAttempt, untilMs: number, rules: RetryRules): number | undefined {
  const { scheduleMs } = rules;
  const delay = scheduleMs[Math.min(failed.attempt, scheduleMs.length) - 1] as number;
  const jittered = delay * (1 - JITTER + 2 * JITTER * failed.random);
  const next = failed.nowMs + Math.max(jittered, failed.afterMs ?? 0);
  return next <= untilMs ? Math.ceil(next) : undefined;
}
