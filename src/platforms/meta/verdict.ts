import { retryAfterMs } from '../../http/retry-after.js';
import { at, partlyProcessed, shorten, splitOrReject, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

const TOKEN_INVALID = 190;
const NO_PERMISSION = new Set([3, 200]);
const INVALID_PARAMETER = 100;
/** Subcode of 100: the pixel does not exist, or the token has no access to it. */
const PIXEL_NOT_ACCESSIBLE = 33;
const THROTTLED = new Set([4, 17, 32, 613, 80003]);
const TRANSIENT = new Set([1, 2, 341, 368, 5000, 21009]);

/** Meta's HTTP status is unreliable (an expired token may be a 500), so the error code takes precedence. */
export function verdict(response: PlatformResponse, items: number): Verdict {
  const { json } = response;
  const error = at(json, 'error');
  if (error !== undefined) return verdictOfError(response, error, items);

  const requestId = textAt(json, 'fbtrace_id');
  const statusVerdict = verdictOfStatus(response, undefined, requestId);
  if (statusVerdict)
    return statusVerdict.kind === 'rejected' ? splitOrReject(statusVerdict.reason, items, requestId) : statusVerdict;

  const received = at(json, 'events_received');
  if (received === items) return { kind: 'delivered', requestId };
  if (typeof received === 'number' && received >= 0 && received < items) {
    return partlyProcessed(received, items, `Only ${received} of ${items} events were received`, requestId);
  }
  return unreadable(response);
}

function verdictOfError(response: PlatformResponse, error: unknown, items: number): Verdict {
  const code = at(error, 'code');
  const subcode = at(error, 'error_subcode');
  const requestId = textAt(error, 'fbtrace_id');
  const codes = typeof subcode === 'number' ? `${code}/${subcode}` : `${code}`;
  if (code === TOKEN_INVALID) {
    // Meta's own message contains the token when it cannot be parsed.
    return { kind: 'unauthorized', reason: `${codes} The access token is invalid or has expired`, requestId };
  }

  const reason = shorten(`${codes} ${textAt(error, 'error_user_title') ?? textAt(error, 'message') ?? ''}`);
  if (typeof code === 'number') {
    if (NO_PERMISSION.has(code) || (code === INVALID_PARAMETER && subcode === PIXEL_NOT_ACCESSIBLE)) {
      return { kind: 'unauthorized', reason, requestId };
    }
    if (code === INVALID_PARAMETER) return splitOrReject(reason, items, requestId);
    if (THROTTLED.has(code)) return { kind: 'retry', reason: 'throttled', afterMs: retryAfterMs(response), requestId };
    if (TRANSIENT.has(code)) return transient(response, requestId);
  }
  if (at(error, 'is_transient') === true) return transient(response, requestId);

  const statusVerdict = verdictOfStatus(response, reason, requestId) ?? unreadable(response);
  return statusVerdict.kind === 'rejected' ? splitOrReject(reason, items, requestId) : statusVerdict;
}

function transient(response: PlatformResponse, requestId: string | undefined): Verdict {
  return { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response), requestId };
}
