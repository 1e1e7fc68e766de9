import { listAt, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import { rowOf, verdictOfRow } from '../error-table.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { refusedFields } from '../refused-fields.js';
import { combineVerdicts } from '../several-actions.js';
import { PROCESSING_ERRORS } from './errors.js';
import { identifiersOfCode } from './identifier-at.js';

const PREFIX = /^PROCESSING_ERROR_(?:REASON_)?/;

/**
 * The outcome of an accepted request. A `retry` with `afterMs` means that the events failed temporarily and are sent
 * again after that time; a `retry` without it means that the status is requested again.
 */
export function confirmationVerdict(response: PlatformResponse): Verdict {
  const statusVerdict = verdictOfStatus(response, textAt(response.json, 'error', 'status'));
  if (statusVerdict?.kind === 'unauthorized') return statusVerdict;
  // An error of the status request is not an error of the conversion.
  if (statusVerdict !== undefined) return requestStatusAgain(statusVerdict);
  // In the order of the destinations in the request: one for each conversion action.
  const statuses = listAt(response.json, 'requestStatusPerDestination');
  if (statuses.length === 0) return requestStatusAgain(unreadable(response));
  return combineVerdicts(
    statuses.map((status, index) => ({
      action: textAt(status, 'destination', 'productDestinationId') ?? `destination ${index + 1}`,
      verdict: verdictOfDestination(status, response),
    })),
  );
}

function verdictOfDestination(found: unknown, response: PlatformResponse): Verdict {
  const reasons = errorReasons(found);
  switch (textAt(found, 'requestStatus')) {
    case 'SUCCESS':
      return { kind: 'delivered' };
    case 'PROCESSING':
      return { kind: 'retry', reason: 'timeout' };
    case 'FAILED':
      return reasons.length === 0
        ? { kind: 'rejected', reason: 'FAILED' }
        : combined(reasons, reasons.map(verdictOfReason));
    case 'PARTIAL_SUCCESS':
      return reasons.length === 0
        ? { kind: 'split', reason: 'PARTIAL_SUCCESS' }
        : combined(reasons, [{ kind: 'delivered' }, ...reasons.map(verdictOfReason)]);
    default:
      return requestStatusAgain(unreadable(response));
  }
}

function requestStatusAgain(verdict: Verdict): Verdict {
  return { kind: 'retry', reason: verdict.kind === 'retry' ? verdict.reason : 'server_error' };
}

/** Google reports the number of events per reason, not which events: a verdict is known only if it is the same for all. */
function combined(reasons: readonly string[], verdicts: readonly Verdict[]): Verdict {
  const [first, ...others] = verdicts;
  const reason = shorten(reasons.join(', '));
  if (first === undefined || others.some(({ kind }) => kind !== first.kind)) return { kind: 'split', reason };
  return first.kind === 'rejected' || first.kind === 'misconfigured' ? { kind: first.kind, reason } : first;
}

function verdictOfReason(reason: string): Verdict {
  const row = rowOf(PROCESSING_ERRORS, reason);
  return row ? verdictOfRow(row, reason) : refusedFields(identifiersOfCode(reason), reason);
}

function errorReasons(status: unknown): readonly string[] {
  return listAt(status, 'errorInfo', 'errorCounts').map((count) =>
    (textAt(count, 'reason') ?? 'UNSPECIFIED').replace(PREFIX, ''),
  );
}
