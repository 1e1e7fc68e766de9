import { credentialFailure, isJsonContentType, jsonAnswer, receivedItems, withHeaders } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { type CheckedItem, type FieldChecks, problemsOf } from '../field-checks.js';
import { HOUR_MS, isObject, objectOf, parseJson } from '../values.js';

const BODY_MAX_BYTES = 20 * 1024 * 1024;
const DISTINCT_ID_MAX = 200;
const RETRY_AFTER_SECONDS = '1';
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** PostHog's `/batch/`: https://posthog.com/docs/api/capture */
export const double: PlatformDouble = {
  name: 'posthog',

  answer(request) {
    if (request.path !== '/batch/') return refused(404, 'invalid_request', 'not_found', 'Endpoint not found.');
    if (request.method !== 'POST') return refused(405, 'invalid_request', 'method_not_allowed', 'Use POST.');
    if (Buffer.byteLength(request.body) > BODY_MAX_BYTES)
      return refused(413, 'validation_error', 'too_large', 'The payload is larger than 20 MB.');
    const body = parseJson(request.body);
    if (!isObject(body)) return refused(400, 'validation_error', 'invalid_payload', 'The body is no JSON object.');
    const { api_key: apiKey } = body;
    const failure = credentialFailure(typeof apiKey === 'string' ? apiKey : undefined);
    if (failure) return failures[failure](request);
    const items = itemsOf(request);
    const isValid = items.every(({ problems }) => problems.length === 0);
    if (items.length === 0 || !isValid) return invalid(request);
    return jsonAnswer(
      200,
      { status: 'Ok' },
      receivedItems(items, identify, () => true),
    );
  },

  fail: (kind, request) => failures[kind](request),
};

/** One invalid event makes it refuse the whole batch, without its name. */
const invalid = (request: SandboxRequest) =>
  refused(400, 'validation_error', 'invalid_payload', 'An event of the batch is invalid.', refusedItems(request));

const failures: FailureAnswers = {
  refuse: invalid,
  refuse_one: invalid,
  throttle: (request) =>
    withHeaders(refused(429, 'throttled', 'throttled', 'Too many requests.', refusedItems(request)), {
      'retry-after': RETRY_AFTER_SECONDS,
    }),
  server_error: (request) => refused(503, 'server_error', 'error', 'Unavailable.', refusedItems(request)),
  unauthorized: (request) =>
    refused(401, 'authentication_error', 'invalid_api_key', 'Project API key invalid.', refusedItems(request)),
  forbidden: (request) =>
    refused(403, 'authentication_error', 'permission_denied', 'No access to the project.', refusedItems(request)),
};

function refused(
  status: number,
  type: string,
  code: string,
  detail: string,
  received?: readonly ReceivedItem[],
): SandboxAnswer {
  return jsonAnswer(status, { type, code, detail, attr: null }, received);
}

function identify(item: Readonly<Record<string, unknown>>) {
  const { distinct_id: distinctId } = objectOf(item['properties']);
  return { eventId: item['uuid'], event: item['event'], dedupBy: [item['event'], distinctId, item['timestamp']] };
}

function refusedItems(request: SandboxRequest): readonly ReceivedItem[] {
  return receivedItems(itemsOf(request), identify, () => false);
}

function itemsOf(request: SandboxRequest): CheckedItem[] {
  const { batch } = objectOf(parseJson(request.body));
  if (!Array.isArray(batch)) return [];
  const ofRequest = isJsonContentType(request) ? [] : ['content-type is not application/json'];
  return batch.map((item: unknown) => ({
    item,
    problems: [...ofRequest, ...problemsOf('event', item, (event) => checkEvent(event, request.nowMs))],
    warnings: [],
  }));
}

function checkEvent(event: FieldChecks, nowMs: number): void {
  event.required('event', check.text);
  event.optional('uuid', check.format(UUID, 'is not a UUID'));
  event.optional('timestamp', check.isoTime({ nowMs, aheadMaxMs: HOUR_MS }));
  const properties = event.object('properties', 'required');
  if (!properties) return;
  properties.required('distinct_id', (id) => check.text(id, DISTINCT_ID_MAX));
  properties.optional('$ip', check.ip);
  properties.optional('$current_url', check.url);
}
