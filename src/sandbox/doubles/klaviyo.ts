import { credentialFailure, jsonAnswer, receivedItems, withHeaders } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { type CheckedItem, type FieldChecks, problemsOf } from '../field-checks.js';
import { DAY_MS, isObject, objectOf, parseJson } from '../values.js';

const BODY_MAX_BYTES = 5 * 1024 * 1024;
const PROPERTIES_MAX = 300;
const METRIC_NAME_MAX = 127;
const TIME_MIN_MS = Date.UTC(2000, 0, 1);
const REVISION = /^\d{4}-\d\d-\d\d(\.\w+)?$/;
const JSON_TYPE = /^application\/(?:vnd\.api\+)?json\s*(?:;|$)/i;
const PROFILE_IDS = ['id', 'email', 'phone_number', 'external_id', 'anonymous_id'];
const SCHEME = 'Klaviyo-API-Key ';
const RETRY_AFTER_SECONDS = '1';

/** Klaviyo's Create Event: https://developers.klaviyo.com/en/reference/create_event */
export const double: PlatformDouble = {
  name: 'klaviyo',

  answer(request) {
    if (!/^\/api\/events\/?$/.test(request.path)) return refused(404, 'not_found', 'The path could not be found');
    if (request.method !== 'POST') return refused(405, 'method_not_allowed', 'The method is not allowed');
    const failure = credentialFailure(keyOf(request));
    if (failure) return failures[failure](request);
    if (!REVISION.test(request.headers['revision'] ?? '')) return refused(400, 'invalid', 'Invalid revision header');
    if (Buffer.byteLength(request.body) > BODY_MAX_BYTES) return refused(413, 'too_large', 'The payload is too large');
    const items = itemsOf(request);
    const [problem] = items.flatMap(({ problems }) => problems);
    if (problem !== undefined) return refused(400, 'invalid', `Invalid input: ${problem}`, refusedItems(request));
    return {
      status: 202,
      body: '',
      received: receivedItems(items, identify, () => true),
    };
  },

  fail: (kind, request) => failures[kind](request),
};

const invalid = (request: SandboxRequest) => refused(400, 'invalid', 'Invalid input.', refusedItems(request));

const failures: FailureAnswers = {
  refuse: invalid,
  refuse_one: invalid,
  throttle: (request) =>
    withHeaders(
      refused(429, 'throttled', 'Request was throttled. Expected available in 1 second.', refusedItems(request)),
      { 'retry-after': RETRY_AFTER_SECONDS },
    ),
  server_error: (request) => refused(503, 'service_unavailable', 'Service unavailable.', refusedItems(request)),
  unauthorized: (request) =>
    refused(401, 'not_authenticated', 'Authentication credentials were not provided.', refusedItems(request)),
  forbidden: (request) =>
    refused(403, 'permission_denied', 'Missing required scopes for this action: events:write', refusedItems(request)),
};

function refused(status: number, code: string, detail: string, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(status, { errors: [{ status, code, title: 'Invalid input.', detail, source: {} }] }, received);
}

function keyOf({ headers }: SandboxRequest): string | undefined {
  const header = headers['authorization'];
  return header?.startsWith(SCHEME) === true ? header.slice(SCHEME.length) : undefined;
}

function identify(item: Readonly<Record<string, unknown>>) {
  const { unique_id: eventId, metric, profile } = objectOf(objectOf(item['data'])['attributes']);
  const [{ name }, person] = [metric, profile].map((each) =>
    objectOf(objectOf(objectOf(each)['data'])['attributes']),
  ) as [Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>];
  return { eventId, event: name, dedupBy: [name, person['external_id']] };
}

function refusedItems(request: SandboxRequest): readonly ReceivedItem[] {
  return receivedItems(itemsOf(request), identify, () => false);
}

function itemsOf(request: SandboxRequest): CheckedItem[] {
  const item = parseJson(request.body);
  const ofRequest = JSON_TYPE.test(request.headers['content-type'] ?? '') ? [] : ['content-type is not JSON'];
  const problems = isObject(item)
    ? problemsOf('body', item, (body) => checkBody(body, request.nowMs))
    : ['is no object'];
  return [{ item, problems: [...ofRequest, ...problems], warnings: [] }];
}

function checkBody(body: FieldChecks, nowMs: number): void {
  const attributes = attributesOf(body, 'event');
  if (!attributes) return;
  attributes.optional('time', check.isoTime({ nowMs, ageMaxMs: nowMs - TIME_MIN_MS, aheadMaxMs: 365 * DAY_MS }));
  attributes.optional('value', check.number);
  attributes.optional('value_currency', check.currency);
  attributes.optional('unique_id', check.text);
  const properties = attributes.object('properties', 'required');
  if (properties && Object.keys(properties.value).length > PROPERTIES_MAX)
    properties.addOwn(`has more than ${PROPERTIES_MAX} properties`);
  const metric = attributes.object('metric', 'required');
  if (metric) attributesOf(metric, 'metric')?.required('name', (name) => check.text(name, METRIC_NAME_MAX));
  const profile = attributes.object('profile', 'required');
  const person = profile && attributesOf(profile, 'profile');
  if (!person) return;
  if (!person.has(...PROFILE_IDS)) person.addOwn('has no identifier of a profile');
  person.allOptional(PROFILE_IDS, check.raw);
}

/** Of an object of JSON:API. */
function attributesOf(parent: FieldChecks, type: string): FieldChecks | undefined {
  const data = parent.object('data', 'required');
  data?.required('type', check.oneOf([type]));
  return data?.object('attributes', 'required');
}
