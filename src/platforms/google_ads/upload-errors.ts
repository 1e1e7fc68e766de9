import { at, shorten, textAt } from '../common-verdict.js';
import type { Verdict } from '../platform.js';

const SIX_HOURS_MS = 6 * 3_600_000;

const TAKEN_BEFORE = new Set(['ORDER_ID_ALREADY_IN_USE', 'CLICK_CONVERSION_ALREADY_EXISTS']);
/** Older versions say CLICK where newer ones say EVENT. */
const TOO_EARLY = new Set(['TOO_RECENT_EVENT', 'TOO_RECENT_CLICK', 'TOO_RECENT_CONVERSION_ACTION']);
/** Two of one order in one call: alone, at another moment, the second is told that the order is in use. */
const TWICE_IN_ONE_CALL = new Set(['DUPLICATE_ORDER_ID', 'DUPLICATE_CLICK_CONVERSION_IN_REQUEST']);

/** What one error of the Google Ads API means for the conversion, or the call, that it is about. */
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
  // Every call fails until upload_api_version is changed, and no conversion should be lost meanwhile.
  if (code === 'UNSUPPORTED_VERSION') return { kind: 'unauthorized', reason };
  if (TAKEN_BEFORE.has(code)) return { kind: 'delivered' };
  // Not throttled: the wait is this conversion's own, and others need not share it.
  if (TOO_EARLY.has(code)) return { kind: 'retry', reason: 'server_error', afterMs: SIX_HOURS_MS };
  if (TWICE_IN_ONE_CALL.has(code)) return { kind: 'retry', reason: 'server_error' };
  return { kind: 'rejected', reason };
}

/** `{"conversionUploadError":"CLICK_NOT_FOUND"}` in two parts. */
function codeOf(error: unknown): readonly [category: string | undefined, code: string | undefined] {
  const errorCode = at(error, 'errorCode');
  if (typeof errorCode !== 'object' || errorCode === null) return [undefined, undefined];
  const [category, code] = Object.entries(errorCode)[0] ?? [];
  return [category, typeof code === 'string' ? shorten(code) : undefined];
}

/** A duration of Google's, such as `30s` or `1.5s`. */
function retryDelayMs(error: unknown): number | undefined {
  const seconds = Number.parseFloat(textAt(error, 'details', 'quotaErrorDetails', 'retryDelay') ?? '');
  return seconds > 0 ? Math.ceil(seconds * 1_000) : undefined;
}
