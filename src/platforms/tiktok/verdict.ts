import { retryAfterMs } from '../../http/retry-after.js';
import { at, shorten, splitOrReject, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import { rowOf, verdictOfRow } from '../error-table.js';
import type { OptionalIdentifier } from '../optional-identifiers.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { type IdentifierNames, refusedFields } from '../refused-fields.js';
import { ERRORS } from './errors.js';

/** Accepted in part. The answer does not identify the events that were refused. */
const PARTIAL_SUCCESS = 20_001;
export const NO_PERMISSION: readonly unknown[] = [40_001, 40_300, 40_301];

/** `Batch.0.properties.contents…: Not a valid string`. */
const EVENT_PATH = /\bBatch\.(\d+)\b(?:\.user\.(\w+))?/g;

const IDENTIFIERS: IdentifierNames = {
  email: 'email',
  phone: 'phone',
  zip_code: 'address',
  city: 'address',
  state: 'address',
  country: 'address',
  external_id: 'externalId',
  ttclid: 'click',
  ttp: 'cookie',
  ip: 'device',
  user_agent: 'device',
};

export function verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const whole = verdictOfCall(response, items);
  const isRefused = whole.kind === 'rejected' || (whole.kind === 'split' && !whole.unknown);
  return isRefused ? (byEvent(response, items, whole.reason) ?? whole) : whole;
}

/** TikTok answers every request with 200 and reports the result in `code`; other statuses come from a proxy in front of it. */
export function verdictOfCall(response: PlatformResponse, items: number): Verdict {
  const { json } = response;
  const code = at(json, 'code');
  const requestId = textAt(json, 'request_id');
  const reason = shorten(`${code} ${textAt(json, 'message') ?? ''}`);
  const row = typeof code === 'number' ? rowOf(ERRORS, code) : undefined;
  const verdict = row && verdictOfRow(row, reason, { afterMs: retryAfterMs(response), requestId });
  // Another status contradicts a success, and a rejection may be the proxy's.
  if (verdict !== undefined && verdict.kind !== 'delivered' && verdict.kind !== 'rejected') return verdict;

  const statusVerdict = verdictOfStatus(response, undefined, requestId);
  if (statusVerdict)
    return statusVerdict.kind === 'rejected' ? splitOrReject(statusVerdict.reason, items, requestId) : statusVerdict;
  if (typeof code !== 'number') return unreadable(response);
  if (code === PARTIAL_SUCCESS) return partialSuccess(reason, items, requestId);
  if (verdict?.kind === 'delivered') return verdict;
  return isClientError(code) ? splitOrReject(reason, items, requestId) : unreadable(response);
}

/** The verdict on reading the owner of the token. A token of Events Manager may only send. */
export function userVerdict(response: PlatformResponse): Verdict | undefined {
  return NO_PERMISSION.includes(at(response.json, 'code')) ? undefined : verdictOfCall(response, 1);
}

/** TikTok drops the repeats of accepted events by their ids for 48 hours. A single event has been accepted. */
function partialSuccess(reason: string, items: number, requestId: string | undefined): Verdict {
  return items > 1 ? { kind: 'split', reason, unknown: true, requestId } : { kind: 'delivered', requestId };
}

/** For codes that the table does not have. */
function isClientError(code: number): boolean {
  return code >= 40_000 && code < 50_000;
}

/** One invalid event makes TikTok refuse the whole request. Undefined when the message does not name its index. */
function byEvent(response: PlatformResponse, items: number, reason: string): readonly Verdict[] | undefined {
  const message = textAt(response.json, 'message') ?? '';
  const requestId = textAt(response.json, 'request_id');
  const refused = new Map<number, (OptionalIdentifier | undefined)[]>();
  for (const [, index, field = ''] of message.matchAll(EVENT_PATH)) {
    const identifier = Object.hasOwn(IDENTIFIERS, field) ? IDENTIFIERS[field] : undefined;
    refused.set(Number(index), [...(refused.get(Number(index)) ?? []), identifier]);
  }
  if (refused.size === 0 || Math.max(...refused.keys()) >= items) return undefined;
  return Array.from({ length: items }, (_, index): Verdict => {
    const fields = refused.get(index);
    return fields === undefined ? { kind: 'resend' } : refusedFields(fields, reason, requestId);
  });
}
