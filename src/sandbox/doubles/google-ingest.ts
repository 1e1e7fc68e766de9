import {
  isJsonContentType,
  isObject,
  isText,
  type JsonObject,
  jsonAnswer,
  parseJson,
  receivedItem,
  textOf,
} from '../checks.js';
import type { FailureKind, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { clickIdOf, eventViolations, requestViolations, type Violation } from './google-event-checks.js';
import { newRequestId } from './google-request-status.js';

export const INGEST_PATH = '/v1/events:ingest';

export function ingestAnswer(request: SandboxRequest): SandboxAnswer {
  const body = isJsonContentType(request) ? parseJson(request.body) : undefined;
  if (!isObject(body))
    return invalid([{ field: '', description: 'The body is not JSON.', reason: 'INVALID_ARGUMENT' }]);
  const events = Array.isArray(body['events']) ? (body['events'] as unknown[]) : [];
  const ofRequest = requestViolations(body, events);
  const ofEvents = events.map((event, index) => eventViolations(event, index, body, request.nowMs));
  const all = [...ofRequest, ...ofEvents.flat()];
  const received = receivedEvents(body, events, ofEvents, all.length === 0);
  if (all.length > 0) return invalid(all, received);
  // A trial leaves nothing behind.
  if (body['validateOnly'] === true) return jsonAnswer(200, {});
  const denied = events.filter(isDenied).length;
  return jsonAnswer(200, { requestId: newRequestId(request.memory, events.length, denied) }, received);
}

export function ingestFailure(kind: FailureKind, request: SandboxRequest): SandboxAnswer {
  switch (kind) {
    case 'refuse':
    case 'refuse_one':
      return refused(kind, request);
    case 'throttle':
      return apiError(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded.', {
        quota_limit: 'IngestRequestsPerMinutePerProject',
      });
    case 'server_error':
      return apiError(503, 'UNAVAILABLE', 'The service is currently unavailable.');
    case 'unauthorized':
      return apiError(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.');
    case 'forbidden':
      return apiError(403, 'PERMISSION_DENIED', 'The caller does not have permission.');
  }
}

function refused(kind: 'refuse' | 'refuse_one', request: SandboxRequest): SandboxAnswer {
  const body = parseJson(request.body);
  const events = isObject(body) && Array.isArray(body['events']) ? (body['events'] as unknown[]) : [];
  const violations = (kind === 'refuse' ? events : events.slice(0, 1)).map((_, index) => ({
    field: `events[${index}]`,
    description: 'The event is invalid.',
    reason: 'INVALID_EVENT',
  }));
  return invalid(violations, isObject(body) ? receivedEvents(body, events, [], false) : []);
}

function receivedEvents(
  body: JsonObject,
  events: readonly unknown[],
  violations: readonly (readonly Violation[])[],
  taken: boolean,
): ReceivedItem[] {
  return events.map((event, index) => {
    const { transactionId, adIdentifiers, eventTimestamp } = isObject(event) ? event : {};
    const action = conversionActionOf(body, event);
    const eventId = isText(transactionId) ? transactionId : `${clickIdOf(adIdentifiers)} ${textOf(eventTimestamp)}`;
    const problems = (violations[index] ?? []).map(({ field, description }) => `${field} ${description}`);
    if (isDenied(event)) problems.push(`events[${index}].consent.adUserData is denied: it must not be sent at all`);
    return receivedItem(event, { eventId, event: action, problems, taken, dedupKey: `${action} ${eventId}` });
  });
}

/** Of the first destination the event goes to; without references it goes to all of them. */
function conversionActionOf(body: JsonObject, event: unknown): string {
  const destinations = Array.isArray(body['destinations']) ? body['destinations'].filter(isObject) : [];
  const references =
    isObject(event) && Array.isArray(event['destinationReferences']) ? event['destinationReferences'] : [];
  const chosen =
    references.length === 0
      ? destinations[0]
      : destinations.find(({ reference }) => (references as unknown[]).includes(reference));
  return textOf(chosen?.['productDestinationId']);
}

function isDenied(event: unknown): boolean {
  return isObject(event) && isObject(event['consent']) && event['consent']['adUserData'] === 'CONSENT_DENIED';
}

function invalid(violations: readonly Violation[], received?: readonly ReceivedItem[]): SandboxAnswer {
  const badRequest = { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations };
  const message = 'There was a problem with the request.';
  return apiError(400, 'INVALID_ARGUMENT', message, {}, violations.length > 0 ? [badRequest] : [], received);
}

function apiError(
  code: number,
  status: string,
  message: string,
  metadata: Readonly<Record<string, string>> = {},
  details: readonly object[] = [],
  received?: readonly ReceivedItem[],
): SandboxAnswer {
  const requestId = 't-1';
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    ...{ reason: status, domain: 'datamanager.googleapis.com', metadata: { requestId, ...metadata } },
  };
  const request = { '@type': 'type.googleapis.com/google.rpc.RequestInfo', requestId };
  return jsonAnswer(code, { error: { code, message, status, details: [info, request, ...details] } }, received);
}
