import { at, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { verdictOfUploadError } from './upload-errors.js';

/** What an answer to `validateOnly` may consist of: no trace of an error. */
const VALIDATION_FIELDS = new Set(['requestId', 'fieldWarnings', 'results', 'jobId']);
/** An answer of this length that is no JSON was cut off when it was read. */
const CUT_OFF_BYTES = 65_000;
/** `events[3].currency`, `conversions[0]`. */
const PLACE = /^(?:events|conversions)\[(\d+)\]\.?(.*)$/s;

/** Something that Google found wrong, and where: in one payload, or in what all of a call share. */
interface Problem {
  readonly where: number | 'call' | 'unknown';
  readonly verdict: Verdict;
}

/** Of both APIs: no answer of the one can be taken for one of the other. */
export function verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const { json, status } = response;
  if (status < 200 || status >= 300) return refused(response, items);
  if (at(json, 'error') !== undefined) return unreadable(response);
  const requestId = textAt(json, 'requestId');
  if (requestId) return { kind: 'accepted', requestId };
  if (at(json, 'results') !== undefined || at(json, 'partialFailureError') !== undefined) {
    return uploaded(response, items);
  }
  // Smaller calls have shorter answers, and what was taken already is then reported as a duplicate.
  if (items > 1 && isCutOff(response)) return { kind: 'split', reason: 'the answer is too long to be read' };
  return unreadable(response);
}

/** Of an answer to `validateOnly`, which need not name a request and has no results. */
export function validateVerdict(response: PlatformResponse): Verdict {
  const { json, status } = response;
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  if (status >= 200 && status < 300 && isObject && Object.keys(json).every((name) => VALIDATION_FIELDS.has(name))) {
    return { kind: 'accepted' };
  }
  const found = verdict(response, 1);
  return 'kind' in found ? found : (found[0] ?? unreadable(response));
}

/** The upload answers for each conversion in its place: with what it took, and with `{}` for what it did not. */
function uploaded(response: PlatformResponse, items: number): readonly Verdict[] {
  const { json } = response;
  const details = at(json, 'partialFailureError', 'details');
  const problems = problemsIn(details, items);
  const ofItem = byItem(problems);
  const requestId = requestIdIn(details) ?? textAt(json, 'jobId');
  return Array.from({ length: items }, (_, index): Verdict => {
    const found = ofItem.get(index);
    if (found !== undefined) return withRequestId(found, requestId);
    if (textAt(json, 'results', index, 'conversionAction') !== undefined) return { kind: 'delivered', requestId };
    return withRequestId(ofCall(problems) ?? unreadable(response), requestId);
  });
}

/** Nothing of the call was taken. */
function refused(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  const { json, status } = response;
  const details = at(json, 'error', 'details');
  const requestId = requestIdIn(details);
  // ABORTED: two calls got in each other's way.
  if (status === 409) return { kind: 'retry', reason: 'server_error', requestId };
  const problems = problemsIn(details, items);
  const ofStatus = verdictOfStatus(response, reasonOf(problems, json), requestId) ?? unreadable(response);
  if (ofStatus.kind === 'retry') return { ...ofStatus, afterMs: ofStatus.afterMs ?? delayOf(problems) };
  if (ofStatus.kind !== 'rejected') return ofStatus;

  const shared = ofCall(problems);
  if (shared !== undefined) return withRequestId(shared, requestId);
  const ofItem = byItem(problems);
  if (ofItem.size === 0) return items > 1 ? { ...ofStatus, kind: 'split' } : ofStatus;
  return Array.from({ length: items }, (_, index): Verdict => {
    const found = ofItem.get(index);
    return found === undefined ? { kind: 'again' } : withRequestId(found, requestId);
  });
}

/** Of `fieldViolations`, as both APIs have them for a malformed call, and of the Google Ads API's own `errors`. */
function problemsIn(details: unknown, items: number): readonly Problem[] {
  return listOf(details).flatMap((detail) => [
    ...listOf(at(detail, 'fieldViolations')).map((violation) => problemOfViolation(violation, items)),
    ...listOf(at(detail, 'errors')).map((error) => ({
      where: placeOf(at(error, 'location', 'fieldPathElements', 0, 'index'), items),
      verdict: verdictOfUploadError(error),
    })),
  ]);
}

function problemOfViolation(violation: unknown, items: number): Problem {
  const field = textAt(violation, 'field') ?? '';
  const said = textAt(violation, 'reason') ?? textAt(violation, 'description') ?? 'invalid';
  const [, index, path = field] = PLACE.exec(field) ?? [];
  const where = field.startsWith('destinations') ? 'call' : placeOf(index && Number(index), items);
  return { where, verdict: { kind: 'rejected', reason: shorten(path === '' ? said : `${said} at ${path}`) } };
}

/** In a call of one payload it is clear which one is meant. */
function placeOf(index: unknown, items: number): number | 'unknown' {
  if (items === 1) return 0;
  return typeof index === 'number' && index >= 0 && index < items ? index : 'unknown';
}

function byItem(problems: readonly Problem[]): Map<number, Verdict> {
  const verdicts = new Map<number, Verdict>();
  for (const { where, verdict } of problems) {
    if (typeof where === 'number' && !verdicts.has(where)) verdicts.set(where, verdict);
  }
  return verdicts;
}

/** What holds for every payload of the call: an outage or the credentials, or a destination that is wrong. */
function ofCall(problems: readonly Problem[]): Verdict | undefined {
  return problems.find(
    ({ where, verdict: { kind } }) =>
      where === 'call' || (where === 'unknown' && (kind === 'retry' || kind === 'unauthorized')),
  )?.verdict;
}

function reasonOf(problems: readonly Problem[], json: unknown): string | undefined {
  for (const { verdict } of problems) if ('reason' in verdict) return verdict.reason;
  const said = [textAt(json, 'error', 'status'), textAt(json, 'error', 'message')].filter(Boolean);
  return said.length === 0 ? undefined : said.join(': ');
}

function delayOf(problems: readonly Problem[]): number | undefined {
  for (const { verdict } of problems) if (verdict.kind === 'retry') return verdict.afterMs;
  return undefined;
}

function requestIdIn(details: unknown): string | undefined {
  for (const detail of listOf(details)) {
    const requestId = textAt(detail, 'requestId') ?? textAt(detail, 'metadata', 'requestId');
    if (requestId) return requestId;
  }
  return undefined;
}

function withRequestId(verdict: Verdict, requestId: string | undefined): Verdict {
  return verdict.kind === 'again' || verdict.kind === 'gone' ? verdict : { ...verdict, requestId };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isCutOff({ json, text }: PlatformResponse): boolean {
  return json === undefined && Buffer.byteLength(text) > CUT_OFF_BYTES;
}
