import { credentialFailure, isJsonContentType, jsonAnswer, receivedItems } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { type CheckedItem, countryWarning, type FieldChecks, missingIdWarning, problemsOf } from '../field-checks.js';
import type { SignIn } from '../sign-ins.js';
import { tokenAnswer } from '../token-endpoint.js';
import { DAY_MS, HOUR_MS, isNumber, isObject, listIn, objectOf, parseJson } from '../values.js';

const PATH = /^\/v3\/[\w-]+\/events(\/validate)?$/;
const EVENTS_MAX = 2_000;
const AGE_MAX_MS = 37 * DAY_MS;
const WEB_SOURCES = ['WEB', 'website'];
const ACTION_SOURCES = [...WEB_SOURCES, 'MOBILE_APP', 'app', 'OFFLINE'];
const UPPER_SNAKE_CASE = /^[A-Z][A-Z0-9_]*$/;

const HASHED = ['em', 'ph', 'fn', 'ln', 'ge', 'ct', 'st', 'zp', 'country', 'external_id'];
const RAW = ['client_user_agent', 'sc_click_id', 'sc_cookie1', 'madid', 'mobile_ad_id', 'idfv'];
/** The click id does not suffice; it only improves a match by one of these. */
const IDENTIFIERS = ['em', 'ph', 'madid', 'mobile_ad_id'];

const PROCESSED = 'Events have been processed successfully.';

/** Snapchat's Conversions API v3: one invalid event makes the whole request INVALID, and `event` is its index. */
export const double: PlatformDouble = {
  name: 'snapchat',
  dedupWindowMs: 48 * HOUR_MS,

  answer(request) {
    if (!PATH.test(request.path)) return invalid(404, 'Not found.');
    if (request.method !== 'POST') return invalid(405, 'Method not allowed.');
    const failure = credentialFailure(request.query.get('access_token'));
    if (failure) return failures[failure](request);
    const problem = isJsonContentType(request) ? envelopeProblem(request) : 'content-type is not application/json';
    if (problem !== undefined) return invalid(400, problem);
    const checked = checkedEvents(request);
    return isValidation(request) ? validationAnswer(checked) : eventsAnswer(checked);
  },

  fail: (kind, request) => failures[kind](request),
  callKind: (request) => (isValidation(request) ? 'test' : 'events'),
};

const failures: FailureAnswers = {
  refuse: (request) => invalid(400, 'The events are not valid.', { received: refusedEvents(request) }),
  refuse_one: (request) => invalid(400, 'The event is not valid.', { event: 0, received: refusedEvents(request) }),
  throttle: () => invalid(429, 'Too many requests.'),
  server_error: () => invalid(500, 'Internal server error.'),
  unauthorized: () => invalid(401, 'The access token is missing or not valid.'),
  forbidden: () => invalid(403, 'The access token has no permission for this asset.'),
};

/** The body of every refusal, regardless of the HTTP status. */
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

function eventsAnswer(checked: readonly CheckedItem[]): SandboxAnswer {
  const firstInvalid = checked.findIndex(({ problems }) => problems.length > 0);
  const received = receivedEvents(checked, firstInvalid === -1);
  if (firstInvalid === -1) return jsonAnswer(200, { status: 'VALID', reason: PROCESSED }, received);
  const problems = checked[firstInvalid]?.problems ?? [];
  return invalid(400, 'An event is not valid.', { event: firstInvalid, problems, received });
}

/** Reports all problems with HTTP 200, because the validation itself succeeded. Nothing is recorded. */
function validationAnswer(checked: readonly CheckedItem[]): SandboxAnswer {
  const isValid = checked.every(({ problems }) => problems.length === 0);
  return jsonAnswer(200, {
    status: isValid ? 'VALID' : 'INVALID',
    test_event: true,
    reason: isValid ? PROCESSED : 'An event is not valid.',
    event_logs: checked.map(({ problems, warnings }, event) => ({
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

function receivedEvents(checked: readonly CheckedItem[], accepted: boolean): readonly ReceivedItem[] {
  const identify = ({ event_id, event_name }: Record<string, unknown>) => ({ eventId: event_id, event: event_name });
  return receivedItems(checked, identify, () => accepted);
}

function refusedEvents(request: SandboxRequest): readonly ReceivedItem[] | undefined {
  return isValidation(request) ? undefined : receivedEvents(checkedEvents(request), false);
}

function envelopeProblem(request: SandboxRequest): string | undefined {
  const body = parseJson(request.body);
  return isObject(body) ? check.batch('data', body['data'], EVENTS_MAX) : 'body is not a JSON object';
}

function checkedEvents({ body, nowMs }: SandboxRequest): readonly CheckedItem[] {
  return listIn(parseJson(body), 'data').map((item) => ({
    item,
    problems: problemsOf('event', item, (fields) => checkEvent(fields, nowMs)),
    warnings: [...missingIdWarning('event_id', item, objectOf(item)['event_id']), ...countryWarning(item)],
  }));
}

function checkEvent(event: FieldChecks, nowMs: number): void {
  event.required('event_name', check.format(UPPER_SNAKE_CASE, 'is not an event name'));
  event.required('event_time', check.unixSeconds({ nowMs, ageMaxMs: AGE_MAX_MS }));
  event.optional('event_id', check.text);
  event.required('action_source', check.oneOf(ACTION_SOURCES));
  if (WEB_SOURCES.includes(event.value['action_source'] as string)) event.required('event_source_url', check.url);
  else event.optional('event_source_url', check.url);
  event.optional('data_processing_options', check.textList);
  const user = event.object('user_data', 'required');
  if (user) checkUserData(user);
  const custom = event.object('custom_data', 'nullable');
  if (custom) checkCustomData(custom, event.value['event_name'] === 'PURCHASE');
}

function checkUserData(user: FieldChecks): void {
  user.allOptional(HASHED, check.hashList);
  user.allOptional(RAW, check.raw);
  user.optional('client_ip_address', check.ip);
  const hasIpAndUserAgent = user.has('client_ip_address') && user.has('client_user_agent');
  if (!hasIpAndUserAgent && !user.has(...IDENTIFIERS)) user.addOwn('has no sufficient identifier');
}

function checkCustomData(custom: FieldChecks, isPurchase: boolean): void {
  if (isPurchase || custom.has('currency')) custom.required('currency', check.currency);
  if (isPurchase || custom.has('value')) custom.required('value', amountProblem);
  custom.optional('order_id', check.text);
  custom.optional('num_items', check.count);
  custom.optional('content_ids', check.textList);
  custom.each('contents', (content) => {
    content.required('id', check.text);
    content.optional('quantity', unitsProblem);
    content.optional('item_price', amountProblem);
  });
}

function unitsProblem(value: unknown): string | undefined {
  return amountProblem(value) ?? check.units(Number(value));
}

/** Snapchat accepts amounts as numbers and as strings. */
function amountProblem(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return isNumber(value) || check.amountText(value) === undefined ? undefined : 'is not an amount';
}

export const signIn: SignIn = {
  consentPath: '/login/oauth2/authorize',
  consent: { required: { response_type: 'code' }, scopes: { names: ['snapchat-marketing-api'], separator: ' ' } },
  token: { path: '/login/oauth2/access_token', answer: (request) => tokenAnswer(request) },
};
