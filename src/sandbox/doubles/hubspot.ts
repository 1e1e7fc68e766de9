import {
  bearerToken,
  credentialFailure,
  isJsonContentType,
  jsonAnswer,
  receivedItems,
  withHeaders,
} from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { type CheckedItem, type FieldChecks, problemsOf } from '../field-checks.js';
import { DAY_MS, HOUR_MS, isObject, parseJson } from '../values.js';

const FIELDS = new Set(['eventName', 'properties', 'email', 'objectId', 'occurredAt', 'utk', 'uuid']);
const EVENT_NAME = /^pe\d+_\w+$/;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
const CORRELATION_ID = 'aeb5f871-7f07-4993-9211-075dc63e7cbf';
const RETRY_AFTER_SECONDS = '1';

/** HubSpot's custom events: https://developers.hubspot.com/docs/api-reference/legacy/events/send-event-data/guide */
export const double: PlatformDouble = {
  name: 'hubspot',
  dedupWindowMs: 365 * DAY_MS,

  answer(request) {
    if (request.path !== '/events/v3/send') return refused(404, 'OBJECT_NOT_FOUND', 'No such resource');
    if (request.method !== 'POST') return refused(405, 'VALIDATION_ERROR', 'Method not allowed');
    const failure = credentialFailure(bearerToken(request));
    if (failure) return failures[failure](request);
    const items = itemsOf(request);
    const [problem] = items.flatMap(({ problems }) => problems);
    if (problem !== undefined)
      return refused(400, 'VALIDATION_ERROR', `Invalid input JSON: ${problem}`, refusedItems(request));
    return {
      status: 204,
      body: '',
      received: receivedItems(items, identify, () => true),
    };
  },

  fail: (kind, request) => failures[kind](request),
};

const invalid = (request: SandboxRequest) =>
  refused(400, 'VALIDATION_ERROR', 'Invalid input JSON', refusedItems(request));

const failures: FailureAnswers = {
  refuse: invalid,
  refuse_one: invalid,
  throttle: (request) =>
    withHeaders(refused(429, 'RATE_LIMITS', 'You have reached your secondly limit.', refusedItems(request)), {
      'retry-after': RETRY_AFTER_SECONDS,
    }),
  server_error: (request) => refused(503, 'SERVER_ERROR', 'Service unavailable', refusedItems(request)),
  unauthorized: (request) =>
    refused(401, 'INVALID_AUTHENTICATION', 'Authentication credentials not found.', refusedItems(request)),
  forbidden: (request) =>
    refused(403, 'MISSING_SCOPES', 'This app has not been granted all required scopes.', refusedItems(request)),
};

function refused(status: number, category: string, message: string, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(status, { status: 'error', message, correlationId: CORRELATION_ID, category }, received);
}

function identify({ uuid, eventName }: Readonly<Record<string, unknown>>) {
  return { eventId: uuid, event: eventName, dedupBy: [eventName] };
}

function refusedItems(request: SandboxRequest): readonly ReceivedItem[] {
  return receivedItems(itemsOf(request), identify, () => false);
}

function itemsOf(request: SandboxRequest): CheckedItem[] {
  const item = parseJson(request.body);
  const ofRequest = isJsonContentType(request) ? [] : ['content-type is not application/json'];
  const problems = isObject(item)
    ? problemsOf('event', item, (event) => checkEvent(event, request.nowMs))
    : ['is no object'];
  return [{ item, problems: [...ofRequest, ...problems], warnings: [] }];
}

/** An account defines the properties of its events. */
function checkEvent(event: FieldChecks, nowMs: number): void {
  event.known(FIELDS);
  event.required('eventName', check.format(EVENT_NAME, 'is not the fully qualified name of an event'));
  event.object('properties', 'required');
  event.optional('occurredAt', check.isoTime({ nowMs, aheadMaxMs: HOUR_MS }));
  event.optional('uuid', check.format(UUID, 'is not a UUID'));
  event.allOptional(['email', 'objectId', 'utk'], check.raw);
  if (!event.has('email', 'objectId', 'utk')) event.addOwn('has neither email, objectId nor utk');
}
