import { at, refusedAsAWhole, retryAfterMs, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

const OK = 0;
/** Taken in part, without a word on which: those that were not cannot be told from those that were. */
const TAKEN_IN_PART = 20001;
const DUPLICATE = 40050;
const DELIVERED = new Set([OK, TAKEN_IN_PART, DUPLICATE]);
const THROTTLED = new Set([40100, 40016, 40132, 40133]);
const TOKEN = [40101, 40102, 40104, 40105, 40106, 40113, 40115, 40116, 40117, 40118, 40119, 40124, 40125];
const PERMISSION = [40001, 40300, 40301];
const UNAUTHORIZED = new Set([...TOKEN, ...PERMISSION]);
const PASSING = new Set([40202, 40700, 50000, 50002, 51305, 60001]);

/** `Batch.0.properties.contents…: Not a valid string`. */
const PLACE = /\bBatch\.(\d+)\b/g;

export function verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const whole = verdictOfCall(response, items);
  return whole.kind === 'split' ? (byPlace(response, items, whole.reason) ?? whole) : whole;
}

/** TikTok answers 200 to everything and says the rest with a code; other statuses are those of what stands before it. */
export function verdictOfCall(response: PlatformResponse, items: number): Verdict {
  const { json } = response;
  const code = at(json, 'code');
  const requestId = textAt(json, 'request_id');
  const reason = shorten(`${code} ${textAt(json, 'message') ?? ''}`);
  if (typeof code === 'number') {
    if (UNAUTHORIZED.has(code)) return { kind: 'unauthorized', reason, requestId };
    if (THROTTLED.has(code)) return { kind: 'retry', reason: 'throttled', afterMs: retryAfterMs(response), requestId };
    if (PASSING.has(code)) return { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response), requestId };
  }

  const ofStatus = verdictOfStatus(response, undefined, requestId);
  if (ofStatus) return ofStatus.kind === 'rejected' ? refusedAsAWhole(ofStatus.reason, items, requestId) : ofStatus;
  if (typeof code !== 'number') return unreadable(response);
  if (DELIVERED.has(code)) return { kind: 'delivered', requestId };
  return isOurFault(code) ? refusedAsAWhole(reason, items, requestId) : unreadable(response);
}

/** Codes are grouped like statuses of HTTP: 40000 and up is what was sent, 50000 and up TikTok itself. */
function isOurFault(code: number): boolean {
  return code >= 40_000 && code < 50_000;
}

/** One bad event makes TikTok refuse them all. Undefined where it does not say which. */
function byPlace(response: PlatformResponse, items: number, reason: string): readonly Verdict[] | undefined {
  const message = textAt(response.json, 'message') ?? '';
  const requestId = textAt(response.json, 'request_id');
  const places = new Set([...message.matchAll(PLACE)].map(([, place]) => Number(place)));
  if (places.size === 0 || Math.max(...places) >= items) return undefined;
  return Array.from({ length: items }, (_, place) =>
    places.has(place) ? { kind: 'rejected', reason, requestId } : { kind: 'again' },
  );
}
