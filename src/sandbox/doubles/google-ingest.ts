import { isJsonContentType, jsonAnswer, receivedItem } from '../answers.js';
import type { FailureAnswers, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { isObject, isText, type JsonObject, listIn, objectOf, parseJson, textOf } from '../values.js';
import { clickIdOf, eventViolations, requestViolations, type Violation } from './google-event-checks.js';
import { destinationErrorIn, newRequestId } from './google-request-status.js';

export const INGEST_PATH = '/v1/events:ingest';

export function ingestAnswer(request: SandboxRequest): SandboxAnswer {
  const body = isJsonContentType(request) ? parseJson(request.body) : undefined;
  if (!isObject(body))
    return invalid([{ field: '', description: 'The body is not JSON.', reason: 'INVALID_ARGUMENT' }]);
  const events = listIn(body, 'events');
  const reason = destinationErrorIn(request.memory);
  if (reason !== undefined) {
    const violation = { field: 'destinations[0].operatingAccount', description: 'The destination is wrong.', reason };
    return invalid([violation], receivedEvents(body, events, [], false));
  }
  const byEvent = events.map((event, index) => eventViolations(event, index, body, request.nowMs));
  const all = [...requestViolations(body, events), ...byEvent.flat()];
  const received = receivedEvents(body, events, byEvent, all.length === 0);
  if (all.length > 0) return invalid(all, received);
  // A validation is not recorded.
  if (body['validateOnly'] === true) return jsonAnswer(200, {});
  const denied = events.filter(isDenied).length;
  const actions = listIn(body, 'destinations').map(actionOf);
  const requestId = newRequestId(request.memory, { events: events.length, denied, actions });
  return jsonAnswer(200, { requestId }, received);
}

export const ingestFailures: FailureAnswers = {
  refuse: (request) => refused('refuse', request),
  refuse_one: (request) => refused('refuse_one', request),
  throttle: () =>
    apiError(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded.', { quota_limit: 'IngestRequestsPerMinutePerProject' }),
  server_error: () => apiError(503, 'UNAVAILABLE', 'The service is currently unavailable.'),
  unauthorized: () => apiError(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.'),
  forbidden: () => apiError(403, 'PERMISSION_DENIED', 'The caller does not have permission.'),
};

function refused(kind: 'refuse' | 'refuse_one', request: SandboxRequest): SandboxAnswer {
  const body = parseJson(request.body);
  const events = listIn(body, 'events');
  const violations = (kind === 'refuse' ? events : events.slice(0, 1)).map((_, index) => ({
    field: `events[${index}]`,
    description: 'The event is invalid.',
    reason: 'INVALID_EVENT',
  }));
  return invalid(violations, receivedEvents(objectOf(body), events, [], false));
}

function receivedEvents(
  body: JsonObject,
  events: readonly unknown[],
  violations: readonly (readonly Violation[])[],
  accepted: boolean,
): ReceivedItem[] {
  return events.flatMap((event, index) => {
    const { transactionId, adIdentifiers, eventTimestamp, conversionValue } = objectOf(event);
    const eventId = isText(transactionId) ? transactionId : `${clickIdOf(adIdentifiers)} ${textOf(eventTimestamp)}`;
    const problems = (violations[index] ?? []).map(({ field, description }) => `${field} ${description}`);
    if (isDenied(event))
      problems.push(`events[${index}].consent.adUserData is denied: the conversion must not be sent`);
    // The same transaction with another value restates the conversion.
    return conversionActionsOf(body, event).map((action) => {
      const dedupKey = `${action} ${eventId} ${textOf(conversionValue)}`;
      return receivedItem(event, { eventId, event: action, problems, accepted, dedupKey });
    });
  });
}

/** The conversion actions of the event's destinations; without references an event has all destinations. */
function conversionActionsOf(body: JsonObject, event: unknown): readonly string[] {
  const destinations = listIn(body, 'destinations');
  const references = listIn(event, 'destinationReferences');
  const chosen =
    references.length === 0
      ? destinations
      : destinations.filter((destination) => references.includes(objectOf(destination)['reference']));
  return chosen.length === 0 ? [''] : chosen.map(actionOf);
}

function actionOf(destination: unknown): string {
  return textOf(objectOf(destination)['productDestinationId']);
}

function isDenied(event: unknown): boolean {
  return objectOf(objectOf(event)['consent'])['adUserData'] === 'CONSENT_DENIED';
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
