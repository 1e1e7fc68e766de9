import { credentialFailure, isJsonContentType, jsonAnswer, receivedItems, withHeaders } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { type CheckedItem, type FieldChecks, problemsOf } from '../field-checks.js';
import { HOUR_MS, objectOf, parseJson } from '../values.js';

const EVENTS_MAX = 2_000;
const BODY_MAX_BYTES = 10 * 1024 * 1024;
const TIME_MIN_MS = Date.UTC(1971, 0, 1);
const DISTINCT_ID_MAX = 255;
const RETRY_AFTER_SECONDS = '1';
/** Values that Mixpanel refuses as a mistake. */
const PLACEHOLDERS = new Set([
  'anon',
  'anonymous',
  'nil',
  'none',
  'null',
  'n/a',
  '00000000-0000-0000-0000-000000000000',
]);

/** Mixpanel's `/import` with `strict=1`: https://docs.mixpanel.com/reference/import-events */
export const double: PlatformDouble = {
  name: 'mixpanel',

  answer(request) {
    if (request.path !== '/import') return refused(404, 'Not Found', 'no such endpoint');
    if (request.method !== 'POST') return refused(405, 'Method Not Allowed', 'use POST');
    const failure = credentialFailure(passwordOf(request));
    if (failure) return failures[failure](request);
    if (!request.query.get('project_id')) return refused(400, 'Bad Request', 'project_id is missing');
    if (Buffer.byteLength(request.body) > BODY_MAX_BYTES)
      return refused(413, 'Request Entity Too Large', 'request exceeds max limit of 10MB');
    const items = itemsOf(request);
    if (!items) return refused(400, 'Bad Request', 'the body is not a list of events');
    if (items.length > EVENTS_MAX) return refused(413, 'Request Entity Too Large', 'more than 2000 events');
    return imported(items, (item) => item.problems.length === 0);
  },

  fail: (kind, request) => failures[kind](request),
};

const failures: FailureAnswers = {
  refuse: (request) => {
    const items = itemsOf(request);
    return items ? imported(items, () => false) : refused(400, 'Bad Request', 'the body is not a list of events');
  },
  refuse_one: (request) => {
    const items = itemsOf(request);
    return items
      ? imported(items, ({ problems }, index) => index > 0 && problems.length === 0)
      : refused(400, 'Bad Request', 'the body is not a list of events');
  },
  throttle: (request) =>
    withHeaders(refused(429, 'Too Many Requests', 'Project exceeded rate limits.', refusedItems(request)), {
      'retry-after': RETRY_AFTER_SECONDS,
    }),
  server_error: (request) => refused(500, 'Internal Server Error', 'internal error', refusedItems(request)),
  unauthorized: (request) => refused(401, 'Unauthorized', 'Invalid credentials', refusedItems(request)),
  forbidden: (request) => refused(403, 'Forbidden', 'The service account has no access', refusedItems(request)),
};

function refused(code: number, status: string, error: string, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(code, { code, error, status }, received);
}

/** Valid events are imported even if others are refused. */
function imported(
  items: readonly CheckedItem[],
  isAccepted: (item: CheckedItem, index: number) => boolean,
): SandboxAnswer {
  const received = receivedItems(items, identify, isAccepted);
  const failed = items.flatMap((item, index) => {
    if (isAccepted(item, index)) return [];
    const [problem = 'the event is refused'] = item.problems;
    const { $insert_id: insertId } = objectOf(objectOf(item.item)['properties']);
    return [
      { index, insert_id: insertId, field: problem.split(' ')[0], message: `'properties' is invalid: ${problem}` },
    ];
  });
  const count = items.length - failed.length;
  if (failed.length === 0) return jsonAnswer(200, { code: 200, num_records_imported: count, status: 'OK' }, received);
  const error = 'some data points in the request failed validation';
  return jsonAnswer(
    400,
    { code: 400, error, status: 'Bad Request', num_records_imported: count, failed_records: failed },
    received,
  );
}

function identify(item: Readonly<Record<string, unknown>>) {
  const { $insert_id: insertId, distinct_id: distinctId, time } = objectOf(item['properties']);
  return { eventId: insertId, event: item['event'], dedupBy: [item['event'], distinctId, time] };
}

function refusedItems(request: SandboxRequest): readonly ReceivedItem[] {
  return receivedItems(itemsOf(request) ?? [], identify, () => false);
}

/** Undefined if the body is not a list. */
function itemsOf(request: SandboxRequest): CheckedItem[] | undefined {
  const body = parseJson(request.body);
  if (!Array.isArray(body)) return undefined;
  const ofRequest = isJsonContentType(request) ? [] : ['content-type is not application/json'];
  return body.map((item: unknown) => ({
    item,
    problems: [...ofRequest, ...problemsOf('event', item, (event) => checkEvent(event, request.nowMs))],
    warnings: [],
  }));
}

function checkEvent(event: FieldChecks, nowMs: number): void {
  event.required('event', check.text);
  const properties = event.object('properties', 'required');
  if (!properties) return;
  properties.required('$insert_id', check.format(/^[A-Za-z0-9-]{1,36}$/, 'is not 1 to 36 letters, digits and hyphens'));
  properties.required('time', (value) => timeProblem(value, nowMs));
  properties.required('distinct_id', distinctIdProblem);
  properties.optional('value', check.number);
  properties.optional('currency', check.currency);
  properties.optional('ip', check.ip);
  properties.optional('$current_url', check.url);
  if (Object.keys(properties.value).length > 255) properties.addOwn('has more than 255 properties');
}

/** Unix time in seconds or milliseconds. */
function timeProblem(value: unknown, nowMs: number): string | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value)) return 'is not a Unix time';
  const timeMs = value < 100_000_000_000 ? value * 1_000 : value;
  if (timeMs < TIME_MIN_MS) return 'is before 1971';
  return timeMs > nowMs + HOUR_MS ? 'is more than an hour in the future' : undefined;
}

function distinctIdProblem(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'is not a text';
  if (value.length > DISTINCT_ID_MAX) return 'is longer than 255 characters';
  return PLACEHOLDERS.has(value.toLowerCase()) ? 'is a placeholder' : undefined;
}

function passwordOf({ headers }: SandboxRequest): string | undefined {
  const [, encoded = ''] = /^Basic (.+)$/.exec(headers['authorization'] ?? '') ?? [];
  const pair = Buffer.from(encoded, 'base64').toString();
  return pair.includes(':') ? pair.slice(pair.indexOf(':') + 1) : undefined;
}
