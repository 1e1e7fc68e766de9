import { retryAfterMs } from '../../http/retry-after.js';
import { at, partlyProcessed, shorten, splitOrReject, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import { rowOf, verdictOfRow } from '../error-table.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { ERRORS } from './errors.js';
import { waitMs } from './usage.js';

const TOKEN_INVALID = 190;

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

/** The verdict on reading the pixel. A token that may send to a pixel need not have the permission to read it. */
export function pixelVerdict(response: PlatformResponse): Verdict | undefined {
  if (isPermission(at(response.json, 'error', 'code'))) return undefined;
  return textAt(response.json, 'id') === undefined ? verdict(response, 1) : { kind: 'accepted' };
}

export function isPermission(code: unknown): boolean {
  return typeof code === 'number' && (code === 3 || code === 10 || (code >= 200 && code < 300));
}

function verdictOfError(response: PlatformResponse, error: unknown, items: number): Verdict {
  const code = at(error, 'code');
  const subcode = at(error, 'error_subcode');
  const requestId = textAt(error, 'fbtrace_id');
  const codes = typeof subcode === 'number' ? `${code}/${subcode}` : `${code}`;
  // Meta's own message contains the token when it cannot be parsed.
  const message =
    code === TOKEN_INVALID
      ? 'The access token is invalid or has expired'
      : (textAt(error, 'error_user_title') ?? textAt(error, 'message') ?? '');
  const reason = shorten(`${codes} ${message}`);
  const row = typeof code === 'number' ? rowOf(ERRORS, codes, code) : undefined;
  const afterMs = row?.verdict === 'throttled' ? waitMs(response) : retryAfterMs(response);
  if (row === undefined && at(error, 'is_transient') === true)
    return { kind: 'retry', reason: 'server_error', afterMs, requestId };

  const verdict = row
    ? verdictOfRow(row, reason, { afterMs, requestId })
    : (verdictOfStatus(response, reason, requestId) ?? unreadable(response));
  return verdict.kind === 'rejected' ? splitOrReject(reason, items, requestId) : verdict;
}
