import { createHmac, timingSafeEqual } from 'node:crypto';
import { credentialFailure, isJsonContentType, jsonAnswer, receivedItem, withHeaders } from '../answers.js';
import * as check from '../checks.js';
import type {
  ControlRequest,
  FailureAnswers,
  Memory,
  PlatformDouble,
  ReceivedItem,
  SandboxAnswer,
  SandboxRequest,
} from '../double.js';
import { FieldChecks } from '../field-checks.js';
import { isObject, isText, type JsonObject, MINUTE_MS, objectOf, parseJson, SECOND_MS } from '../values.js';

const METHODS = ['POST', 'PUT', 'PATCH'];
const TIMESTAMP_TOLERANCE_MS = 5 * MINUTE_MS;
const BODY_MAX_BYTES = 20 * 1024;
const RETRY_AFTER_SECONDS = '1';
/** Keys of the double's memory. */
const SECRET = 'secret';
const IDS = 'message ids';
/** The number of events whose message id is remembered. */
const IDS_MAX = 10_000;
/** The characters that are allowed in a header. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
const TEST = 'test';
const EXTERNAL_ID_MAX = 128;
const SOURCES = ['website', 'phone_call', 'physical_store', 'email', 'app', 'crm', 'other'];
const ITEM_FIELDS = new Set(['id', 'name', 'quantity', 'price', 'category']);

/**
 * A customer's receiver of Standard Webhooks, at any path. It verifies signatures once its secret is set:
 * `{"platform":"webhook","mode":"secret","secret":"whsec_…"}`.
 */
export const double: PlatformDouble = {
  name: 'webhook',

  answer(request) {
    if (!METHODS.includes(request.method)) return refused(405, `Use ${METHODS.join(', ')}.`);
    // Authorization is optional.
    const token = request.headers['authorization']?.replace(/^\w+ /, '');
    const failure = token ? credentialFailure(token) : undefined;
    if (failure) return failures[failure](request);
    const secret = request.memory.get(SECRET);
    if (typeof secret === 'string' && !isSigned(request, secret)) return refused(401, 'The signature is wrong.');

    const body = parseJson(request.body);
    if (!isObject(body)) return refused(400, 'The body is not a JSON object.');
    const problems = problemsOfMessage(request, body);
    const accepted = problems.length === 0;
    const received = recorded(request, body, problems, accepted);
    return accepted ? jsonAnswer(200, { ok: true }, received) : refused(400, problems.join(', '), received);
  },

  fail: (kind, request) => failures[kind](request),
  callKind: ({ body }) => (body.includes(`"${TEST}"`) && isTest(parseJson(body)) ? 'test' : 'events'),

  control(request, memory) {
    if (request.mode === 'ok') memory.delete(SECRET);
    else if (request.mode === 'secret') return setSecret(request, memory);
    else return '"mode" of the webhook is "secret" or a mode that every platform has.';
    return undefined;
  },
};

const failures: FailureAnswers = {
  refuse: (request) => refused(400, 'The event is refused.', refusedEvents(request)),
  // A request contains one event.
  refuse_one: (request) => refused(400, 'The event is refused.', refusedEvents(request)),
  throttle: () => withHeaders(refused(429, 'Too many requests.'), { 'retry-after': RETRY_AFTER_SECONDS }),
  server_error: () => refused(500, 'The receiver has failed.'),
  unauthorized: () => refused(401, 'The authorization is wrong.'),
  forbidden: () => refused(403, 'The authorization does not suffice.'),
};

function refused(status: number, error: string, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(status, { ok: false, error }, received);
}

function setSecret(request: ControlRequest, memory: Memory): string | undefined {
  const { secret } = request as ControlRequest & { readonly secret?: unknown };
  if (!isText(secret)) return '"secret" requires "secret", the signing secret of the connection.';
  memory.set(SECRET, secret);
  return undefined;
}

/** One valid signature suffices: while a secret is rotated, a message has two. */
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
  return objectOf(body)['type'] === TEST;
}

/** A test is checked like any other message and not recorded. A receiver detects duplicates by the message id. */
function recorded(
  { headers }: SandboxRequest,
  body: JsonObject,
  problems: readonly string[],
  accepted: boolean,
): readonly ReceivedItem[] | undefined {
  if (isTest(body)) return undefined;
  const id = headers['webhook-id'];
  const { event_id: eventId } = objectOf(body['data']);
  return [
    receivedItem(body, { eventId, event: body['type'], problems, accepted, dedupKey: isText(id) ? id : undefined }),
  ];
}

function refusedEvents(request: SandboxRequest): readonly ReceivedItem[] | undefined {
  const body = parseJson(request.body);
  return isObject(body) ? recorded(request, body, problemsOfMessage(request, body), false) : undefined;
}

function problemsOfMessage(request: SandboxRequest, body: JsonObject): readonly string[] {
  const message = new FieldChecks(body);
  checkHeaders(message, request);
  if (Buffer.byteLength(request.body) > BODY_MAX_BYTES) message.problems.push('body is larger than 20 kB');
  message.required('type', (type) => check.text(type) ?? typeProblem(type as string));
  message.required('timestamp', check.isoTime({ nowMs: request.nowMs }));
  const data = message.object('data', isTest(body) ? 'optional' : 'required');
  if (data) checkData(data, isTest(body));
  return message.problems;
}

function checkHeaders(message: FieldChecks, request: SandboxRequest): void {
  const { headers, memory, nowMs } = request;
  const id = headers['webhook-id'];
  const idProblem = check.format(VISIBLE_ASCII, 'is not visible ASCII')(id);
  if (!isJsonContentType(request)) message.problems.push('content-type is not application/json');
  message.add('webhook-id', idProblem ?? changedIdProblem(id as string, message.value, memory));
  message.add('webhook-timestamp', timestampProblem(headers['webhook-timestamp'], nowMs));
}

/** The same event must always have the same message id; otherwise a receiver cannot detect the duplicate. */
function changedIdProblem(id: string, body: JsonObject, memory: Memory): string | undefined {
  const { event_id: eventId, conversion_id: conversionId } = objectOf(body['data']);
  if (isTest(body) || !isText(eventId)) return undefined;
  const event = `${conversionId} ${eventId}`;
  const ids = (memory.get(IDS) as Map<string, string> | undefined) ?? new Map<string, string>();
  memory.set(IDS, ids);
  const earlier = ids.get(event);
  if (earlier !== undefined) return earlier === id ? undefined : 'differs from an earlier message with the same event';
  ids.set(event, id);
  if (ids.size > IDS_MAX) ids.delete(ids.keys().next().value as string);
  return undefined;
}

function timestampProblem(text: string | undefined, nowMs: number): string | undefined {
  if (text === undefined) return 'is missing';
  if (!/^\d{10}$/.test(text)) return 'is not a Unix time in seconds';
  return Math.abs(Number(text) * SECOND_MS - nowMs) > TIMESTAMP_TOLERANCE_MS
    ? 'is more than 5 minutes from now'
    : undefined;
}

function typeProblem(type: string): string | undefined {
  return type === TEST || /^conversion\../.test(type) ? undefined : 'is not known';
}

function checkData(data: FieldChecks, isTestData: boolean): void {
  if (!isTestData || data.has('event_id')) data.required('event_id', check.text);
  data.optional('order_id', check.text);
  data.optional('value', check.number);
  data.optional('currency', check.currency);
  checkEach(data.object('click_ids'), check.raw);
  checkEach(data.object('utm'), check.text);
  const user = data.object('user');
  for (const name of Object.keys(user?.value ?? {})) if (name.endsWith('_sha256')) user?.required(name, check.hash);
  user?.optional('external_id', (id) => check.text(id, EXTERNAL_ID_MAX));
  data.optional('source', check.oneOf(SOURCES));
  data.each('items', (item, isAnObject) => {
    if (!isAnObject) item.addOwn('is not an object');
    item.known(ITEM_FIELDS);
    item.required('id', check.text);
    item.allOptional(['name', 'category'], check.text);
    item.optional('quantity', (value) => check.count(value) ?? (value === 0 ? 'is zero' : undefined));
    item.optional('price', check.number);
    if (item.has('price') && !data.has('currency')) item.add('price', 'has no currency');
  });
}

function checkEach(fields: FieldChecks | undefined, checkField: check.Check): void {
  for (const name of Object.keys(fields?.value ?? {})) fields?.required(name, checkField);
}
