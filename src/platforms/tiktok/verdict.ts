import { retryAfterMs } from '../../http/retry-after.js';
import { at, shorten, splitOrReject, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import { rowOf, verdictOfRow } from '../error-table.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { ERRORS } from './errors.js';

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
  const row = typeof code === 'number' ? rowOf(ERRORS, code) : undefined;
  const verdict = row && verdictOfRow(row, reason, { afterMs: retryAfterMs(response), requestId });
  // Another status contradicts a success, and a rejection may be the proxy's.
  if (verdict !== undefined && verdict.kind !== 'delivered' && verdict.kind !== 'rejected') return verdict;

  const statusVerdict = verdictOfStatus(response, undefined, requestId);
  if (statusVerdict)
    return statusVerdict.kind === 'rejected' ? splitOrReject(statusVerdict.reason, items, requestId) : statusVerdict;
  if (typeof code !== 'number') return unreadable(response);
  if (verdict?.kind === 'delivered') return verdict;
  return isClientError(code) ? splitOrReject(reason, items, requestId) : unreadable(response);
}

/** For codes that the table does not have. */
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
