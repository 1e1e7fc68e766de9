import {
  at,
  isCutOff,
  joined,
  listAt,
  shorten,
  textAt,
  unreadable,
  verdictOfOne,
  verdictOfStatus,
  withRequestId,
} from '../common-verdict.js';
import { type ErrorRow, rowOf, verdictOfRow } from '../error-table.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { refusedFields } from '../refused-fields.js';
import { DESTINATION_ERRORS, INGEST_ERRORS } from './errors.js';
import { identifierAt } from './identifier-at.js';
import { verdictOfUploadError } from './upload-errors.js';

/** The fields that a successful answer to `validateOnly` may have. */
const VALIDATION_FIELDS = new Set(['requestId', 'fieldWarnings', 'results', 'jobId']);
/** `events[3].currency`, `events.events[3].currency`, `conversions[0]`. */
const ITEM_PATH = /^(?:events\.)?(?:events|conversions|conversionAdjustments|conversion_adjustments)\[(\d+)\]\.?(.*)$/s;

/** The part of a request that the settings determine. */
const DESTINATION_PATH = /^destinations\b/;
const ABOUT_DESTINATIONS = [...INGEST_ERRORS, ...DESTINATION_ERRORS];

/** An error and its location: the index of a payload, or the part of the request that all payloads share. */
interface Problem {
  readonly location: number | 'request' | 'unknown';
  readonly verdict: Verdict;
}

/** Handles the answers of both APIs; their formats do not overlap. */
export function verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const { json, status } = response;
  if (status < 200 || status >= 300) return refused(response, items);
  if (at(json, 'error') !== undefined) return unreadable(response);
  const requestId = textAt(json, 'requestId');
  if (requestId) return { kind: 'accepted', requestId };
  if (at(json, 'results') !== undefined || at(json, 'partialFailureError') !== undefined) {
    return uploaded(response, items);
  }
  // A smaller batch gets a shorter answer, and conversions that were already accepted are reported as duplicates.
  if (items > 1 && isCutOff(response)) {
    return { kind: 'split', reason: 'the answer is too long to be read', unknown: true };
  }
  return unreadable(response);
}

/** The verdict on an answer to `validateOnly`, which may lack a request id and has no results. */
export function validateVerdict(response: PlatformResponse): Verdict {
  const { json, status } = response;
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  if (status >= 200 && status < 300 && isObject && Object.keys(json).every((name) => VALIDATION_FIELDS.has(name))) {
    return { kind: 'accepted' };
  }
  return verdictOfOne(verdict(response, 1), response);
}

/** The upload returns one result per conversion, in their order: `{}` for those it did not accept. */
function uploaded(response: PlatformResponse, items: number): readonly Verdict[] {
  const { json } = response;
  const details = listAt(json, 'partialFailureError', 'details');
  const problems = problemsIn(details, items);
  const verdicts = byIndex(problems);
  const requestId = requestIdIn(details) ?? textAt(json, 'jobId');
  return Array.from({ length: items }, (_, index): Verdict => {
    const verdict = verdicts.get(index);
    if (verdict !== undefined) return withRequestId(verdict, requestId);
    if (textAt(json, 'results', index, 'conversionAction') !== undefined) return { kind: 'delivered', requestId };
    return withRequestId(verdictOfRequest(problems) ?? unreadable(response), requestId);
  });
}

/** The request was refused as a whole. */
function refused(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const { json, status } = response;
  const details = listAt(json, 'error', 'details');
  const requestId = requestIdIn(details);
  // ABORTED: two concurrent requests conflicted.
  if (status === 409) return { kind: 'retry', reason: 'server_error', unknown: false, requestId };
  const problems = problemsIn(details, items, textAt(json, 'error', 'message'));
  const statusVerdict = verdictOfStatus(response, reasonOf(problems, json), requestId) ?? unreadable(response);
  if (statusVerdict.kind === 'retry') return { ...statusVerdict, afterMs: statusVerdict.afterMs ?? delayOf(problems) };
  // A 403 may be the answer to a wrong setting, which a fresh token does not change.
  const misconfigured = problems.find(({ verdict }) => verdict.kind === 'misconfigured');
  if (statusVerdict.kind === 'unauthorized' && misconfigured) return withRequestId(misconfigured.verdict, requestId);
  if (statusVerdict.kind !== 'rejected') return statusVerdict;

  const shared = verdictOfRequest(problems);
  if (shared !== undefined) return withRequestId(shared, requestId);
  const verdicts = byIndex(problems);
  if (verdicts.size === 0) return items > 1 ? { ...statusVerdict, kind: 'split' } : statusVerdict;
  return Array.from({ length: items }, (_, index): Verdict => {
    const verdict = verdicts.get(index);
    return verdict === undefined ? { kind: 'resend' } : withRequestId(verdict, requestId);
  });
}

/**
 * Reads `fieldViolations`, which both APIs return for a malformed request, the `errors` of the Google Ads API, and the
 * reason for the whole request, if a person can fix it.
 */
function problemsIn(details: readonly unknown[], items: number, message?: string): readonly Problem[] {
  const isOfFields = details.some((detail) => listAt(detail, 'fieldViolations').length > 0);
  return details.flatMap((detail) => [
    ...problemOfRequest(textAt(detail, 'reason'), isOfFields ? INGEST_ERRORS : ABOUT_DESTINATIONS, message),
    ...listAt(detail, 'fieldViolations').map((violation) => problemOfViolation(violation, items)),
    ...listAt(detail, 'errors').map((error) => ({
      location: locationOf(at(error, 'location', 'fieldPathElements', 0, 'index'), items),
      verdict: verdictOfUploadError(error),
    })),
  ]);
}

function problemOfRequest(
  reason: string | undefined,
  table: readonly ErrorRow[],
  message: string | undefined,
): readonly Problem[] {
  const row = rowOf(table, reason);
  return row ? [{ location: 'request', verdict: verdictOfRow(row, joined(reason, message) ?? '') }] : [];
}

function problemOfViolation(violation: unknown, items: number): Problem {
  const field = textAt(violation, 'field') ?? '';
  const reason = textAt(violation, 'reason') ?? textAt(violation, 'description') ?? 'invalid';
  const [, index, path = field] = ITEM_PATH.exec(field) ?? [];
  const text = path === '' ? reason : `${reason} at ${path}`;
  if (DESTINATION_PATH.test(field)) return { location: 'request', verdict: verdictOfDestination(reason, text) };
  const location = locationOf(index && Number(index), items);
  const row = rowOf(INGEST_ERRORS, reason);
  if (row) return { location, verdict: verdictOfRow(row, text) };
  return { location, verdict: refusedFields([identifierAt(path, reason)], shorten(text)) };
}

/** The destinations come from the settings alone, so that every other event would be refused, too. */
function verdictOfDestination(reason: string, text: string): Verdict {
  const row = rowOf(ABOUT_DESTINATIONS, reason);
  return row ? verdictOfRow(row, text) : { kind: 'misconfigured', reason: shorten(text) };
}

/** In a request with one payload every error refers to that payload. */
function locationOf(index: unknown, items: number): number | 'unknown' {
  if (items === 1) return 0;
  return typeof index === 'number' && index >= 0 && index < items ? index : 'unknown';
}

/** The first problem of a payload decides, unless only identifiers were refused before. */
function byIndex(problems: readonly Problem[]): Map<number, Verdict> {
  const verdicts = new Map<number, Verdict>();
  for (const { location, verdict } of problems) {
    if (typeof location !== 'number') continue;
    const earlier = verdicts.get(location);
    if (earlier === undefined) verdicts.set(location, verdict);
    else if (earlier.kind === 'without') verdicts.set(location, both(earlier, verdict));
  }
  return verdicts;
}

function both(one: Extract<Verdict, { kind: 'without' }>, other: Verdict): Verdict {
  if (other.kind !== 'without') return other;
  return { ...one, identifiers: [...new Set([...one.identifiers, ...other.identifiers])] };
}

/** The verdict that applies to every payload of the request: an outage, bad credentials, or a wrong setting or destination. */
function verdictOfRequest(problems: readonly Problem[]): Verdict | undefined {
  return problems.find(
    ({ location, verdict: { kind } }) =>
      location === 'request' ||
      (location === 'unknown' && (kind === 'retry' || kind === 'unauthorized' || kind === 'misconfigured')),
  )?.verdict;
}

function reasonOf(problems: readonly Problem[], json: unknown): string | undefined {
  for (const { verdict } of problems) if ('reason' in verdict) return verdict.reason;
  return joined(textAt(json, 'error', 'status'), textAt(json, 'error', 'message'));
}

function delayOf(problems: readonly Problem[]): number | undefined {
  for (const { verdict } of problems) if (verdict.kind === 'retry') return verdict.afterMs;
  return undefined;
}

function requestIdIn(details: readonly unknown[]): string | undefined {
  for (const detail of details) {
    const requestId = textAt(detail, 'requestId') ?? textAt(detail, 'metadata', 'requestId');
    if (requestId) return requestId;
  }
  return undefined;
}
