import { credentialOf, isJsonContentType, jsonAnswer, receivedItem, withHeaders } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { type FieldChecks, problemsOf } from '../field-checks.js';
import { HOUR_MS, isObject, isText, type JsonObject, listIn, objectOf, parseJson } from '../values.js';

const CALL_MAX_BYTES = 32 * 1024;
const BATCH_MAX_BYTES = 500 * 1024;
const BATCH_MAX_EVENTS = 2_500;
const MESSAGE_ID_MAX = 100;
const RETRY_AFTER_SECONDS = '1';

/**
 * Segment's HTTP Tracking API: every request that can be parsed is answered with 200, even with a wrong write key, so
 * that problems appear only in the ledger. `accepted` follows the answer.
 */
export const double: PlatformDouble = {
  name: 'segment',
  dedupWindowMs: 24 * HOUR_MS,

  answer(request) {
    const isBatch = request.path === '/v1/batch';
    if (!isBatch && request.path !== '/v1/track') return refused(404, 'not found');
    if (request.method !== 'POST') return refused(405, 'method not allowed');
    if (Buffer.byteLength(request.body) > (isBatch ? BATCH_MAX_BYTES : CALL_MAX_BYTES)) {
      return refused(400, 'the request is too large');
    }
    const body = parseJson(request.body);
    if (!isObject(body) || (isBatch && !Array.isArray(body['batch']))) return refused(400, 'malformed JSON');
    return jsonAnswer(200, { success: true }, receivedEvents(request, body));
  },

  fail: (kind, request) => failures[kind](request),
};

/** A wrong key is refused only by other pipelines with the same protocol, such as RudderStack. */
const failures: FailureAnswers = {
  refuse: (request) => refused(400, 'malformed JSON', refusedEvents(request)),
  // Segment never names a refused event: it is silently dropped.
  refuse_one: (request) => {
    const received = refusedEvents(request).map((item, index) => ({ ...item, accepted: index > 0 }));
    return jsonAnswer(200, { success: true }, received);
  },
  throttle: () =>
    withHeaders(refused(429, 'too many requests'), {
      'retry-after': RETRY_AFTER_SECONDS,
      'x-ratelimit-reset': RETRY_AFTER_SECONDS,
    }),
  server_error: () => refused(500, 'internal error'),
  unauthorized: () => refused(401, 'invalid write key'),
  forbidden: () => refused(403, 'forbidden'),
};

function refused(status: number, message: string, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(status, { success: false, message }, received);
}

function refusedEvents(request: SandboxRequest): readonly ReceivedItem[] {
  const body = parseJson(request.body);
  return isObject(body) ? receivedEvents(request, body).map((item) => ({ ...item, accepted: false })) : [];
}

function receivedEvents(request: SandboxRequest, body: JsonObject): readonly ReceivedItem[] {
  const isBatch = request.path === '/v1/batch';
  const events = isBatch ? listIn(body, 'batch') : [body];
  const requestProblems = problemsOfRequest(request, body);
  return events.map((event) => {
    const { messageId, event: name } = objectOf(event);
    const problems = problemsOf('message', event, (fields) => checkMessage(fields, isBatch, request.nowMs));
    return receivedItem(event, {
      eventId: messageId,
      event: name,
      problems: [...requestProblems, ...problems],
      accepted: true,
    });
  });
}

function problemsOfRequest(request: SandboxRequest, body: JsonObject): readonly string[] {
  const problems: string[] = [];
  if (!isJsonContentType(request)) problems.push('content-type is not application/json');
  const keyProblem = writeKeyProblem(request, body);
  if (keyProblem !== undefined) problems.push(`write key ${keyProblem}`);
  if (request.path === '/v1/batch' && listIn(body, 'batch').length > BATCH_MAX_EVENTS) {
    problems.push(`batch has more than ${BATCH_MAX_EVENTS} events`);
  }
  return problems;
}

/** The key is the user name of Basic authentication or a field of the body; an OAuth bearer token requires the field. */
function writeKeyProblem(request: SandboxRequest, body: JsonObject): string | undefined {
  const authorization = request.headers['authorization'];
  let key = isText(body['writeKey']) ? body['writeKey'] : undefined;
  if (authorization?.startsWith('Basic ') === true) {
    const pair = Buffer.from(authorization.slice('Basic '.length), 'base64').toString();
    if (!pair.endsWith(':')) return 'is not followed by a colon';
    key = pair.slice(0, -1);
  }
  const credential = credentialOf(key);
  if (credential === 'good') return undefined;
  return credential === 'missing' ? 'is missing' : 'is wrong';
}

function checkMessage(message: FieldChecks, isBatch: boolean, nowMs: number): void {
  if ((isBatch || message.has('type')) && message.value['type'] !== 'track') message.add('type', 'is not track');
  message.required('event', check.text);
  if (!isText(message.value['userId']) && !isText(message.value['anonymousId'])) {
    message.problems.push('no_user_anon_id');
  }
  message.allOptional(['userId', 'anonymousId'], check.text);
  if (message.has('messageId')) message.required('messageId', (id) => check.text(id, MESSAGE_ID_MAX));
  else message.add('messageId', 'is missing: duplicates cannot be detected');
  message.optional('timestamp', check.isoTime({ nowMs }));
  const properties = message.object('properties');
  if (properties) checkProperties(properties);
  const context = message.object('context');
  if (context) checkContext(context);
  message.object('integrations');
  if (isBatch && Buffer.byteLength(JSON.stringify(message.value)) > CALL_MAX_BYTES) {
    message.problems.push('message is larger than 32 kB');
  }
}

function checkProperties(properties: FieldChecks): void {
  properties.optional('revenue', check.number);
  properties.optional('value', check.number);
  properties.optional('currency', check.currency);
  properties.allOptional(['order_id', 'source'], check.text);
  properties.each('products', (product) => {
    product.required('product_id', check.text);
    product.allOptional(['name', 'category'], check.text);
    product.optional('quantity', (value) => check.count(value) ?? (value === 0 ? 'is zero' : undefined));
    product.optional('price', check.number);
  });
}

/** As this service names them. A site can have others. */
const CONSENT_CATEGORIES = ['ad_storage', 'ad_user_data', 'ad_personalization', 'analytics_storage'];

function checkContext(context: FieldChecks): void {
  const preferences = context.object('consent')?.object('categoryPreferences');
  for (const name of CONSENT_CATEGORIES) preferences?.optional(name, check.boolean);
  context.optional('ip', check.ip);
  context.optional('userAgent', check.text);
  const page = context.object('page');
  page?.optional('url', check.url);
  page?.optional('referrer', check.text);
  const campaign = context.object('campaign');
  for (const name of Object.keys(campaign?.value ?? {})) campaign?.required(name, check.text);
}
