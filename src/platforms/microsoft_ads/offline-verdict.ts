import { at, shorten, splitOrReject, textAt, unreadable, verdictOfStatus, withRequestId } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

const MINUTE_MS = 60_000;
const TWO_HOURS_MS = 2 * 3_600_000;

/** The Campaign Management API returns a fault for the whole request, or `PartialErrors` for single conversions. */
export function offlineVerdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const { json, status } = response;
  const requestId = textAt(json, 'TrackingId');
  const fault = faultIn(json);
  if (fault !== undefined) {
    const byCode = verdictOfCode(fault);
    // For an unknown code the HTTP status decides.
    const verdict =
      byCode.kind === 'rejected' ? (verdictOfStatus(response, byCode.reason, requestId) ?? byCode) : byCode;
    if (verdict.kind !== 'rejected' && verdict.kind !== 'split') return withRequestId(verdict, requestId);
    return splitOrReject(verdict.reason, items, requestId);
  }
  const partial = at(json, 'PartialErrors');
  const isReadable = status >= 200 && status < 300 && (partial === null || Array.isArray(partial));
  if (!isReadable) {
    const verdict = unreadable(response);
    return verdict.kind === 'rejected' && items > 1
      ? { ...verdict, kind: 'split', requestId }
      : withRequestId(verdict, requestId);
  }

  const verdicts = new Map<number, Verdict>();
  for (const error of partial ?? []) {
    if (typeof error !== 'object' || error === null) continue;
    // In a request with one conversion every error refers to it.
    const index = items === 1 ? 0 : at(error, 'Index');
    if (typeof index !== 'number' || !(index >= 0 && index < items)) {
      return { kind: 'split', reason: nameOf(error), requestId };
    }
    if (!verdicts.has(index)) verdicts.set(index, withRequestId(verdictOfCode(error), requestId));
  }
  if (verdicts.size === 0) return { kind: 'delivered', requestId };
  return Array.from({ length: items }, (_, index) => verdicts.get(index) ?? { kind: 'delivered', requestId });
}

function faultIn(json: unknown): unknown {
  for (const name of ['Errors', 'OperationErrors']) {
    const first = at(json, name, 0);
    if (first !== undefined) return first;
  }
  return undefined;
}

function verdictOfCode(error: unknown): Verdict {
  const reason = nameOf(error);
  switch (at(error, 'Code')) {
    case 105: // InvalidCredentials
    case 106: // UserIsNotAuthorized
    case 109: // AuthenticationTokenExpired
    case 5613: // Offline conversions are not enabled for the account.
      return { kind: 'unauthorized', reason };
    case 117: // CallRateExceeded
      return { kind: 'retry', reason: 'throttled', afterMs: MINUTE_MS };
    case 0: // InternalError
    case 5612: // ApplyFailed
      return { kind: 'retry', reason: 'server_error' };
    case 5615: // The goal was created less than two hours ago. Conversions of other goals do not have to wait.
      return { kind: 'retry', reason: 'server_error', afterMs: TWO_HOURS_MS, unknown: false };
    case 5601: // Too many conversions in one request.
      return { kind: 'split', reason };
    default:
      return { kind: 'rejected', reason };
  }
}

function nameOf(error: unknown): string {
  const code = at(error, 'Code');
  return shorten(textAt(error, 'ErrorCode') || textAt(error, 'Message') || `error ${String(code ?? 'without a code')}`);
}
