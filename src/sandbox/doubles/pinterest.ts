import { bearerToken, credentialFailure, isJsonContentType, jsonAnswer, receivedItems } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { type CheckedItem, countryWarning, type FieldChecks, problemsOf } from '../field-checks.js';
import type { SignIn } from '../sign-ins.js';
import { tokenAnswer } from '../token-endpoint.js';
import { DAY_MS, isObject, listIn, objectOf, parseJson, SECOND_MS } from '../values.js';

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
const CUSTOM_TEXTS = [
  ...['order_id', 'search_string', 'opt_out_type', 'content_name', 'content_category', 'content_brand'],
];
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

/** Pinterest's Conversions API: the 200 contains a status for every event of the batch. */
export const double: PlatformDouble = {
  name: 'pinterest',

  answer(request) {
    if (!PATH.test(request.path)) return jsonAnswer(404, { code: 404, message: 'Not found.' });
    if (request.method !== 'POST') return jsonAnswer(405, { code: 405, message: 'Method not allowed.' });
    const failure = credentialFailure(bearerToken(request));
    if (failure) return failures[failure](request);
    const body = parseJson(request.body);
    const problem = isJsonContentType(request) ? envelopeProblem(body) : 'content-type is not application/json';
    if (problem !== undefined) return jsonAnswer(400, { ...INVALID, message: `${INVALID.message} ${problem}` });
    return eventsAnswer(request, checkedEvents(request));
  },

  fail: (kind, request) => failures[kind](request),
  callKind: (request) => (isTest(request) ? 'test' : 'events'),
};

const failures: FailureAnswers = {
  refuse: (request) =>
    jsonAnswer(
      400,
      INVALID,
      recorded(request, checkedEvents(request), () => false),
    ),
  refuse_one: (request) => {
    const checked = checkedEvents(request);
    if (checked.length === 0) return jsonAnswer(400, INVALID);
    return eventsAnswer(request, checked, 'The event could not be processed.');
  },
  throttle: () => jsonAnswer(429, { code: 8, message: 'This request exceeded a rate limit.' }),
  server_error: () => jsonAnswer(503, { code: 4197, message: 'The endpoint is currently not accepting any traffic.' }),
  unauthorized: () => jsonAnswer(401, { code: 2, message: 'Authentication failed.' }),
  forbidden: () => jsonAnswer(403, { code: 29, message: 'You are not permitted to access that resource.' }),
};

/** `firstError` makes the first event fail, even if nothing is wrong with it. */
function eventsAnswer(request: SandboxRequest, checked: readonly CheckedItem[], firstError = ''): SandboxAnswer {
  const errors = checked.map(({ problems }, index) => problems.join(', ') || (index === 0 ? firstError : ''));
  const answer = {
    num_events_received: checked.length,
    num_events_processed: errors.filter((error) => error === '').length,
    events: checked.map(({ warnings: [warning] }, index) => ({
      status: errors[index] === '' ? 'processed' : 'failed',
      error_message: errors[index] || null,
      warning_message: warning ?? null,
    })),
  };
  return jsonAnswer(
    200,
    answer,
    recorded(request, checked, (index) => errors[index] === ''),
  );
}

function isTest({ query }: SandboxRequest): boolean {
  return query.get('test') === 'true';
}

/** A test is checked like any other request and not recorded. */
function recorded(
  request: SandboxRequest,
  checked: readonly CheckedItem[],
  isAccepted: (index: number) => boolean,
): readonly ReceivedItem[] | undefined {
  if (isTest(request)) return undefined;
  return receivedItems(
    checked,
    ({ event_id, event_name }) => ({ eventId: event_id, event: event_name }),
    (_, index) => isAccepted(index),
  );
}

function envelopeProblem(body: unknown): string | undefined {
  if (!isObject(body)) return 'body is not a JSON object';
  const { data, ...others } = body;
  if (Object.keys(others).length > 0) return 'body has more properties than data';
  return check.batch('data', data, EVENTS_MAX);
}

function checkedEvents({ body, nowMs }: SandboxRequest): readonly CheckedItem[] {
  return listIn(parseJson(body), 'data').map((item) => ({
    item,
    problems: problemsOf('event', item, (fields) => checkEvent(fields, nowMs)),
    warnings: warningsOf(item),
  }));
}

/** Pinterest adds names from time to time, so an unknown name in the right format is processed. */
function warningsOf(event: unknown): readonly string[] {
  const name = objectOf(event)['event_name'];
  const isUnknown = typeof name === 'string' && SNAKE_CASE.test(name) && !NAMES.has(name);
  return [...(isUnknown ? ['event_name is not a standard event'] : []), ...countryWarning(event)];
}

function checkEvent(event: FieldChecks, nowMs: number): void {
  event.known(KNOWN.event);
  event.required('event_name', check.format(SNAKE_CASE, 'is not an event name'));
  event.required('action_source', check.oneOf(ACTION_SOURCES));
  event.required('event_time', check.unixSeconds({ nowMs }));
  event.required('event_id', check.text);
  event.optional('event_source_url', check.url);
  event.optional('opt_out', check.boolean);
  event.optional('partner_name', check.text);
  const user = event.object('user_data', 'required');
  if (user) checkUserData(user);
  const custom = event.object('custom_data');
  if (custom) checkCustomData(custom);
}

function checkUserData(user: FieldChecks): void {
  user.known(KNOWN.user);
  user.allOptional(HASHED, check.hashList);
  user.optional('client_ip_address', check.ip);
  user.optional('client_user_agent', check.raw);
  user.optional('click_id', check.raw);
  user.optional('partner_id', check.text);
  const hasIpAndUserAgent = user.has('client_ip_address') && user.has('client_user_agent');
  if (!user.has('em', 'hashed_maids') && !hasIpAndUserAgent) user.addOwn('has no sufficient identifier');
}

function checkCustomData(custom: FieldChecks): void {
  custom.known(KNOWN.custom);
  custom.optional('value', check.amountText);
  custom.optional('predicted_ltv', check.amountText);
  custom.optional('currency', check.currency);
  custom.optional('num_items', check.count);
  custom.optional('content_ids', check.textList);
  custom.allOptional(CUSTOM_TEXTS, check.text);
  custom.each('contents', (content, isAnObject) => {
    if (!isAnObject) return content.addOwn('is not an object');
    content.known(KNOWN.content);
    content.optional('id', check.text);
    content.optional('item_price', check.amountText);
    content.optional('quantity', check.units);
    content.allOptional(['item_name', 'item_category', 'item_brand'], check.text);
  });
}

export const signIn: SignIn = {
  consentPath: '/oauth/',
  consent: { required: { response_type: 'code' }, scopes: { names: ['ads:read', 'ads:write'], separator: ',' } },
  token: {
    path: '/v5/oauth/token',
    answer: (request) => tokenAnswer(request, { basic: true, rotates: true, lifetime: (30 * DAY_MS) / SECOND_MS }),
  },
};
