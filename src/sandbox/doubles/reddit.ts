import {
  bearerToken,
  countProblem,
  credentialOf,
  currencyProblem,
  DAY_MS,
  hashProblem,
  ipProblem,
  isJsonContentType,
  isObject,
  isSha256Hex,
  isText,
  type JsonObject,
  jsonAnswer,
  MINUTE_MS,
  note,
  noteIfGiven,
  numberProblem,
  oneOfProblem,
  parseJson,
  rawProblem,
  receivedItem,
  textProblem,
  unixMillisProblem,
  urlProblem,
} from '../checks.js';
import type { FailureKind, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';

const PATH = /^\/api\/v3\/pixels\/\w+\/conversion_events$/;
const EVENTS_MAX = 1_000;
const AGE_MAX_MS = 7 * DAY_MS;
const AHEAD_MAX_MS = 5 * MINUTE_MS;
/** What a program calls itself when nobody thought of it: Reddit throttles those. */
const NAMELESS_AGENT =
  /^(node|undici|axios|got|node-fetch|curl|wget|python-requests|python-urllib|okhttp|java|go-http-client)(\/| |$)/i;

const ACTION_SOURCES = ['WEBSITE', 'APP', 'OTHER', 'PHYSICAL_STORE'];
const WITH_AMOUNT = ['PURCHASE', 'ADD_TO_CART', 'ADD_TO_WISHLIST', 'LEAD', 'SIGN_UP', 'CUSTOM'];
const TRACKING_TYPES = [...WITH_AMOUNT, 'PAGE_VISIT', 'VIEW_CONTENT', 'SEARCH'];
const CUSTOM_NAME_MAX = 64;
const UUID_COOKIE = /^\d+\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const IDENTIFIERS = ['email', 'phone_number', 'external_id', 'uuid', 'idfa', 'aaid'];
/** Names of the second version of this API. */
const OBSOLETE = {
  event: ['event_type', 'event_metadata'],
  user: ['opt_out'],
  metadata: ['value_decimal'],
};

/** Reddit's Conversions API v3: one bad event, and none of the batch is processed; only their number is said. */
export const reddit: PlatformDouble = {
  name: 'reddit',
  dedupWindowMs: 2 * DAY_MS,

  answer(request) {
    if (!PATH.test(request.path)) return message(404, 'Not Found');
    if (request.method !== 'POST') return message(405, 'Method Not Allowed');
    const agent = request.headers['user-agent'];
    if (agent === undefined || agent === '' || NAMELESS_AGENT.test(agent)) return message(429, 'Too Many Requests');
    switch (credentialOf(bearerToken(request))) {
      case 'missing':
        return { status: 401, headers: { 'content-type': 'text/plain' }, body: 'Authorization Required' };
      case 'bad':
        return unauthorized();
      case 'forbidden':
        return forbidden();
    }
    const body = parseJson(request.body);
    if (!isJsonContentType(request) || !isEnvelope(body)) return message(400, 'Bad Request');

    const judged = judge(body, request.nowMs);
    const invalid = judged.filter(({ problems }) => problems.length > 0).length;
    const received = judged.map((one) => noted(one, invalid === 0));
    return invalid === 0 ? processed(received) : refused(invalid, received);
  },

  fail(kind, request) {
    return failures[kind](request);
  },
};

const failures: Record<FailureKind, (request: SandboxRequest) => SandboxAnswer> = {
  refuse: (request) => {
    const received = leftOut(request);
    return refused(received.length, received);
  },
  refuse_one: (request) => refused(1, leftOut(request)),
  throttle: () => message(429, 'Too Many Requests'),
  server_error: () => message(500, 'The service is currently unavailable. No conversion events were processed.'),
  unauthorized: () => unauthorized(),
  forbidden: () => forbidden(),
};

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

function unauthorized(): SandboxAnswer {
  const explanation = 'This server could not verify that you are authorized to access the document you requested.';
  return jsonAnswer(401, { success: false, error: { reason: 'UNAUTHORIZED', explanation } });
}

function forbidden(): SandboxAnswer {
  const explanation = 'You have no permission for this pixel.';
  return jsonAnswer(403, { success: false, error: { reason: 'FORBIDDEN', explanation } });
}

/** Everything is within `data`; a test is for one event. */
function isEnvelope(body: unknown): boolean {
  const { events, test_id: testId, test_mode: testMode } = isObject(body) && isObject(body['data']) ? body['data'] : {};
  if (!Array.isArray(events) || events.length === 0 || events.length > EVENTS_MAX) return false;
  if (testMode !== undefined) return false;
  return testId === undefined || (isText(testId) && events.length === 1);
}

interface Judged {
  readonly event: unknown;
  /** Each of them makes the event invalid. */
  readonly problems: readonly string[];
  /** What Reddit takes without a word, and yet should not be. */
  readonly remarks: readonly string[];
}

function judge(body: unknown, nowMs: number): readonly Judged[] {
  const data = isObject(body) && isObject(body['data']) ? body['data'] : {};
  const events: readonly unknown[] = Array.isArray(data['events']) ? data['events'] : [];
  return events.map((event) => ({
    event,
    problems: problemsOf(event, nowMs),
    remarks:
      isObject(event) && conversionIdOf(event) === undefined
        ? ['metadata.conversion_id is missing, so that repeats cannot be told']
        : [],
  }));
}

function conversionIdOf(event: unknown): unknown {
  return isObject(event) && isObject(event['metadata']) ? event['metadata']['conversion_id'] : undefined;
}

function noted({ event, problems, remarks }: Judged, taken: boolean): ReceivedItem {
  const { type, action_source: source } = isObject(event) ? event : {};
  const name = isObject(type) ? type['tracking_type'] : undefined;
  const eventId = conversionIdOf(event);
  return receivedItem(event, {
    eventId,
    event: name,
    problems: [...problems, ...remarks],
    taken,
    ...(isText(eventId) ? { dedupKey: `${name} ${source} ${eventId}` } : {}),
  });
}

function leftOut(request: SandboxRequest): readonly ReceivedItem[] {
  return judge(parseJson(request.body), request.nowMs).map((one) => noted(one, false));
}

function problemsOf(event: unknown, nowMs: number): readonly string[] {
  if (!isObject(event)) return ['event is not an object'];
  const problems: string[] = [];
  noteObsolete(problems, '', event, OBSOLETE.event);
  const limits = { nowMs, ageMaxMs: AGE_MAX_MS, aheadMaxMs: AHEAD_MAX_MS };
  note(problems, 'event_at', unixMillisProblem(event['event_at'], limits));
  note(problems, 'action_source', oneOfProblem(event['action_source'], ACTION_SOURCES));
  noteIfGiven(problems, 'event_source_url', event['event_source_url'], urlProblem);
  noteIfGiven(problems, 'click_id', event['click_id'], rawProblem);
  noteType(problems, event['type']);
  noteUser(problems, event);
  noteMetadata(problems, event);
  return problems;
}

function noteObsolete(problems: string[], prefix: string, value: JsonObject, names: readonly string[]): void {
  for (const name of names) {
    if (value[name] !== undefined) problems.push(`${prefix}${name} belongs to the obsolete version of this API`);
  }
}

function noteType(problems: string[], type: unknown): void {
  if (!isObject(type)) {
    problems.push(type === undefined ? 'type is missing' : 'type is not an object');
    return;
  }
  note(problems, 'type.tracking_type', oneOfProblem(type['tracking_type'], TRACKING_TYPES));
  if (type['tracking_type'] === 'CUSTOM') {
    note(problems, 'type.custom_event_name', textProblem(type['custom_event_name'], CUSTOM_NAME_MAX));
  } else if (type['custom_event_name'] !== undefined) {
    problems.push('type.custom_event_name is for CUSTOM only');
  }
}

function noteUser(problems: string[], event: JsonObject): void {
  const user = event['user'] ?? {};
  if (!isObject(user)) {
    problems.push('user is not an object');
    return;
  }
  noteObsolete(problems, 'user.', user, OBSOLETE.user);
  const given = (name: string, check: (value: unknown) => string | undefined) =>
    noteIfGiven(problems, `user.${name}`, user[name], check);
  given('email', hashProblem);
  given('phone_number', hashProblem);
  // Raw or hashed, as the sender likes.
  for (const name of ['external_id', 'idfa', 'aaid']) given(name, textProblem);
  given('ip_address', (value) => (isSha256Hex(value) ? hashProblem(value) : ipProblem(value)));
  given('user_agent', rawProblem);
  given('uuid', (value) => (UUID_COOKIE.test(String(value)) ? undefined : 'is not <ms>.<uuid>'));

  const hasAddressAndAgent = user['ip_address'] !== undefined && user['user_agent'] !== undefined;
  const isKnown = event['click_id'] !== undefined || IDENTIFIERS.some((name) => user[name] !== undefined);
  if (!isKnown && !hasAddressAndAgent) problems.push('user has no identifier that suffices');
}

function noteMetadata(problems: string[], event: JsonObject): void {
  const metadata = event['metadata'] ?? {};
  if (!isObject(metadata)) {
    problems.push('metadata is not an object');
    return;
  }
  noteObsolete(problems, 'metadata.', metadata, OBSOLETE.metadata);
  const given = (name: string, check: (value: unknown) => string | undefined) =>
    noteIfGiven(problems, `metadata.${name}`, metadata[name], check);
  given('conversion_id', textProblem);
  given('value', numberProblem);
  given('currency', currencyProblem);
  given('item_count', countProblem);
  given('products', (products) => (Array.isArray(products) ? undefined : 'is not a list'));
  if (Array.isArray(metadata['products'])) noteProducts(problems, metadata['products']);

  const type = isObject(event['type']) ? event['type']['tracking_type'] : undefined;
  const hasAmount = metadata['value'] !== undefined || metadata['currency'] !== undefined;
  if (hasAmount && TRACKING_TYPES.includes(type as string) && !WITH_AMOUNT.includes(type as string)) {
    problems.push('metadata has an amount, which events of this type have not');
  }
}

function noteProducts(problems: string[], products: readonly unknown[]): void {
  for (const [index, product] of products.entries()) {
    const field = `metadata.products.${index}`;
    const { id, name, category, quantity, item_price: price } = isObject(product) ? product : {};
    note(problems, `${field}.id`, textProblem(id));
    noteIfGiven(problems, `${field}.name`, name, textProblem);
    noteIfGiven(problems, `${field}.category`, category, textProblem);
    noteIfGiven(problems, `${field}.quantity`, quantity, countProblem);
    noteIfGiven(problems, `${field}.item_price`, price, numberProblem);
  }
}
