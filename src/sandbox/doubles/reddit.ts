import { bearerToken, credentialOf, isJsonContentType, jsonAnswer, receivedItems } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { type CheckedItem, type FieldChecks, missingIdWarning, problemsOf } from '../field-checks.js';
import type { SignIn } from '../sign-ins.js';
import { tokenAnswer } from '../token-endpoint.js';
import { DAY_MS, isSha256Hex, isText, listIn, MINUTE_MS, objectOf, parseJson, SECOND_MS } from '../values.js';

const PATH = /^\/api\/v3\/pixels\/\w+\/conversion_events$/;
const EVENTS_MAX = 1_000;
const AGE_MAX_MS = 7 * DAY_MS;
const AHEAD_MAX_MS = 5 * MINUTE_MS;
/** The default user agents of HTTP libraries, which Reddit throttles. */
const DEFAULT_USER_AGENT =
  /^(node|undici|axios|got|node-fetch|curl|wget|python-requests|python-urllib|okhttp|java|go-http-client)(\/| |$)/i;

const ACTION_SOURCES = ['WEBSITE', 'APP', 'OTHER', 'PHYSICAL_STORE'];
const WITH_AMOUNT = ['PURCHASE', 'ADD_TO_CART', 'ADD_TO_WISHLIST', 'LEAD', 'SIGN_UP', 'CUSTOM'];
const WITH_ITEM_COUNT = ['PURCHASE', 'ADD_TO_CART', 'ADD_TO_WISHLIST', 'CUSTOM'];
const TRACKING_TYPES = [...WITH_AMOUNT, 'PAGE_VISIT', 'VIEW_CONTENT', 'SEARCH'];
const CUSTOM_NAME_MAX = 64;
const UUID_COOKIE = /^\d+\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const IDENTIFIERS = ['email', 'phone_number', 'external_id', 'uuid', 'idfa', 'aaid'];
/** Fields of version 2 of this API. */
const OBSOLETE = {
  event: ['event_type', 'event_metadata'],
  user: ['opt_out'],
  metadata: ['value_decimal'],
};

/** Reddit's Conversions API v3: one invalid event makes it refuse the whole batch and report only the number of errors. */
export const double: PlatformDouble = {
  name: 'reddit',
  dedupWindowMs: 2 * DAY_MS,

  answer(request) {
    if (!PATH.test(request.path)) return message(404, 'Not Found');
    if (request.method !== 'POST') return message(405, 'Method Not Allowed');
    if (hasDefaultUserAgent(request)) return message(429, 'Too Many Requests');
    switch (credentialOf(bearerToken(request))) {
      case 'missing':
        return { status: 401, headers: { 'content-type': 'text/plain' }, body: 'Authorization Required' };
      case 'bad':
        return failures.unauthorized(request);
      case 'forbidden':
        return failures.forbidden(request);
    }
    if (!isJsonContentType(request) || !isEnvelope(parseJson(request.body))) return message(400, 'Bad Request');

    const checked = checkedEvents(request);
    const invalid = checked.filter(({ problems }) => problems.length > 0).length;
    const received = receivedEvents(checked, invalid === 0);
    return invalid === 0 ? processed(received) : refused(invalid, received);
  },

  fail: (kind, request) => failures[kind](request),
};

const failures: FailureAnswers = {
  refuse: (request) => {
    const received = refusedEvents(request);
    return refused(received.length, received);
  },
  refuse_one: (request) => refused(1, refusedEvents(request)),
  throttle: () => message(429, 'Too Many Requests'),
  server_error: () => message(500, 'The service is currently unavailable. No conversion events were processed.'),
  unauthorized: () => {
    const explanation = 'This server could not verify that you are authorized to access the document you requested.';
    return jsonAnswer(401, { success: false, error: { reason: 'UNAUTHORIZED', explanation } });
  },
  forbidden: () => {
    const explanation = 'You have no permission for this pixel.';
    return jsonAnswer(403, { success: false, error: { reason: 'FORBIDDEN', explanation } });
  },
};

export function hasDefaultUserAgent({ headers }: SandboxRequest): boolean {
  const userAgent = headers['user-agent'];
  return !isText(userAgent) || DEFAULT_USER_AGENT.test(userAgent);
}

function message(status: number, text: string, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(status, { message: text }, received);
}

function processed(received: readonly ReceivedItem[]): SandboxAnswer {
  const answer = { data: { message: `Successfully processed ${received.length} conversion events.` } };
  return jsonAnswer(200, answer, received);
}

function refused(invalid: number, received: readonly ReceivedItem[]): SandboxAnswer {
  return message(400, `There were ${invalid} invalid conversion events. None were processed.`, received);
}

/** The body has everything in `data`; a test request has one event. */
function isEnvelope(body: unknown): boolean {
  const { events, test_id: testId, test_mode: testMode } = objectOf(objectOf(body)['data']);
  if (check.batch('events', events, EVENTS_MAX) !== undefined) return false;
  if (testMode !== undefined) return false;
  return testId === undefined || (isText(testId) && (events as unknown[]).length === 1);
}

function checkedEvents({ body, nowMs }: SandboxRequest): readonly CheckedItem[] {
  return listIn(objectOf(parseJson(body))['data'], 'events').map((item) => ({
    item,
    problems: problemsOf('event', item, (fields) => checkEvent(fields, nowMs)),
    warnings: missingIdWarning('metadata.conversion_id', item, conversionIdOf(item)),
  }));
}

function conversionIdOf(event: unknown): unknown {
  return objectOf(objectOf(event)['metadata'])['conversion_id'];
}

function receivedEvents(checked: readonly CheckedItem[], accepted: boolean): readonly ReceivedItem[] {
  return receivedItems(
    checked,
    (event) => {
      const type = objectOf(event['type'])['tracking_type'];
      return { eventId: conversionIdOf(event), event: type, dedupBy: [type, event['action_source']] };
    },
    () => accepted,
  );
}

function refusedEvents(request: SandboxRequest): readonly ReceivedItem[] {
  return receivedEvents(checkedEvents(request), false);
}

function checkEvent(event: FieldChecks, nowMs: number): void {
  event.obsolete(OBSOLETE.event);
  event.required('event_at', check.unixMillis({ nowMs, ageMaxMs: AGE_MAX_MS, aheadMaxMs: AHEAD_MAX_MS }));
  event.required('action_source', check.oneOf(ACTION_SOURCES));
  event.optional('event_source_url', check.url);
  event.optional('click_id', check.raw);
  const type = event.object('type', 'required');
  if (type) checkType(type);
  const user = event.object('user', 'nullable');
  if (user) checkUser(user, event.has('click_id'));
  const metadata = event.object('metadata', 'nullable');
  if (metadata) checkMetadata(metadata, objectOf(event.value['type'])['tracking_type']);
}

function checkType(type: FieldChecks): void {
  type.required('tracking_type', check.oneOf(TRACKING_TYPES));
  if (type.value['tracking_type'] === 'CUSTOM') {
    type.required('custom_event_name', (name) => check.text(name, CUSTOM_NAME_MAX));
  } else if (type.has('custom_event_name')) type.add('custom_event_name', 'is allowed for CUSTOM only');
}

function checkUser(user: FieldChecks, hasClickId: boolean): void {
  user.obsolete(OBSOLETE.user);
  user.optional('email', check.hash);
  user.optional('phone_number', check.hash);
  // These may be raw or hashed.
  user.allOptional(['external_id', 'idfa', 'aaid'], check.text);
  user.optional('ip_address', (value) => (isSha256Hex(value) ? check.hash(value) : check.ip(value)));
  user.optional('user_agent', check.raw);
  user.optional('uuid', (value) => (UUID_COOKIE.test(String(value)) ? undefined : 'is not <ms>.<uuid>'));
  const hasIpAndUserAgent = user.has('ip_address') && user.has('user_agent');
  if (!hasClickId && !hasIpAndUserAgent && !user.has(...IDENTIFIERS)) user.addOwn('has no sufficient identifier');
}

function checkMetadata(metadata: FieldChecks, type: unknown): void {
  metadata.obsolete(OBSOLETE.metadata);
  metadata.optional('conversion_id', check.text);
  metadata.optional('value', check.number);
  metadata.optional('currency', check.currency);
  metadata.optional('item_count', check.count);
  metadata.each('products', (product) => {
    product.required('id', check.text);
    product.allOptional(['name', 'category'], check.text);
    product.optional('quantity', check.units);
    product.optional('item_price', check.number);
  });
  if (!TRACKING_TYPES.includes(type as string)) return;
  if (metadata.has('item_count') && !WITH_ITEM_COUNT.includes(type as string)) {
    metadata.add('item_count', 'is not allowed for events of this type');
  }
  const hasPrice = listIn(metadata.value, 'products').some((product) => 'item_price' in objectOf(product));
  if (!WITH_AMOUNT.includes(type as string) && (hasPrice || metadata.has('value', 'currency'))) {
    metadata.addOwn('has an amount, which is not allowed for events of this type');
  }
}

export const signIn: SignIn = {
  consentPath: '/api/v1/authorize',
  consent: {
    required: { response_type: 'code', duration: 'permanent' },
    scopes: { names: ['adsread', 'adsconversions'], separator: ' ' },
  },
  token: {
    path: '/api/v1/access_token',
    answer: (request) => tokenAnswer(request, { basic: true, lifetime: DAY_MS / SECOND_MS }),
  },
};
