import { retryAfterMs } from '../../http/retry-after.js';
import {
  at,
  joined,
  listAt,
  partlyProcessed,
  splitOrReject,
  textAt,
  unreadable,
  verdictOfStatus,
} from '../common-verdict.js';
import { rowOf, verdictOfRow } from '../error-table.js';
import type { OptionalIdentifier } from '../optional-identifiers.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { type IdentifierNames, refusedFields } from '../refused-fields.js';
import { ERRORS } from './errors.js';

/** The length of X's rate limit window. */
const RATE_WINDOW_MS = 15 * 60 * 1_000;

/** The parameters that an error of one conversion may name, also with a path before it. */
const IDENTIFIERS: IdentifierNames = {
  twclid: 'click',
  hashed_email: 'email',
  hashed_phone_number: 'phone',
  ip_address: 'device',
  user_agent: 'device',
};

export function verdict(response: PlatformResponse, items: number): Verdict {
  const { status, json } = response;
  const code = textAt(json, 'errors', 0, 'code');
  const reason = reasonOf(json);
  const row = status >= 400 && status < 500 ? rowOf(ERRORS, code) : undefined;
  if (row) return verdictOfRow(row, reason ?? `HTTP ${status}`);
  if (status === 429) return { kind: 'retry', reason: 'throttled', afterMs: waitMs(response) };
  // The answer does not identify the conversion, and another 404 may concern one only: a wrong event id.
  if (status === 400 || status === 404 || status === 413 || status === 422) {
    const refused = splitOrReject(reason ?? `HTTP ${status}`, items);
    return refused.kind === 'rejected' ? refusedFields([identifierIn(json)], refused.reason) : refused;
  }
  const refusal = verdictOfStatus(response, reason);
  if (refusal) return refusal;
  const processed = at(json, 'data', 'conversions_processed');
  const requestId = textAt(json, 'data', 'debug_id');
  if (typeof processed !== 'number' || at(json, 'errors') !== undefined) return unreadable(response);
  if (processed < items) return partlyProcessed(processed, items, `processed ${processed} of ${items}`, requestId);
  return { kind: 'delivered', requestId };
}

function identifierIn(json: unknown): OptionalIdentifier | undefined {
  if (listAt(json, 'errors').length !== 1) return undefined;
  const [name = ''] = /\w+$/.exec(textAt(json, 'errors', 0, 'parameter') ?? '') ?? [];
  return Object.hasOwn(IDENTIFIERS, name) ? IDENTIFIERS[name] : undefined;
}

function reasonOf(json: unknown): string | undefined {
  return joined(...['code', 'parameter', 'message'].map((name) => textAt(json, 'errors', 0, name)));
}

/** X reports the end of the rate limit window as a Unix time, by its own clock. */
function waitMs(response: PlatformResponse): number | undefined {
  const { headers } = response;
  const nowMs = Date.parse(headers['date'] ?? '') || Date.now();
  const resets = [headers['x-rate-limit-reset'], headers['x-account-rate-limit-reset']];
  const untilResetMs = Math.max(...resets.map((seconds) => Number(seconds ?? 0) * 1_000 - nowMs || 0));
  const ms = Math.max(retryAfterMs(response) ?? 0, Math.min(untilResetMs, RATE_WINDOW_MS));
  return ms > 0 ? ms : undefined;
}
