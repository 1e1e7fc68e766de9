import { at, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

/**
 * Of the UET Conversions API: it counts what it took and lists what it did not, with its place. Unless the two add up,
 * an event that is not listed is not taken for delivered.
 */
export function capiVerdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const { json } = response;
  const requestId = textAt(json, 'traceId');
  const ofStatus = verdictOfStatus(response, reasonIn(json), requestId);
  if (ofStatus !== undefined && ofStatus.kind !== 'rejected') return ofStatus;

  const received = ofStatus === undefined ? at(json, 'eventsReceived') : 0;
  const refused = refusedIn(json, items);
  if (refused.size > 0) {
    const others: Verdict =
      typeof received === 'number' && received >= items - refused.size
        ? { kind: 'delivered', requestId }
        : { kind: 'again' };
    return Array.from({ length: items }, (_, index): Verdict => {
      const reason = refused.get(index);
      return reason === undefined ? others : { kind: 'rejected', reason, requestId };
    });
  }
  if (ofStatus !== undefined) return items > 1 ? { ...ofStatus, kind: 'split' } : ofStatus;
  if (received === items && hasOnlyWarnings(json)) return { kind: 'delivered', requestId };
  if (items > 1 && typeof received === 'number' && received < items) {
    return { kind: 'split', reason: reasonIn(json) ?? 'not all events were received', requestId };
  }
  return unreadable(response);
}

/** By place. In a call of one event it is clear which one is meant. */
function refusedIn(json: unknown, items: number): Map<number, string> {
  const reasons = new Map<number, string>();
  for (const detail of detailsIn(json)) {
    if (at(detail, 'isWarning') === true) continue;
    const index = items === 1 ? 0 : at(detail, 'index');
    if (typeof index !== 'number' || !(index >= 0 && index < items) || reasons.has(index)) continue;
    reasons.set(index, reasonOf(detail) ?? reasonIn(json) ?? 'invalid');
  }
  return reasons;
}

/** The message may quote the value, which may be a person's. */
function reasonOf(detail: unknown): string | undefined {
  const said = [textAt(detail, 'propertyName'), textAt(detail, 'errorMessage')].filter(Boolean).join(': ');
  const attempted = textAt(detail, 'attemptedValue');
  return said === '' ? undefined : shorten(attempted ? said.replaceAll(attempted, '…') : said);
}

function hasOnlyWarnings(json: unknown): boolean {
  const details = detailsIn(json);
  if (details.length === 0) return (at(json, 'error') ?? undefined) === undefined;
  return details.every((detail) => at(detail, 'isWarning') === true);
}

function detailsIn(json: unknown): readonly unknown[] {
  const details = at(json, 'error', 'details');
  return Array.isArray(details) ? details : [];
}

function reasonIn(json: unknown): string | undefined {
  const said = [textAt(json, 'error', 'code'), textAt(json, 'error', 'message')].filter(Boolean).join(': ');
  return said === '' ? undefined : shorten(said);
}
