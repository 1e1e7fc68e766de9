import { at, joined, listAt, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

/**
 * The verdict on an answer of the UET Conversions API, which contains the number of accepted events and a list of the
 * refused ones with their indices. An event that is not listed counts as delivered only if the numbers add up.
 */
export function capiVerdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const { json } = response;
  const requestId = textAt(json, 'traceId');
  const statusVerdict = verdictOfStatus(response, reasonIn(json), requestId);
  if (statusVerdict !== undefined && statusVerdict.kind !== 'rejected') return statusVerdict;

  const received = statusVerdict === undefined ? at(json, 'eventsReceived') : 0;
  const refused = refusedIn(json, items);
  if (refused.size > 0) {
    const others: Verdict =
      typeof received === 'number' && received >= items - refused.size
        ? { kind: 'delivered', requestId }
        : { kind: 'resend' };
    return Array.from({ length: items }, (_, index): Verdict => {
      const reason = refused.get(index);
      return reason === undefined ? others : { kind: 'rejected', reason, requestId };
    });
  }
  if (statusVerdict !== undefined) return items > 1 ? { ...statusVerdict, kind: 'split' } : statusVerdict;
  if (received === items && hasOnlyWarnings(json)) return { kind: 'delivered', requestId };
  if (items > 1 && typeof received === 'number' && received < items) {
    return {
      kind: 'split',
      reason: reasonIn(json) ?? 'not all events were received',
      unknown: received > 0,
      requestId,
    };
  }
  return unreadable(response);
}

/** Reasons by index. In a request with one event every error refers to that event. */
function refusedIn(json: unknown, items: number): Map<number, string> {
  const reasons = new Map<number, string>();
  for (const detail of listAt(json, 'error', 'details')) {
    if (at(detail, 'isWarning') === true) continue;
    const index = items === 1 ? 0 : at(detail, 'index');
    if (typeof index !== 'number' || !(index >= 0 && index < items) || reasons.has(index)) continue;
    reasons.set(index, reasonOf(detail) ?? reasonIn(json) ?? 'invalid');
  }
  return reasons;
}

/** The message may contain the refused value, which may be personal data. */
function reasonOf(detail: unknown): string | undefined {
  const reason = joined(textAt(detail, 'propertyName'), textAt(detail, 'errorMessage'));
  const attempted = textAt(detail, 'attemptedValue');
  return reason && shorten(attempted ? reason.replaceAll(attempted, '…') : reason);
}

function hasOnlyWarnings(json: unknown): boolean {
  const details = listAt(json, 'error', 'details');
  if (details.length === 0) return (at(json, 'error') ?? undefined) === undefined;
  return details.every((detail) => at(detail, 'isWarning') === true);
}

function reasonIn(json: unknown): string | undefined {
  const reason = joined(textAt(json, 'error', 'code'), textAt(json, 'error', 'message'));
  return reason && shorten(reason);
}
