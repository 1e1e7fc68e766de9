import { retryAfterMs } from '../../http/retry-after.js';
import { at, shorten, splitOrReject, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

const OK = 0;
/** Accepted in part. The answer does not identify the events that were refused, so none can be sent again. */
const PARTLY_ACCEPTED = 20001;
const DUPLICATE = 40050;
const DELIVERED = new Set([OK, PARTLY_ACCEPTED, DUPLICATE]);
const THROTTLED = new Set([40100, 40016, 40132, 40133]);
const TOKEN = [40101, 40102, 40104, 40105, 40106, 40113, 40115, 40116, 40117, 40118, 40119, 40124, 40125];
const PERMISSION = [40001, 40300, 40301];
const UNAUTHORIZED = new Set([...TOKEN, ...PERMISSION]);
const TRANSIENT = new Set([40202, 40700, 50000, 50002, 51305, 60001]);

/** `Batch.0.properties.contents…: Not a valid string`. */
const EVENT_INDEX = /\bBatch\.(\d+)\b/g;

export function verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const whole = verdictOfCall(response, items);
  return whole.kind === 'split' ? (byIndex(response, items, whole.reason) ?? whole) : whole;
}

/** TikTok answers every request with 200 and reports the result in `code`; other statuses come from a proxy in front of it. */
export function verdictOfCall(response: PlatformResponse, items: number): Verdict {
  const { json } = response;
  const code = at(json, 'code');
  const requestId = textAt(json, 'request_id');
  const reason = shorten(`${code} ${textAt(json, 'message') ?? ''}`);
  if (typeof code === 'number') {
    if (UNAUTHORIZED.has(code)) return { kind: 'unauthorized', reason, requestId };
    if (THROTTLED.has(code)) return { kind: 'retry', reason: 'throttled', afterMs: retryAfterMs(response), requestId };
    if (TRANSIENT.has(code))
      return { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response), requestId };
  }

  const statusVerdict = verdictOfStatus(response, undefined, requestId);
  if (statusVerdict)
    return statusVerdict.kind === 'rejected' ? splitOrReject(statusVerdict.reason, items, requestId) : statusVerdict;
  if (typeof code !== 'number') return unreadable(response);
  if (DELIVERED.has(code)) return { kind: 'delivered', requestId };
  return isClientError(code) ? splitOrReject(reason, items, requestId) : unreadable(response);
}

/** Codes are grouped like HTTP statuses: 40000 and above is a client error, 50000 and above a server error. */
function isClientError(code: number): boolean {
  return code >= 40_000 && code < 50_000;
}

/** One invalid event makes TikTok refuse the whole request. Undefined when the message does not name its index. */
function byIndex(response: PlatformResponse, items: number, reason: string): readonly Verdict[] | undefined {
  const message = textAt(response.json, 'message') ?? '';
  const requestId = textAt(response.json, 'request_id');
  const refused = new Set([...message.matchAll(EVENT_INDEX)].map(([, index]) => Number(index)));
  if (refused.size === 0 || Math.max(...refused) >= items) return undefined;
  return Array.from({ length: items }, (_, index) =>
    refused.has(index) ? { kind: 'rejected', reason, requestId } : { kind: 'resend' },
  );
}
