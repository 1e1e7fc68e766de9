import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  credentialOf,
  currencyProblem,
  hashProblem,
  isJsonContentType,
  isObject,
  isoTimeProblem,
  isText,
  type JsonObject,
  jsonAnswer,
  MINUTE_MS,
  note,
  noteIfGiven,
  numberProblem,
  parseJson,
  rawProblem,
  receivedItem,
  SECOND_MS,
  textProblem,
} from '../checks.js';
import type {
  FailureKind,
  Memory,
  Order,
  PlatformDouble,
  ReceivedItem,
  SandboxAnswer,
  SandboxRequest,
} from '../double.js';

const METHODS = ['POST', 'PUT', 'PATCH'];
const TIMESTAMP_TOLERANCE_MS = 5 * MINUTE_MS;
const BODY_MAX_BYTES = 20 * 1024;
const RETRY_AFTER_SECONDS = '1';
/** Of the double's memory. */
const SECRET = 'secret';
const IDS = 'message ids';
/** Of so many events it is remembered under which id they came. */
const IDS_MAX = 10_000;
/** What a header may hold. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
const TEST = 'test';

/**
 * A customer's own receiver of Standard Webhooks, at any path. It checks signatures once it was told the secret:
 * `{"platform":"webhook","mode":"secret","secret":"whsec_…"}`.
 */
export const webhook: PlatformDouble = {
  name: 'webhook',

  answer(request) {
    if (!METHODS.includes(request.method)) return notTaken(405, `Use ${METHODS.join(', ')}.`);
    const credential = credentialOf(request.headers['authorization']?.replace(/^\w+ /, ''));
    if (credential === 'bad') return notTaken(401, 'The authorization is wrong.');
    if (credential === 'forbidden') return notTaken(403, 'The authorization does not suffice.');
    const secret = request.memory.get(SECRET);
    if (typeof secret === 'string' && !isSigned(request, secret)) return notTaken(401, 'The signature is wrong.');

    const body = parseJson(request.body);
    if (!isObject(body)) return notTaken(400, 'The body is not a JSON object.');
    const problems = problemsOf(request, body);
    const isTaken = problems.length === 0;
    const received = recorded(request, body, problems, isTaken);
    return isTaken ? jsonAnswer(200, { ok: true }, received) : notTaken(400, problems.join(', '), received);
  },

  fail(kind, request) {
    return failures[kind](request);
  },

  callKind: ({ body }) => (body.includes(`"${TEST}"`) && isTest(parseJson(body)) ? 'test' : 'events'),

  control(order, memory) {
    if (order.mode === 'ok') memory.delete(SECRET);
    else if (order.mode === 'secret') return keepSecret(order, memory);
    else return '"mode" of the webhook is "secret", or one that every platform has.';
    return undefined;
  },
};

const failures: Record<FailureKind, (request: SandboxRequest) => SandboxAnswer> = {
  refuse: (request) => notTaken(400, 'The event is refused.', leftOut(request)),
  // A call carries one event.
  refuse_one: (request) => notTaken(400, 'The event is refused.', leftOut(request)),
  throttle: () => {
    const answer = notTaken(429, 'Too many requests.');
    return { ...answer, headers: { ...answer.headers, 'retry-after': RETRY_AFTER_SECONDS } };
  },
  server_error: () => notTaken(500, 'The receiver has failed.'),
  unauthorized: () => notTaken(401, 'The authorization is wrong.'),
  forbidden: () => notTaken(403, 'The authorization does not suffice.'),
};

function notTaken(status: number, error: string, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(status, { ok: false, error }, received);
}

function keepSecret(order: Order, memory: Memory): string | undefined {
  const { secret } = order as Order & { readonly secret?: unknown };
  if (!isText(secret)) return '"secret" needs "secret", the text that the connection was made with.';
  memory.set(SECRET, secret);
  return undefined;
}

/** One of the signatures has to be right: while a secret is changed there are two. */
function isSigned({ headers, body }: SandboxRequest, secret: string): boolean {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = Buffer.from(`v1,${createHmac('sha256', keyOf(secret)).update(content).digest('base64')}`);
  return (headers['webhook-signature'] ?? '').split(' ').some((text) => {
    const signature = Buffer.from(text);
    return signature.length === expected.length && timingSafeEqual(signature, expected);
  });
}

function keyOf(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret);
}

function isTest(body: unknown): boolean {
  return isObject(body) && body['type'] === TEST;
}

/** A test is checked like everything else, and then forgotten. A receiver knows repeats by the id of the message. */
function recorded(
  { headers }: SandboxRequest,
  body: JsonObject,
  problems: readonly string[],
  taken: boolean,
): readonly ReceivedItem[] | undefined {
  if (isTest(body)) return undefined;
  const id = headers['webhook-id'];
  const eventId = isObject(body['data']) ? body['data']['event_id'] : undefined;
  const about = { eventId, event: body['type'], problems, taken };
  return [receivedItem(body, isText(id) ? { ...about, dedupKey: id } : about)];
}

function leftOut(request: SandboxRequest): readonly ReceivedItem[] | undefined {
  const body = parseJson(request.body);
  return isObject(body) ? recorded(request, body, problemsOf(request, body), false) : undefined;
}

function problemsOf(request: SandboxRequest, body: JsonObject): readonly string[] {
  const problems: string[] = [];
  noteHeaders(problems, request, body);
  if (Buffer.byteLength(request.body) > BODY_MAX_BYTES) problems.push('body is larger than 20 kB');
  note(problems, 'type', typeProblem(body['type']));
  note(problems, 'timestamp', isoTimeProblem(body['timestamp'], { nowMs: request.nowMs }));
  if (isObject(body['data'])) noteData(problems, body['data'], isTest(body));
  else if (body['data'] !== undefined) problems.push('data is not an object');
  else if (!isTest(body)) problems.push('data is missing');
  return problems;
}

function noteHeaders(problems: string[], request: SandboxRequest, body: JsonObject): void {
  const { headers, memory, nowMs } = request;
  const id = headers['webhook-id'];
  if (!isJsonContentType(request)) problems.push('content-type is not application/json');
  note(problems, 'webhook-id', idProblem(id) ?? changeProblem(id as string, body, memory));
  note(problems, 'webhook-timestamp', timestampProblem(headers['webhook-timestamp'], nowMs));
}

function idProblem(id: string | undefined): string | undefined {
  return textProblem(id) ?? (VISIBLE_ASCII.test(id as string) ? undefined : 'is not of visible ASCII characters');
}

/** The same event has to come under the same id, or a receiver would take its repeat for another one. */
function changeProblem(id: string, body: JsonObject, memory: Memory): string | undefined {
  const { event_id: eventId, conversion_id: conversionId } = isObject(body['data']) ? body['data'] : {};
  if (isTest(body) || !isText(eventId)) return undefined;
  const event = `${conversionId} ${eventId}`;
  const ids = (memory.get(IDS) as Map<string, string> | undefined) ?? new Map<string, string>();
  memory.set(IDS, ids);
  const before = ids.get(event);
  if (before !== undefined) return before === id ? undefined : 'is not the one the event came under before';
  ids.set(event, id);
  if (ids.size > IDS_MAX) ids.delete(ids.keys().next().value as string);
  return undefined;
}

function timestampProblem(text: string | undefined, nowMs: number): string | undefined {
  if (text === undefined) return 'is missing';
  if (!/^\d{10}$/.test(text)) return 'is not a unix time in seconds';
  return Math.abs(Number(text) * SECOND_MS - nowMs) > TIMESTAMP_TOLERANCE_MS
    ? 'is more than 5 minutes from now'
    : undefined;
}

function typeProblem(type: unknown): string | undefined {
  return textProblem(type) ?? (type === TEST || /^conversion\../.test(type as string) ? undefined : 'is not known');
}

function noteData(problems: string[], data: JsonObject, isTestData: boolean): void {
  if (!isTestData || data['event_id'] !== undefined) note(problems, 'data.event_id', textProblem(data['event_id']));
  noteIfGiven(problems, 'data.order_id', data['order_id'], textProblem);
  noteIfGiven(problems, 'data.value', data['value'], numberProblem);
  noteIfGiven(problems, 'data.currency', data['currency'], currencyProblem);
  noteEach(problems, 'data.click_ids', data['click_ids'], (_, value) => rawProblem(value));
  noteEach(problems, 'data.utm', data['utm'], (_, value) => textProblem(value));
  noteEach(problems, 'data.user', data['user'], (name, value) =>
    name.endsWith('_sha256') ? hashProblem(value) : undefined,
  );
}

function noteEach(
  problems: string[],
  field: string,
  value: unknown,
  check: (name: string, value: unknown) => string | undefined,
): void {
  if (value === undefined) return;
  if (!isObject(value)) {
    problems.push(`${field} is not an object`);
    return;
  }
  for (const [name, one] of Object.entries(value)) note(problems, `${field}.${name}`, check(name, one));
}
