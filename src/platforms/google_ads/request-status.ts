import { at, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

const SIX_HOURS_MS = 6 * 3_600_000;
const HALF_AN_HOUR_MS = 30 * 60_000;
const PREFIX = /^PROCESSING_ERROR_(?:REASON_)?/;

/**
 * What became of the events of an accepted call. A `retry` with `afterMs` means that they failed for now and are to be
 * sent again after that time; one without it, that the status is to be asked for again.
 */
export function confirmationVerdict(response: PlatformResponse): Verdict {
  const ofStatus = verdictOfStatus(response, textAt(response.json, 'error', 'status'));
  if (ofStatus?.kind === 'unauthorized') return ofStatus;
  // That the question was refused says nothing about the conversion.
  if (ofStatus !== undefined) return askAgain(ofStatus);
  // A call has one destination.
  const found = at(response.json, 'requestStatusPerDestination', 0);
  const reasons = errorReasons(found);
  switch (textAt(found, 'requestStatus')) {
    case 'SUCCESS':
      return { kind: 'delivered' };
    case 'PROCESSING':
      return { kind: 'retry', reason: 'timeout' };
    case 'FAILED':
      return reasons.length === 0 ? { kind: 'rejected', reason: 'FAILED' } : together(reasons, reasons.map(ofReason));
    case 'PARTIAL_SUCCESS':
      return reasons.length === 0
        ? { kind: 'split', reason: 'PARTIAL_SUCCESS' }
        : together(reasons, [{ kind: 'delivered' }, ...reasons.map(ofReason)]);
    default:
      return askAgain(unreadable(response));
  }
}

function askAgain(verdict: Verdict): Verdict {
  return { kind: 'retry', reason: verdict.kind === 'retry' ? verdict.reason : 'server_error' };
}

/** Google counts the events per reason and does not say which: only what is the same for all can be told of each. */
function together(reasons: readonly string[], verdicts: readonly Verdict[]): Verdict {
  const [first, ...others] = verdicts;
  const reason = shorten(reasons.join(', '));
  if (first === undefined || others.some(({ kind }) => kind !== first.kind)) return { kind: 'split', reason };
  return first.kind === 'rejected' ? { kind: 'rejected', reason } : first;
}

function ofReason(reason: string): Verdict {
  switch (reason) {
    case 'DUPLICATE_GCLID':
    case 'DUPLICATE_TRANSACTION_ID':
      return { kind: 'delivered' };
    case 'TOO_RECENT_CLICK':
      return { kind: 'retry', reason: 'server_error', afterMs: SIX_HOURS_MS };
    case 'INTERNAL_ERROR':
      return { kind: 'retry', reason: 'server_error', afterMs: HALF_AN_HOUR_MS };
    default:
      return { kind: 'rejected', reason };
  }
}

function errorReasons(status: unknown): readonly string[] {
  const counts = at(status, 'errorInfo', 'errorCounts');
  if (!Array.isArray(counts)) return [];
  return counts.map((count) => (textAt(count, 'reason') ?? 'UNSPECIFIED').replace(PREFIX, ''));
}
