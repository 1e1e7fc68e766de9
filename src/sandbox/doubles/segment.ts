import {
  countProblem,
  credentialOf,
  currencyProblem,
  HOUR_MS,
  ipProblem,
  isJsonContentType,
  isObject,
  isoTimeProblem,
  isText,
  type JsonObject,
  jsonAnswer,
  note,
  noteIfGiven,
  numberProblem,
  parseJson,
  receivedItem,
  textProblem,
  urlProblem,
} from '../checks.js';
import type { FailureKind, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';

const CALL_MAX_BYTES = 32 * 1024;
const BATCH_MAX_BYTES = 500 * 1024;
const BATCH_MAX_EVENTS = 2_500;
const MESSAGE_ID_MAX = 100;
const RETRY_AFTER_SECONDS = '1';

/**
 * Segment's HTTP Tracking API: whatever can be read is answered with 200, a wrong write key included, so that problems
 * are found in the ledger only. Each call is `taken` by what the answer says.
 */
export const segment: PlatformDouble = {
  name: 'segment',
  dedupWindowMs: 24 * HOUR_MS,

  answer(request) {
    const isBatch = request.path === '/v1/batch';
    if (!isBatch && request.path !== '/v1/track') return notTaken(404, 'not found');
    if (request.method !== 'POST') return notTaken(405, 'method not allowed');
    if (Buffer.byteLength(request.body) > (isBatch ? BATCH_MAX_BYTES : CALL_MAX_BYTES)) {
      return notTaken(400, 'the request is too large');
    }
    const body = parseJson(request.body);
    if (!isObject(body) || (isBatch && !Array.isArray(body['batch']))) return notTaken(400, 'malformed JSON');
    return jsonAnswer(200, { success: true }, receivedOf(request, body));
  },

  fail(kind, request) {
    return failures[kind](request);
  },
};

/** A wrong key is refused only by the pipelines that speak the same protocol, such as RudderStack. */
const failures: Record<FailureKind, (request: SandboxRequest) => SandboxAnswer> = {
  refuse: (request) => notTaken(400, 'malformed JSON', leftOut(request)),
  // No event is ever refused by name: the one that is not wanted vanishes.
  refuse_one: (request) => jsonAnswer(200, { success: true }, firstLeftOut(request)),
  throttle: () => {
    const answer = notTaken(429, 'too many requests');
    const wait = { 'retry-after': RETRY_AFTER_SECONDS, 'x-ratelimit-reset': RETRY_AFTER_SECONDS };
    return { ...answer, headers: { ...answer.headers, ...wait } };
  },
  server_error: () => notTaken(500, 'internal error'),
  unauthorized: () => notTaken(401, 'invalid write key'),
  forbidden: () => notTaken(403, 'forbidden'),
};

function notTaken(status: number, message: string, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(status, { success: false, message }, received);
}

function leftOut(request: SandboxRequest): readonly ReceivedItem[] {
  const body = parseJson(request.body);
  return isObject(body) ? receivedOf(request, body).map((item) => ({ ...item, taken: false })) : [];
}

function firstLeftOut(request: SandboxRequest): readonly ReceivedItem[] {
  return leftOut(request).map((item, index) => ({ ...item, taken: index > 0 }));
}

function receivedOf(request: SandboxRequest, body: JsonObject): readonly ReceivedItem[] {
  const ofTheCall = callProblems(request, body);
  const isBatch = request.path === '/v1/batch';
  return eventsOf(body, isBatch).map((event) => {
    const { messageId, event: name } = isObject(event) ? event : {};
    const problems = [...ofTheCall, ...problemsOf(event, isBatch, request.nowMs)];
    return receivedItem(event, { eventId: messageId, event: name, problems, taken: true });
  });
}

function eventsOf(body: JsonObject, isBatch: boolean): readonly unknown[] {
  if (!isBatch) return [body];
  return Array.isArray(body['batch']) ? body['batch'] : [];
}

function callProblems(request: SandboxRequest, body: JsonObject): readonly string[] {
  const problems: string[] = [];
  if (!isJsonContentType(request)) problems.push('content-type is not application/json');
  note(problems, 'write key', writeKeyProblem(request, body));
  if (request.path === '/v1/batch' && eventsOf(body, true).length > BATCH_MAX_EVENTS) {
    problems.push(`batch has more than ${BATCH_MAX_EVENTS} events`);
  }
  return problems;
}

/** The user name of a basic authorization, or a field of the body; an OAuth bearer needs the field beside it. */
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

function problemsOf(event: unknown, isBatch: boolean, nowMs: number): readonly string[] {
  if (!isObject(event)) return ['message is not an object'];
  const problems: string[] = [];
  if ((isBatch || event['type'] !== undefined) && event['type'] !== 'track') problems.push('type is not track');
  note(problems, 'event', textProblem(event['event']));
  if (!isText(event['userId']) && !isText(event['anonymousId'])) problems.push('no_user_anon_id');
  noteIfGiven(problems, 'userId', event['userId'], textProblem);
  noteIfGiven(problems, 'anonymousId', event['anonymousId'], textProblem);
  if (event['messageId'] === undefined) problems.push('messageId is missing, so that repeats cannot be told');
  else note(problems, 'messageId', textProblem(event['messageId'], MESSAGE_ID_MAX));
  noteIfGiven(problems, 'timestamp', event['timestamp'], (value) => isoTimeProblem(value, { nowMs }));
  noteProperties(problems, event['properties']);
  noteContext(problems, event['context']);
  noteObject(problems, 'integrations', event['integrations']);
  if (isBatch && Buffer.byteLength(JSON.stringify(event)) > CALL_MAX_BYTES)
    problems.push('message is larger than 32 kB');
  return problems;
}

/** Gives the object, empty when there is none. */
function noteObject(problems: string[], field: string, value: unknown): JsonObject {
  if (isObject(value)) return value;
  if (value !== undefined) problems.push(`${field} is not an object`);
  return {};
}

function noteProperties(problems: string[], value: unknown): void {
  const properties = noteObject(problems, 'properties', value);
  const given = (name: string, check: (value: unknown) => string | undefined) =>
    noteIfGiven(problems, `properties.${name}`, properties[name], check);
  given('revenue', numberProblem);
  given('value', numberProblem);
  given('currency', currencyProblem);
  given('order_id', textProblem);
  given('products', (products) => (Array.isArray(products) ? undefined : 'is not a list'));
  if (!Array.isArray(properties['products'])) return;
  for (const [index, product] of properties['products'].entries()) {
    const field = `properties.products.${index}`;
    const { product_id: id, quantity, price } = isObject(product) ? product : {};
    note(problems, `${field}.product_id`, textProblem(id));
    noteIfGiven(problems, `${field}.quantity`, quantity, countProblem);
    noteIfGiven(problems, `${field}.price`, price, numberProblem);
  }
}

function noteContext(problems: string[], value: unknown): void {
  const context = noteObject(problems, 'context', value);
  noteIfGiven(problems, 'context.ip', context['ip'], ipProblem);
  noteIfGiven(problems, 'context.userAgent', context['userAgent'], textProblem);
  const page = noteObject(problems, 'context.page', context['page']);
  noteIfGiven(problems, 'context.page.url', page['url'], urlProblem);
  noteIfGiven(problems, 'context.page.referrer', page['referrer'], textProblem);
  const campaign = noteObject(problems, 'context.campaign', context['campaign']);
  for (const [name, text] of Object.entries(campaign)) note(problems, `context.campaign.${name}`, textProblem(text));
}
