import { at, joined, listAt, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { OptionalIdentifier } from '../optional-identifiers.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { type IdentifierNames, refusedFields } from '../refused-fields.js';

/** `userData.ph`, also with the index of the event before it. */
const USER_FIELD = /\buserData\.(\w+)$/i;

const IDENTIFIERS: IdentifierNames = {
  em: 'email',
  ph: 'phone',
  externalid: 'externalId',
  msclkid: 'click',
  anonymousid: 'cookie',
  clientipaddress: 'device',
  clientuseragent: 'device',
};

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
      const refusal = refused.get(index);
      return refusal === undefined ? others : refusedFields(refusal.fields, refusal.reason, requestId);
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

interface Refusal {
  /** Of the first error. */
  readonly reason: string;
  /** The identifiers that the errors are about; undefined for another field. */
  readonly fields: (OptionalIdentifier | undefined)[];
}

/** By index. In a request with one event every error refers to that event. */
function refusedIn(json: unknown, items: number): Map<number, Refusal> {
  const refused = new Map<number, Refusal>();
  for (const detail of listAt(json, 'error', 'details')) {
    if (at(detail, 'isWarning') === true) continue;
    const index = items === 1 ? 0 : at(detail, 'index');
    if (typeof index !== 'number' || !(index >= 0 && index < items)) continue;
    const refusal = refused.get(index) ?? { reason: reasonOf(detail) ?? reasonIn(json) ?? 'invalid', fields: [] };
    refusal.fields.push(identifierOf(detail));
    refused.set(index, refusal);
  }
  return refused;
}

function identifierOf(detail: unknown): OptionalIdentifier | undefined {
  const field = USER_FIELD.exec(textAt(detail, 'propertyName') ?? '')?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(IDENTIFIERS, field) ? IDENTIFIERS[field] : undefined;
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
