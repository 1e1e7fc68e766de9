import { randomUUID } from 'node:crypto';
import {
  countProblem,
  credentialOf,
  DAY_MS,
  HOUR_MS,
  hashProblem,
  ipProblem,
  isJsonContentType,
  isObject,
  isText,
  type JsonObject,
  jsonAnswer,
  note,
  noteIfGiven,
  numberProblem,
  oneOfProblem,
  parseJson,
  rawProblem,
  receivedItem,
  textProblem,
  unixSecondsProblem,
  urlProblem,
} from '../checks.js';
import type { FailureKind, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';

/** Without the slash at the end there is nothing. */
const PATH = '/open_api/v1.3/event/track/';
const EVENTS_MAX = 1_000;
const EVENT_SOURCES = ['web', 'app', 'offline', 'crm'];
/** Of the sources whose limit is known. */
const AGE_MAX_MS: Readonly<Record<string, number>> = { web: 7 * DAY_MS, offline: 28 * DAY_MS };

const HASHED_LISTS = ['email', 'phone', 'external_id'];
const HASHED = ['first_name', 'last_name', 'zip_code'];
const RAW = ['ttclid', 'ttp', 'user_agent', 'locale', 'idfa', 'idfv', 'gaid'];
const PLAIN_LOWER_CASE = ['city', 'state', 'country'];
const IDENTIFIERS = ['ttclid', 'ttp', 'email', 'phone', 'external_id', 'idfa', 'idfv', 'gaid'];
/** Names of the first version of this API; they mean nothing here. */
const OBSOLETE = { envelope: ['pixel_code', 'batch'], event: ['context', 'timestamp', 'type'], user: ['phone_number'] };
const CURRENCIES = new Set(
  (
    'AED ARS AUD BDT BHD BIF BOB BRL CAD CHF CLP CNY COP CRC CZK DKK DZD EGP EUR GBP GTQ HKD HNL HUF IDR ILS INR ' +
    'ISK JPY KES KHR KRW KWD KZT MAD MOP MXN MYR NGN NIO NOK NZD OMR PEN PHP PKR PLN PYG QAR RON RUB SAR SEK SGD ' +
    'THB TRY TWD UAH USD VES VND ZAR'
  ).split(' '),
);

const OK = 0;
const NO_PERMISSION = 40001;
const INVALID = 40002;
const TOO_MANY_REQUESTS = 40100;
const TOKEN_MISSING = 40104;
const TOKEN_WRONG = 40105;
const SYSTEM_ERROR = 50000;

/** What TikTok calls the most frequent problems. */
const WORDING = [
  [/ is missing$/, ': Missing data for required field'],
  [/ is not a text$/, ': Not a valid string'],
  [/ is not a number$/, ': Not a valid number'],
] as const;

/** TikTok's Events API 2.0: every answer of the application is HTTP 200, and `code` says what it is. */
export const tiktok: PlatformDouble = {
  name: 'tiktok',
  dedupWindowMs: 48 * HOUR_MS,

  answer(request) {
    if (request.path !== PATH) return { status: 404, body: '404 page not found' };
    if (request.method !== 'POST') return { status: 405, headers: { allow: 'POST' }, body: '405 method not allowed' };
    const body = parseJson(request.body);
    switch (credentialOf(request.headers['access-token'])) {
      case 'missing':
        return tokenMissing();
      case 'bad':
        return tokenWrong();
      case 'forbidden':
        return noPermission(body);
    }
    if (!isJsonContentType(request)) return applicationAnswer(INVALID, 'Content-Type must be application/json');
    const problem = envelopeProblem(body);
    if (problem !== undefined) return applicationAnswer(INVALID, wordingOf(problem));

    const judged = judge(body, request.nowMs);
    const culprit = judged.findIndex(({ problems }) => problems.length > 0);
    const received = judged.map((one) => noted(one, culprit === -1));
    return culprit === -1
      ? applicationAnswer(OK, 'OK', received)
      : applicationAnswer(INVALID, `Batch.${culprit}.${wordingOf(judged[culprit]?.problems[0] ?? '')}`, received);
  },

  fail(kind, request) {
    return failures[kind](request);
  },
};

const failures: Record<FailureKind, (request: SandboxRequest) => SandboxAnswer> = {
  refuse: (request) => applicationAnswer(INVALID, 'Invalid parameter.', leftOut(request)),
  refuse_one: (request) =>
    applicationAnswer(INVALID, 'Batch.0.properties.contents.0.content_id: Not a valid string', leftOut(request)),
  throttle: () => applicationAnswer(TOO_MANY_REQUESTS, 'Too many requests. Please retry in some time.'),
  server_error: () => applicationAnswer(SYSTEM_ERROR, 'System error. Please retry in some time.'),
  unauthorized: () => tokenWrong(),
  forbidden: (request) => noPermission(parseJson(request.body)),
};

function applicationAnswer(code: number, message: string, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(200, { code, message, request_id: randomUUID(), data: {} }, received);
}

function tokenMissing(): SandboxAnswer {
  const message = 'Access token is null, you should set it in http header with key Access-Token.';
  return applicationAnswer(TOKEN_MISSING, message);
}

function tokenWrong(): SandboxAnswer {
  return applicationAnswer(TOKEN_WRONG, 'Access token is incorrect or has been revoked.');
}

function noPermission(body: unknown): SandboxAnswer {
  const pixel = isObject(body) && isText(body['event_source_id']) ? body['event_source_id'] : '';
  const advice = 'You must be an admin or operator of this advertiser account.';
  return applicationAnswer(NO_PERMISSION, `No permission to operate pixel code: ${pixel}. ${advice}`);
}

function wordingOf(problem: string): string {
  for (const [ours, theirs] of WORDING) if (ours.test(problem)) return problem.replace(ours, theirs);
  return problem.replace(' ', ': ');
}

function envelopeProblem(body: unknown): string | undefined {
  if (!isObject(body)) return 'body is not a JSON object';
  const problems: string[] = [];
  noteObsolete(problems, '', body, OBSOLETE.envelope);
  note(problems, 'event_source', oneOfProblem(body['event_source'], EVENT_SOURCES));
  note(problems, 'event_source_id', textProblem(body['event_source_id']));
  noteIfGiven(problems, 'test_event_code', body['test_event_code'], textProblem);
  noteIfGiven(problems, 'partner_name', body['partner_name'], textProblem);
  const { data } = body;
  if (!Array.isArray(data)) problems.push(data === undefined ? 'data is missing' : 'data is not a list');
  else if (data.length === 0) problems.push('data is empty');
  else if (data.length > EVENTS_MAX) problems.push(`data has more than ${EVENTS_MAX} events`);
  return problems[0];
}

interface Judged {
  readonly event: unknown;
  /** Each of them is a refusal. */
  readonly problems: readonly string[];
  /** What TikTok takes without a word, and yet should not be. */
  readonly remarks: readonly string[];
}

function judge(body: unknown, nowMs: number): readonly Judged[] {
  if (!isObject(body) || !Array.isArray(body['data'])) return [];
  const { data, event_source: source } = body;
  const isBatchedTest = body['test_event_code'] !== undefined && data.length > 1;
  return data.map((event: unknown) => ({
    event,
    problems: problemsOf(event, source, nowMs),
    remarks: [
      ...(isObject(event) && event['event_id'] === undefined
        ? ['event_id is missing, so that repeats cannot be told']
        : []),
      ...(isBatchedTest ? ['test_event_code is for one event at a time'] : []),
    ],
  }));
}

function noted({ event, problems, remarks }: Judged, taken: boolean): ReceivedItem {
  const { event_id: eventId, event: name } = isObject(event) ? event : {};
  return receivedItem(event, {
    eventId,
    event: name,
    problems: [...problems, ...remarks],
    taken,
    ...(isText(eventId) ? { dedupKey: `${name} ${eventId}` } : {}),
  });
}

function leftOut(request: SandboxRequest): readonly ReceivedItem[] {
  return judge(parseJson(request.body), request.nowMs).map((one) => noted(one, false));
}

function problemsOf(event: unknown, source: unknown, nowMs: number): readonly string[] {
  if (!isObject(event)) return ['event is not an object'];
  const problems: string[] = [];
  noteObsolete(problems, '', event, OBSOLETE.event);
  note(problems, 'event', textProblem(event['event']));
  const ageMaxMs = AGE_MAX_MS[String(source)];
  const limits = ageMaxMs === undefined ? { nowMs } : { nowMs, ageMaxMs };
  note(problems, 'event_time', unixSecondsProblem(event['event_time'], limits));
  noteIfGiven(problems, 'event_id', event['event_id'], textProblem);
  noteUser(problems, event, source);
  noteProperties(problems, event['properties']);
  notePage(problems, event['page']);
  if (event['limited_data_use'] !== undefined && typeof event['limited_data_use'] !== 'boolean') {
    problems.push('limited_data_use is not a boolean');
  }
  return problems;
}

function noteObsolete(problems: string[], prefix: string, value: JsonObject, names: readonly string[]): void {
  for (const name of names) {
    if (value[name] !== undefined) problems.push(`${prefix}${name} belongs to the obsolete version of this API`);
  }
}

function noteUser(problems: string[], event: JsonObject, source: unknown): void {
  const user = event['user'] ?? {};
  if (!isObject(user)) {
    problems.push('user is not an object');
    return;
  }
  noteObsolete(problems, 'user.', user, OBSOLETE.user);
  for (const name of HASHED_LISTS) noteIfGiven(problems, `user.${name}`, user[name], hashesProblem);
  for (const name of HASHED) noteIfGiven(problems, `user.${name}`, user[name], hashProblem);
  for (const name of RAW) noteIfGiven(problems, `user.${name}`, user[name], rawProblem);
  for (const name of PLAIN_LOWER_CASE) noteIfGiven(problems, `user.${name}`, user[name], plainProblem);
  noteIfGiven(problems, 'user.ip', user['ip'], ipProblem);

  const isKnownLead = source === 'crm' && isObject(event['lead']) && isText(event['lead']['lead_id']);
  const hasAddressAndAgent = user['ip'] !== undefined && user['user_agent'] !== undefined;
  if (!isKnownLead && !hasAddressAndAgent && IDENTIFIERS.every((name) => user[name] === undefined)) {
    problems.push('user has no identifier that suffices');
  }
}

function hashesProblem(value: unknown): string | undefined {
  if (!Array.isArray(value)) return hashProblem(value);
  return value.length === 0 ? 'is empty' : value.map(hashProblem).find((problem) => problem !== undefined);
}

function plainProblem(value: unknown): string | undefined {
  return rawProblem(value) ?? (value === (value as string).toLowerCase() ? undefined : 'is not in lower case');
}

function noteProperties(problems: string[], properties: unknown): void {
  if (properties === undefined) return;
  if (!isObject(properties)) {
    problems.push('properties is not an object');
    return;
  }
  const given = (name: string, check: (value: unknown) => string | undefined) =>
    noteIfGiven(problems, `properties.${name}`, properties[name], check);
  given('value', numberProblem);
  given('currency', (value) => (CURRENCIES.has(value as string) ? undefined : 'is not a currency that TikTok knows'));
  given('content_type', (value) => oneOfProblem(value, ['product', 'product_group']));
  for (const name of ['order_id', 'query', 'description']) given(name, textProblem);
  given('contents', (value) => (Array.isArray(value) ? undefined : 'is not a list'));
  if (Array.isArray(properties['contents'])) noteContents(problems, properties['contents']);
}

function noteContents(problems: string[], contents: readonly unknown[]): void {
  for (const [index, content] of contents.entries()) {
    const field = `properties.contents.${index}`;
    const { content_id: id, quantity, price } = isObject(content) ? content : {};
    note(problems, `${field}.content_id`, textProblem(id));
    noteIfGiven(problems, `${field}.quantity`, quantity, countProblem);
    noteIfGiven(problems, `${field}.price`, price, numberProblem);
  }
}

function notePage(problems: string[], page: unknown): void {
  if (page === undefined) return;
  if (!isObject(page)) {
    problems.push('page is not an object');
    return;
  }
  noteIfGiven(problems, 'page.url', page['url'], urlProblem);
  noteIfGiven(problems, 'page.referrer', page['referrer'], textProblem);
}
