import { at, shorten, textAt } from '../common-verdict.js';
import type { Verdict } from '../platform.js';

const SIX_HOURS_MS = 6 * 3_600_000;

const ALREADY_ACCEPTED = new Set(['ORDER_ID_ALREADY_IN_USE', 'CLICK_CONVERSION_ALREADY_EXISTS']);
/** Older API versions use CLICK in names where newer ones use EVENT. */
const TOO_RECENT = new Set(['TOO_RECENT_EVENT', 'TOO_RECENT_CLICK', 'TOO_RECENT_CONVERSION_ACTION']);
/** Two conversions of one order in one request: sent again on its own, the second is answered with "order in use". */
const DUPLICATE_IN_REQUEST = new Set(['DUPLICATE_ORDER_ID', 'DUPLICATE_CLICK_CONVERSION_IN_REQUEST']);

/** The verdict on the conversion, or on the request, that an error of the Google Ads API refers to. */
export function verdictOfUploadError(error: unknown): Verdict {
  const [category, code] = codeOf(error);
  const reason = code ?? shorten(textAt(error, 'message') ?? 'unknown error');
  if (code === undefined) return { kind: 'rejected', reason };
  switch (category) {
    case 'internalError':
      return { kind: 'retry', reason: 'server_error' };
    case 'quotaError':
      return { kind: 'retry', reason: 'throttled', afterMs: retryDelayMs(error) };
    case 'authenticationError':
    case 'authorizationError':
      return { kind: 'unauthorized', reason };
  }
  // Every request fails until upload_api_version is changed. Parking the connection keeps the conversions.
  if (code === 'UNSUPPORTED_VERSION') return { kind: 'unauthorized', reason };
  if (ALREADY_ACCEPTED.has(code)) return { kind: 'delivered' };
  // Not `throttled`: only this conversion has to wait.
  if (TOO_RECENT.has(code)) return { kind: 'retry', reason: 'server_error', afterMs: SIX_HOURS_MS, unknown: false };
  if (DUPLICATE_IN_REQUEST.has(code)) return { kind: 'retry', reason: 'server_error', unknown: false };
  return { kind: 'rejected', reason };
}

/** Splits `{"conversionUploadError":"CLICK_NOT_FOUND"}` into category and code. */
function codeOf(error: unknown): readonly [category: string | undefined, code: string | undefined] {
  const errorCode = at(error, 'errorCode');
  if (typeof errorCode !== 'object' || errorCode === null) return [undefined, undefined];
  const [category, code] = Object.entries(errorCode)[0] ?? [];
  return [category, typeof code === 'string' ? shorten(code) : undefined];
}

/** Parses a protobuf duration such as `30s` or `1.5s`. */
function retryDelayMs(error: unknown): number | undefined {
  const seconds = Number.parseFloat(textAt(error, 'details', 'quotaErrorDetails', 'retryDelay') ?? '');
  return seconds > 0 ? Math.ceil(seconds * 1_000) : undefined;
}
