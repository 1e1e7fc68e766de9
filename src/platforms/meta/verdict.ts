import { at, refusedAsAWhole, retryAfterMs, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

const TOKEN_INVALID = 190;
const NO_PERMISSION = new Set([3, 200]);
const INVALID_PARAMETER = 100;
/** Of 100: the pixel is not there, or the token may not see it. */
const PIXEL_OUT_OF_REACH = 33;
const THROTTLED = new Set([4, 17, 32, 613, 80003]);
const PASSING = new Set([1, 2, 341, 368, 5000, 21009]);

/** Meta's status is no guide (an expired token may come as a 500): its error's code goes first. */
export function verdict(response: PlatformResponse, items: number): Verdict {
  const { json } = response;
  const error = at(json, 'error');
  if (error !== undefined) return verdictOfError(response, error, items);

  const requestId = textAt(json, 'fbtrace_id');
  const ofStatus = verdictOfStatus(response, undefined, requestId);
  if (ofStatus) return ofStatus.kind === 'rejected' ? refusedAsAWhole(ofStatus.reason, items, requestId) : ofStatus;

  const received = at(json, 'events_received');
  if (received === items) return { kind: 'delivered', requestId };
  if (typeof received === 'number' && received >= 0 && received < items) {
    return refusedAsAWhole(`Only ${received} of ${items} events were received`, items, requestId);
  }
  return unreadable(response);
}

function verdictOfError(response: PlatformResponse, error: unknown, items: number): Verdict {
  const code = at(error, 'code');
  const subcode = at(error, 'error_subcode');
  const requestId = textAt(error, 'fbtrace_id');
  const codes = typeof subcode === 'number' ? `${code}/${subcode}` : `${code}`;
  if (code === TOKEN_INVALID) {
    // In our words: Meta's own repeat a token that it cannot read.
    return { kind: 'unauthorized', reason: `${codes} The access token is invalid or has expired`, requestId };
  }

  const reason = shorten(`${codes} ${textAt(error, 'error_user_title') ?? textAt(error, 'message') ?? ''}`);
  if (typeof code === 'number') {
    if (NO_PERMISSION.has(code) || (code === INVALID_PARAMETER && subcode === PIXEL_OUT_OF_REACH)) {
      return { kind: 'unauthorized', reason, requestId };
    }
    if (code === INVALID_PARAMETER) return refusedAsAWhole(reason, items, requestId);
    if (THROTTLED.has(code)) return { kind: 'retry', reason: 'throttled', afterMs: retryAfterMs(response), requestId };
    if (PASSING.has(code)) return passing(response, requestId);
  }
  if (at(error, 'is_transient') === true) return passing(response, requestId);

  const ofStatus = verdictOfStatus(response, reason, requestId) ?? unreadable(response);
  return ofStatus.kind === 'rejected' ? refusedAsAWhole(reason, items, requestId) : ofStatus;
}

function passing(response: PlatformResponse, requestId: string | undefined): Verdict {
  return { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response), requestId };
}
