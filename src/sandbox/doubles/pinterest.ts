import {
  amountTextProblem,
  bearerToken,
  countProblem,
  credentialOf,
  currencyProblem,
  hashProblem,
  ipProblem,
  isJsonContentType,
  isObject,
  isText,
  type JsonObject,
  jsonAnswer,
  note,
  noteIfGiven,
  noteUnknown,
  oneOfProblem,
  parseJson,
  rawProblem,
  receivedItem,
  textProblem,
  unixSecondsProblem,
  urlProblem,
} from '../checks.js';
import type { FailureKind, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';

const PATH = /^\/v5\/ad_accounts\/\d+\/events$/;
const EVENTS_MAX = 1_000;
const ACTION_SOURCES = ['web', 'app_android', 'app_ios', 'offline'];
const NAMES = new Set(
  (
    'add_payment_info add_to_cart add_to_wishlist app_install checkout contact custom initiate_checkout lead ' +
    'page_visit schedule search signup start_trial subscribe view_category view_content watch_video'
  ).split(' '),
);
const SNAKE_CASE = /^[a-z]+(_[a-z]+)*$/;

const HASHED = ['em', 'ph', 'ge', 'db', 'ln', 'fn', 'ct', 'st', 'zp', 'country', 'external_id', 'hashed_maids'];
const KNOWN = {
  event: new Set(
    (
      'event_name action_source event_time event_id event_source_url opt_out partner_name user_data custom_data ' +
      'app_id app_name app_version app_info device_brand device_carrier device_info device_model device_type ' +
      'os_version wifi language'
    ).split(' '),
  ),
  user: new Set([...HASHED, 'client_ip_address', 'client_user_agent', 'click_id', 'partner_id']),
  custom: new Set(
    (
      'currency value content_ids content_name content_category content_brand contents num_items order_id ' +
      'search_string opt_out_type np predicted_ltv external_measurement_id external_measurement_vendor_id'
    ).split(' '),
  ),
  content: new Set(['id', 'item_price', 'quantity', 'item_name', 'item_category', 'item_brand']),
};

const INVALID = { code: 4196, message: 'The request was invalid.' };
const UNAUTHORIZED = { code: 2, message: 'Authentication failed.' };
const FORBIDDEN = { code: 29, message: 'You are not permitted to access that resource.' };
const THROTTLED = { code: 8, message: 'This request exceeded a rate limit.' };
const UNAVAILABLE = { code: 4197, message: 'The endpoint is currently not accepting any traffic.' };

/** Pinterest's Conversions API: every event of the batch has a status of its own, within a 200. */
export const pinterest: PlatformDouble = {
  name: 'pinterest',

  answer(request) {
    if (!PATH.test(request.path)) return jsonAnswer(404, { code: 404, message: 'Not found.' });
    if (request.method !== 'POST') return jsonAnswer(405, { code: 405, message: 'Method not allowed.' });
    switch (credentialOf(bearerToken(request))) {
      case 'missing':
      case 'bad':
        return jsonAnswer(401, UNAUTHORIZED);
      case 'forbidden':
        return jsonAnswer(403, FORBIDDEN);
    }
    const body = parseJson(request.body);
    const problem = isJsonContentType(request) ? envelopeProblem(body) : 'content-type is not application/json';
    if (problem !== undefined) return jsonAnswer(400, { ...INVALID, message: `${INVALID.message} ${problem}` });
    return eventsAnswer(request, judge(body, request.nowMs));
  },

  fail(kind, request) {
    return failures[kind](request);
  },

  callKind: (request) => (isTest(request) ? 'test' : 'events'),
};

const failures: Record<FailureKind, (request: SandboxRequest) => SandboxAnswer> = {
  refuse: (request) => {
    const judged = judge(parseJson(request.body), request.nowMs);
    return jsonAnswer(
      400,
      INVALID,
      recorded(request, () => judged.map((one) => noted(one, false))),
    );
  },
  refuse_one: (request) => {
    const [first, ...others] = judge(parseJson(request.body), request.nowMs);
    if (first === undefined) return jsonAnswer(400, INVALID);
    return eventsAnswer(request, [{ ...first, error: first.error ?? 'The event could not be processed.' }, ...others]);
  },
  throttle: () => jsonAnswer(429, THROTTLED),
  server_error: () => jsonAnswer(503, UNAVAILABLE),
  unauthorized: () => jsonAnswer(401, UNAUTHORIZED),
  forbidden: () => jsonAnswer(403, FORBIDDEN),
};

interface Judged {
  readonly event: unknown;
  readonly problems: readonly string[];
  /** Why the event is not processed. */
  readonly error: string | undefined;
  readonly warning: string | undefined;
}

function eventsAnswer(request: SandboxRequest, judged: readonly Judged[]): SandboxAnswer {
  const answer = {
    num_events_received: judged.length,
    num_events_processed: judged.filter(({ error }) => error === undefined).length,
    events: judged.map(({ error, warning }) => ({
      status: error === undefined ? 'processed' : 'failed',
      error_message: error ?? null,
      warning_message: warning ?? null,
    })),
  };
  const received = recorded(request, () => judged.map((one) => noted(one, one.error === undefined)));
  return jsonAnswer(200, answer, received);
}

function isTest({ query }: SandboxRequest): boolean {
  return query.get('test') === 'true';
}

/** A test is checked like everything else, and then forgotten. */
function recorded(request: SandboxRequest, items: () => readonly ReceivedItem[]): readonly ReceivedItem[] | undefined {
  return isTest(request) ? undefined : items();
}

function noted({ event, problems }: Judged, taken: boolean): ReceivedItem {
  const { event_id: eventId, event_name: name } = isObject(event) ? event : {};
  return receivedItem(event, { eventId, event: name, problems, taken });
}

function envelopeProblem(body: unknown): string | undefined {
  if (!isObject(body)) return 'body is not a JSON object';
  const { data, ...others } = body;
  if (Object.keys(others).length > 0) return 'body has more properties than data';
  if (!Array.isArray(data)) return 'data is not a list';
  if (data.length === 0) return 'data is empty';
  return data.length > EVENTS_MAX ? `data has more than ${EVENTS_MAX} events` : undefined;
}

function judge(body: unknown, nowMs: number): readonly Judged[] {
  const events: readonly unknown[] = isObject(body) && Array.isArray(body['data']) ? body['data'] : [];
  return events.map((event) => {
    const problems = problemsOf(event, nowMs);
    const warning = warningOf(event);
    const error = problems.length === 0 ? undefined : problems.join(', ');
    return { event, problems: warning === undefined ? problems : [...problems, warning], error, warning };
  });
}

/** New names appear now and then: one that looks like a name is processed. */
function warningOf(event: unknown): string | undefined {
  const name = isObject(event) ? event['event_name'] : undefined;
  return typeof name === 'string' && SNAKE_CASE.test(name) && !NAMES.has(name)
    ? 'event_name is not a standard one'
    : undefined;
}

function problemsOf(event: unknown, nowMs: number): readonly string[] {
  if (!isObject(event)) return ['event is not an object'];
  const problems: string[] = [];
  noteUnknown(problems, '', event, KNOWN.event);
  note(problems, 'event_name', textProblem(event['event_name']) ?? nameProblem(event['event_name'] as string));
  note(problems, 'action_source', oneOfProblem(event['action_source'], ACTION_SOURCES));
  note(problems, 'event_time', unixSecondsProblem(event['event_time'], { nowMs }));
  note(problems, 'event_id', textProblem(event['event_id']));
  noteIfGiven(problems, 'event_source_url', event['event_source_url'], urlProblem);
  noteIfGiven(problems, 'opt_out', event['opt_out'], (value) =>
    typeof value === 'boolean' ? undefined : 'is not a boolean',
  );
  noteIfGiven(problems, 'partner_name', event['partner_name'], textProblem);
  if (isObject(event['user_data'])) noteUserData(problems, event['user_data']);
  else problems.push(event['user_data'] === undefined ? 'user_data is missing' : 'user_data is not an object');
  if (isObject(event['custom_data'])) noteCustomData(problems, event['custom_data']);
  else if (event['custom_data'] !== undefined) problems.push('custom_data is not an object');
  return problems;
}

function nameProblem(name: string): string | undefined {
  return SNAKE_CASE.test(name) ? undefined : 'is not the name of an event';
}

function noteUserData(problems: string[], user: JsonObject): void {
  noteUnknown(problems, 'user_data', user, KNOWN.user);
  for (const name of HASHED) noteIfGiven(problems, `user_data.${name}`, user[name], hashListProblem);
  noteIfGiven(problems, 'user_data.client_ip_address', user['client_ip_address'], ipProblem);
  noteIfGiven(problems, 'user_data.client_user_agent', user['client_user_agent'], rawProblem);
  noteIfGiven(problems, 'user_data.click_id', user['click_id'], rawProblem);
  noteIfGiven(problems, 'user_data.partner_id', user['partner_id'], textProblem);
  const hasAddressAndAgent = user['client_ip_address'] !== undefined && user['client_user_agent'] !== undefined;
  if (user['em'] === undefined && user['hashed_maids'] === undefined && !hasAddressAndAgent) {
    problems.push('user_data has no identifier that suffices');
  }
}

function hashListProblem(value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'is not a list';
  return value.length === 0 ? 'is empty' : value.map(hashProblem).find((problem) => problem !== undefined);
}

function noteCustomData(problems: string[], custom: JsonObject): void {
  noteUnknown(problems, 'custom_data', custom, KNOWN.custom);
  const given = (name: string, check: (value: unknown) => string | undefined) =>
    noteIfGiven(problems, `custom_data.${name}`, custom[name], check);
  given('value', amountTextProblem);
  given('predicted_ltv', amountTextProblem);
  given('currency', currencyProblem);
  given('num_items', countProblem);
  given('content_ids', (ids) => (Array.isArray(ids) && ids.every(isText) ? undefined : 'is not a list of texts'));
  for (const name of [
    'order_id',
    'search_string',
    'opt_out_type',
    'content_name',
    'content_category',
    'content_brand',
  ]) {
    given(name, textProblem);
  }
  given('contents', (contents) => (Array.isArray(contents) ? undefined : 'is not a list'));
  if (Array.isArray(custom['contents'])) noteContents(problems, custom['contents']);
}

function noteContents(problems: string[], contents: readonly unknown[]): void {
  for (const [index, content] of contents.entries()) {
    const field = `custom_data.contents.${index}`;
    if (!isObject(content)) {
      problems.push(`${field} is not an object`);
      continue;
    }
    noteUnknown(problems, field, content, KNOWN.content);
    noteIfGiven(problems, `${field}.id`, content['id'], textProblem);
    noteIfGiven(problems, `${field}.item_price`, content['item_price'], amountTextProblem);
    noteIfGiven(problems, `${field}.quantity`, content['quantity'], countProblem);
  }
}
