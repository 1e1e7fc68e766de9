import {
  amountTextProblem,
  countProblem,
  credentialOf,
  currencyProblem,
  DAY_MS,
  HOUR_MS,
  hashProblem,
  ipProblem,
  isJsonContentType,
  isNumber,
  isObject,
  isText,
  type JsonObject,
  jsonAnswer,
  note,
  noteIfGiven,
  oneOfProblem,
  parseJson,
  rawProblem,
  receivedItem,
  textProblem,
  unixSecondsProblem,
  urlProblem,
} from '../checks.js';
import type { FailureKind, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';

const PATH = /^\/v3\/[\w-]+\/events(\/validate)?$/;
const EVENTS_MAX = 2_000;
const AGE_MAX_MS = 37 * DAY_MS;
const WEB_SOURCES = ['WEB', 'website'];
const ACTION_SOURCES = [...WEB_SOURCES, 'MOBILE_APP', 'app', 'OFFLINE'];
const UPPER_SNAKE_CASE = /^[A-Z][A-Z0-9_]*$/;

const HASHED = ['em', 'ph', 'fn', 'ln', 'ge', 'ct', 'st', 'zp', 'country', 'external_id'];
const RAW = ['client_user_agent', 'sc_click_id', 'sc_cookie1', 'madid', 'mobile_ad_id', 'idfv'];
/** The click id is none: it only helps beside one of these. */
const IDENTIFIERS = ['em', 'ph', 'madid', 'mobile_ad_id'];

const PROCESSED = 'Events have been processed successfully.';

/** Snapchat's Conversions API v3: one bad event makes the whole call INVALID, and `event` says which it was. */
export const snapchat: PlatformDouble = {
  name: 'snapchat',
  dedupWindowMs: 48 * HOUR_MS,

  answer(request) {
    if (!PATH.test(request.path)) return invalid(404, 'Not found.');
    if (request.method !== 'POST') return invalid(405, 'Method not allowed.');
    switch (credentialOf(request.query.get('access_token'))) {
      case 'missing':
      case 'bad':
        return invalid(401, 'The access token is missing or not valid.');
      case 'forbidden':
        return invalid(403, 'The access token has no permission for this asset.');
    }
    const body = parseJson(request.body);
    const problem = isJsonContentType(request) ? envelopeProblem(body) : 'content-type is not application/json';
    if (problem !== undefined) return invalid(400, problem);
    const judged = judge(body, request.nowMs);
    return isValidation(request) ? validationAnswer(judged) : eventsAnswer(judged);
  },

  fail(kind, request) {
    return failures[kind](request);
  },

  callKind: (request) => (isValidation(request) ? 'test' : 'events'),
};

const failures: Record<FailureKind, (request: SandboxRequest) => SandboxAnswer> = {
  refuse: (request) => invalid(400, 'The events are not valid.', { received: leftOut(request) }),
  refuse_one: (request) => invalid(400, 'The event is not valid.', { event: 0, received: leftOut(request) }),
  throttle: () => invalid(429, 'Too many requests.'),
  server_error: () => invalid(500, 'Internal server error.'),
  unauthorized: () => invalid(401, 'The access token is missing or not valid.'),
  forbidden: () => invalid(403, 'The access token has no permission for this asset.'),
};

interface Judged {
  readonly event: unknown;
  /** Each of them makes the event invalid. */
  readonly problems: readonly string[];
  /** What Snapchat takes, and yet should not be. */
  readonly warnings: readonly string[];
}

/** The envelope of everything that is not taken, whatever the HTTP status. */
function invalid(
  status: number,
  reason: string,
  about: {
    readonly event?: number;
    readonly problems?: readonly string[];
    readonly received?: readonly ReceivedItem[] | undefined;
  } = {},
): SandboxAnswer {
  const event = about.event === undefined ? {} : { event: about.event };
  const answer = { status: 'INVALID', ...event, reason, errors: errorsOf(about.problems ?? [reason]) };
  return jsonAnswer(status, answer, about.received);
}

function errorsOf(problems: readonly string[]): object {
  return { codes: problems.map(() => 'INVALID_REQUEST'), error_msgs: problems };
}

function eventsAnswer(judged: readonly Judged[]): SandboxAnswer {
  const culprit = judged.findIndex(({ problems }) => problems.length > 0);
  const received = judged.map((one) => noted(one, culprit === -1));
  if (culprit === -1) return jsonAnswer(200, { status: 'VALID', reason: PROCESSED }, received);
  const problems = judged[culprit]?.problems ?? [];
  return invalid(400, 'An event is not valid.', { event: culprit, problems, received });
}

/** Says all that is wrong, with HTTP 200: the validation itself went well. Nothing is written down. */
function validationAnswer(judged: readonly Judged[]): SandboxAnswer {
  const isValid = judged.every(({ problems }) => problems.length === 0);
  return jsonAnswer(200, {
    status: isValid ? 'VALID' : 'INVALID',
    test_event: true,
    reason: isValid ? PROCESSED : 'An event is not valid.',
    event_logs: judged.map(({ problems, warnings }, event) => ({
      event,
      status: problems.length === 0 ? 'VALID' : 'INVALID',
      errors: errorsOf(problems),
      warnings,
    })),
  });
}

function isValidation({ path }: SandboxRequest): boolean {
  return path.endsWith('/validate');
}

function noted({ event, problems, warnings }: Judged, taken: boolean): ReceivedItem {
  const { event_id: eventId, event_name: name } = isObject(event) ? event : {};
  return receivedItem(event, { eventId, event: name, problems: [...problems, ...warnings], taken });
}

function leftOut(request: SandboxRequest): readonly ReceivedItem[] | undefined {
  if (isValidation(request)) return undefined;
  return judge(parseJson(request.body), request.nowMs).map((one) => noted(one, false));
}

function envelopeProblem(body: unknown): string | undefined {
  if (!isObject(body)) return 'body is not a JSON object';
  const { data } = body;
  if (!Array.isArray(data)) return data === undefined ? 'data is missing' : 'data is not a list';
  if (data.length === 0) return 'data is empty';
  return data.length > EVENTS_MAX ? `data has more than ${EVENTS_MAX} events` : undefined;
}

function judge(body: unknown, nowMs: number): readonly Judged[] {
  const events: readonly unknown[] = isObject(body) && Array.isArray(body['data']) ? body['data'] : [];
  return events.map((event) => ({
    event,
    problems: problemsOf(event, nowMs),
    warnings:
      isObject(event) && event['event_id'] === undefined ? ['event_id is missing, so that repeats cannot be told'] : [],
  }));
}

function problemsOf(event: unknown, nowMs: number): readonly string[] {
  if (!isObject(event)) return ['event is not an object'];
  const problems: string[] = [];
  note(problems, 'event_name', nameProblem(event['event_name']));
  note(problems, 'event_time', unixSecondsProblem(event['event_time'], { nowMs, ageMaxMs: AGE_MAX_MS }));
  noteIfGiven(problems, 'event_id', event['event_id'], textProblem);
  note(problems, 'action_source', oneOfProblem(event['action_source'], ACTION_SOURCES));
  if (WEB_SOURCES.includes(event['action_source'] as string) || event['event_source_url'] !== undefined) {
    note(problems, 'event_source_url', urlProblem(event['event_source_url']));
  }
  noteIfGiven(problems, 'data_processing_options', event['data_processing_options'], textsProblem);
  if (isObject(event['user_data'])) noteUserData(problems, event['user_data']);
  else problems.push(event['user_data'] === undefined ? 'user_data is missing' : 'user_data is not an object');
  noteCustomData(problems, event);
  return problems;
}

function nameProblem(name: unknown): string | undefined {
  return textProblem(name) ?? (UPPER_SNAKE_CASE.test(name as string) ? undefined : 'is not the name of an event');
}

function textsProblem(value: unknown): string | undefined {
  return Array.isArray(value) && value.every(isText) ? undefined : 'is not a list of texts';
}

function noteUserData(problems: string[], user: JsonObject): void {
  for (const name of HASHED) noteIfGiven(problems, `user_data.${name}`, user[name], hashListProblem);
  for (const name of RAW) noteIfGiven(problems, `user_data.${name}`, user[name], rawProblem);
  noteIfGiven(problems, 'user_data.client_ip_address', user['client_ip_address'], ipProblem);
  const hasAddressAndAgent = user['client_ip_address'] !== undefined && user['client_user_agent'] !== undefined;
  if (!hasAddressAndAgent && IDENTIFIERS.every((name) => user[name] === undefined)) {
    problems.push('user_data has no identifier that suffices');
  }
}

function hashListProblem(value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'is not a list';
  return value.length === 0 ? 'is empty' : value.map(hashProblem).find((problem) => problem !== undefined);
}

function noteCustomData(problems: string[], event: JsonObject): void {
  const custom = event['custom_data'] ?? {};
  if (!isObject(custom)) {
    problems.push('custom_data is not an object');
    return;
  }
  const isPurchase = event['event_name'] === 'PURCHASE';
  const given = (name: string, check: (value: unknown) => string | undefined, isRequired = false) => {
    if (isRequired || custom[name] !== undefined) note(problems, `custom_data.${name}`, check(custom[name]));
  };
  given('currency', currencyProblem, isPurchase);
  given('value', amountProblem, isPurchase);
  given('order_id', textProblem);
  given('num_items', countProblem);
  given('content_ids', textsProblem);
  given('contents', (contents) => (Array.isArray(contents) ? undefined : 'is not a list'));
  if (Array.isArray(custom['contents'])) noteContents(problems, custom['contents']);
}

/** As a number or as text: Snapchat takes both. */
function amountProblem(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return isNumber(value) || amountTextProblem(value) === undefined ? undefined : 'is not an amount';
}

function noteContents(problems: string[], contents: readonly unknown[]): void {
  for (const [index, content] of contents.entries()) {
    const field = `custom_data.contents.${index}`;
    const { id, quantity, item_price: price } = isObject(content) ? content : {};
    note(problems, `${field}.id`, textProblem(id));
    noteIfGiven(problems, `${field}.quantity`, quantity, amountProblem);
    noteIfGiven(problems, `${field}.item_price`, price, amountProblem);
  }
}
