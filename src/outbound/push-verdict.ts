import { type FailedPushAttempt } from '../events/outbound.events.js';
import type { HttpResponse } from '../http/client/response.js';
import type { SendFailure } from '../http/client/send-failure.js';
import { retryAfterMs } from '../http/retry-after.js';

export type Verdict =
  | { readonly accepted: true; readonly httpStatus: number }
  | {
      readonly accepted: false;
      readonly reason: string;
      readonly httpStatus?: number;
      /** Retry-After of the receiver. It can lengthen a wait, never shorten it. */
      readonly afterMs?: number | undefined;
      /** HTTP 410: the receiver asked for no more pushes. */
      readonly gone?: true;
    };

/** Only the status matters; the response body is ignored. */
export function verdictOf(response: HttpResponse, nowMs: number): Verdict {
  const { status: httpStatus } = response;
  if (httpStatus >= 200 && httpStatus < 300) return { accepted: true, httpStatus };
  if (httpStatus === 410)
    return { accepted: false, httpStatus, gone: true, reason: 'HTTP 410: the receiver asked for no more pushes' };
  if (httpStatus >= 300 && httpStatus < 400) {
    const reason = `HTTP ${httpStatus}: redirects are not followed, set the target address`;
    return { accepted: false, httpStatus, reason };
  }
  return { accepted: false, httpStatus, reason: `HTTP ${httpStatus}`, afterMs: retryAfterMs(response, nowMs) };
}

export function verdictOfFailure({ kind, message }: SendFailure): Verdict {
  return { accepted: false, reason: `${kind}: ${message}` };
}

export interface RetryRules {
  /** Wait after each consecutive failure; the last one repeats. */
  readonly scheduleMs: readonly number[];
  /** A webhook that fails for this long is disabled. */
  readonly disableAfterMs: number;
}

/** The consequence of a failure: another attempt, or none. */
export function afterFailure(
  verdict: Verdict & { readonly accepted: false },
  before: Pick<FailedPushAttempt, 'failures' | 'failingSince'> | undefined,
  nowMs: number,
  { scheduleMs, disableAfterMs }: RetryRules,
): Pick<FailedPushAttempt, 'reason' | 'failures' | 'failingSince' | 'nextTry'> {
  const failures = (before?.failures ?? 0) + 1;
  const failingSinceMs = before ? Date.parse(before.failingSince) : nowMs;
  const failure = { reason: verdict.reason, failures, failingSince: isoTime(failingSinceMs) };
  const lastMs = failingSinceMs + disableAfterMs;
  if (verdict.gone || nowMs >= lastMs) return failure;
  const waitMs = scheduleMs[Math.min(failures, scheduleMs.length) - 1] as number;
  // The last attempt is made when the time is up, not up to ten hours later, whatever the receiver requested.
  return { ...failure, nextTry: isoTime(Math.min(nowMs + Math.max(waitMs, verdict.afterMs ?? 0), lastMs)) };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
