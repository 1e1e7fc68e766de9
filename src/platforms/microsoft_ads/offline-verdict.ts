import { at, shorten, splitOrReject, textAt, unreadable, verdictOfStatus, withRequestId } from '../common-verdict.js';
import { rowOf, verdictOfRow } from '../error-table.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { refusedFields } from '../refused-fields.js';
import { ERRORS } from './errors.js';

/** The click id is malformed or unknown: the hashed email or phone number may suffice. */
const CLICK_ID_ERRORS: readonly unknown[] = [5603, 5604];

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
    const isOfConversion = verdict.kind === 'rejected' || verdict.kind === 'split' || verdict.kind === 'without';
    if (!isOfConversion) return withRequestId(verdict, requestId);
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
      return { kind: 'split', reason: reasonOf(error), requestId };
    }
    if (!verdicts.has(index)) verdicts.set(index, withRequestId(verdictOfCode(error), requestId));
  }
  if (verdicts.size === 0) return { kind: 'delivered', requestId };
  return Array.from({ length: items }, (_, index) => verdicts.get(index) ?? { kind: 'delivered', requestId });
}

export function faultIn(json: unknown): unknown {
  for (const name of ['Errors', 'OperationErrors']) {
    const first = at(json, name, 0);
    if (first !== undefined) return first;
  }
  return undefined;
}

function verdictOfCode(error: unknown): Verdict {
  const code = at(error, 'Code');
  const row = typeof code === 'number' ? rowOf(ERRORS, code) : undefined;
  if (row) return verdictOfRow(row, reasonOf(error));
  return refusedFields(CLICK_ID_ERRORS.includes(code) ? ['click'] : [], reasonOf(error));
}

/** Begins with the number, by which `fix` finds what to do: Microsoft may leave the name out. */
export function reasonOf(error: unknown): string {
  const code = at(error, 'Code');
  const words = textAt(error, 'ErrorCode') || textAt(error, 'Message');
  return shorten([code, words].filter((part) => part !== undefined).join(' ')) || 'error without a code';
}
