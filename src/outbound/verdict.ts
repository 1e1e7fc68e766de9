import type { OutgoingResponse } from '../http/outgoing/response.js';
import type { SendFailure } from '../http/outgoing/send-failure.js';
import { retryAfterMs } from '../http/retry-after.js';
import type { FailedTry } from './stretch.js';

export type Verdict =
  | { readonly taken: true; readonly httpStatus: number }
  | {
      readonly taken: false;
      readonly reason: string;
      readonly httpStatus?: number;
      /** What the receiver asked for: it can make a wait longer, never shorter. */
      readonly afterMs?: number | undefined;
      /** The receiver wants nothing more. */
      readonly gone?: true;
    };

/** The status line is the answer; what a receiver writes below it is its own affair. */
export function verdictOf(response: OutgoingResponse, nowMs: number): Verdict {
  const { status: httpStatus } = response;
  if (httpStatus >= 200 && httpStatus < 300) return { taken: true, httpStatus };
  if (httpStatus === 410)
    return { taken: false, httpStatus, gone: true, reason: 'HTTP 410: the receiver wants nothing more' };
  if (httpStatus >= 300 && httpStatus < 400) {
    const reason = `HTTP ${httpStatus}: redirects are not followed, set the address that it leads to`;
    return { taken: false, httpStatus, reason };
  }
  return { taken: false, httpStatus, reason: `HTTP ${httpStatus}`, afterMs: retryAfterMs(response, nowMs) };
}

export function verdictOfFailure({ kind, message }: SendFailure): Verdict {
  return { taken: false, reason: `${kind}: ${message}` };
}

export interface RetryRules {
  /** The wait after each failure in a row; the last one repeats. */
  readonly scheduleMs: readonly number[];
  /** A webhook that fails for so long is disabled. */
  readonly disableAfterMs: number;
}

/** What a failure leads to: a next try, or none. */
export function afterFailure(
  verdict: Verdict & { readonly taken: false },
  before: Pick<FailedTry, 'failures' | 'failingSince'> | undefined,
  nowMs: number,
  { scheduleMs, disableAfterMs }: RetryRules,
): Pick<FailedTry, 'reason' | 'failures' | 'failingSince' | 'nextTry'> {
  const failures = (before?.failures ?? 0) + 1;
  const failingSinceMs = before ? Date.parse(before.failingSince) : nowMs;
  const told = { reason: verdict.reason, failures, failingSince: isoTime(failingSinceMs) };
  const lastMs = failingSinceMs + disableAfterMs;
  if (verdict.gone || nowMs >= lastMs) return told;
  const waitMs = scheduleMs[Math.min(failures, scheduleMs.length) - 1] as number;
  // The last try is made when the time is up, not up to ten hours later, whatever the receiver asked for.
  return { ...told, nextTry: isoTime(Math.min(nowMs + Math.max(waitMs, verdict.afterMs ?? 0), lastMs)) };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
