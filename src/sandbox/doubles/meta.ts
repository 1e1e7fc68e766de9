import { randomUUID } from 'node:crypto';
import {
  credentialFailure,
  isFormContentType,
  isJsonContentType,
  jsonAnswer,
  receivedItem,
  withHeaders,
} from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { issueTokens, takeGrant } from '../grants.js';
import { OwnModes } from '../own-modes.js';
import type { SignIn } from '../sign-ins.js';
import {
  DAY_MS,
  HOUR_MS,
  isObject,
  isText,
  isUnixSeconds,
  type JsonObject,
  listIn,
  MINUTE_MS,
  objectOf,
  parseJson,
  SECOND_MS,
} from '../values.js';

const PATH = /^\/v\d+\.\d+\/\d+\/events$/;
const EVENTS_MAX = 1_000;
const AHEAD_MAX_MS = MINUTE_MS;
const AGE_MAX_MS = 7 * DAY_MS;
const STORE_AGE_MAX_MS = 62 * DAY_MS;
const FBC_AGE_MAX_MS = 90 * DAY_MS;

const ACTION_SOURCES = [
  'website',
  'app',
  'email',
  'phone_call',
  'chat',
  'physical_store',
  'system_generated',
  'business_messaging',
  'other',
];
const CONTENT_TYPES = ['product', 'product_group', 'destination', 'flight', 'home_listing', 'hotel', 'vehicle'];
/** Meta requires them for an app event. */
const APP_DATA = ['advertiser_tracking_enabled', 'application_tracking_enabled', 'extinfo'];
/** Fields of `user_data` that are not hashed; all others are. */
const NOT_HASHED = new Set(['client_ip_address', 'client_user_agent', 'fbc', 'fbp', 'lead_id', 'ctwa_clid']);
const SUFFICIENT_IDENTIFIERS = ['em', 'ph', 'external_id', 'fbc', 'fbp', 'lead_id', 'ctwa_clid'];
/** Meta's parameter builder appends a short suffix to its values. */
const BUILDER_SUFFIX = /\.(?:[\w-]{8}|[\w-]{2})$/;
const FBC = /^fb\.\d\.(\d{13})\.[^\s.]+(?:\.[\w-]{2}|\.[\w-]{8})?$/;
const LEAD_ID = /^\d{15,17}$/;
const FBP = /^fb\.\d\.\d{13}\.\d+(?:\.[\w-]{2}|\.[\w-]{8})?$/;

/** Meta's description of a refused event, which it does not identify. */
interface Refusal {
  readonly subcode?: number;
  readonly title: string;
  readonly message: string;
}
const INVALID: Refusal = { title: 'Invalid Parameter', message: 'A parameter of the event is missing or not valid.' };
const TOO_OLD: Refusal = {
  subcode: 2804003,
  title: 'Event Timestamp Too Old',
  message: 'The timestamp of the event is too far in the past. Send events within 7 days.',
};
const VALUE_MISSING: Refusal = {
  subcode: 2804009,
  title: 'Missing Value For Purchase Event',
  message: 'A purchase needs a value.',
};
const NOT_HASHED_VALUE: Refusal = {
  subcode: 2804016,
  title: 'Customer Information Not Hashed',
  message: 'Normalise customer information and hash it with SHA-256.',
};
const TOO_LITTLE_CUSTOMER_DATA: Refusal = {
  subcode: 2804050,
  title: 'Not Enough Customer Information',
  message: 'The event has too little customer information to be matched.',
};

/** Meta accepts an event despite a problem without a refusal. */
interface Fault {
  readonly problem: string;
  readonly refusal?: Refusal | undefined;
}

/** Meta's Conversions API: one invalid event makes it refuse the whole request, without naming the event. */
export const double: PlatformDouble = {
  name: 'meta',
  dedupWindowMs: 48 * HOUR_MS,

  answer(request) {
    if (request.method !== 'POST' || !PATH.test(request.path)) {
      return refused(400, { ...UNKNOWN_OBJECT, message: `Unsupported ${request.method.toLowerCase()} request.` });
    }
    const body = parseJson(request.body);
    const failure = credentialFailure(tokenOf(request, body));
    if (failure) return failures[failure](request);
    if (modes.take('business_limit', request.memory)) return businessLimit();
    const problem = isJsonContentType(request) ? envelopeProblem(body) : 'content-type must be application/json';
    if (problem !== undefined) return refused(400, { ...INVALID_PARAMETER, message: `(#100) ${problem}` });

    const events = listIn(body, 'data');
    const faults = events.map((event) => faultsOf(event, request.nowMs));
    const refusal = faults.flat().find((fault) => fault.refusal !== undefined)?.refusal;
    const received = events.map((event, index) => receivedEvent(event, faults[index] ?? [], refusal === undefined));
    return refusal === undefined ? acceptedAnswer(received) : refusedFor(refusal, received);
  },

  fail: (kind, request) => failures[kind](request),
  control: (request, memory) => modes.control(request, memory),
};

/** `business_limit`: the limit of a business use case is reached. */
const modes = new OwnModes('meta', ['business_limit']);
const REGAINED_MINUTES = 5;

/** Meta states the wait in minutes, in a header that other answers have, too. */
function businessLimit(): SandboxAnswer {
  const message = '(#80004) There have been too many calls to this ad-account. Wait a bit and try again.';
  const usage = { call_count: 100, total_cputime: 25, total_time: 25, type: 'ads_management' };
  return withHeaders(refused(400, { type: 'OAuthException', code: 80004, message }), {
    'x-business-use-case-usage': JSON.stringify({
      '1234567890': [{ ...usage, estimated_time_to_regain_access: REGAINED_MINUTES }],
    }),
  });
}

const UNKNOWN_OBJECT = { type: 'GraphMethodException', code: 100, error_subcode: 33 };
const INVALID_PARAMETER = { type: 'OAuthException', code: 100 };

const failures: FailureAnswers = {
  refuse: (request) => refusedFor(INVALID, refusedEvents(request)),
  refuse_one: (request) => refusedFor(TOO_LITTLE_CUSTOMER_DATA, refusedEvents(request)),
  throttle: () =>
    refused(400, { type: 'OAuthException', code: 80003, message: '(#80003) There have been too many calls.' }),
  server_error: () =>
    refused(500, {
      type: 'OAuthException',
      code: 2,
      is_transient: true,
      message: 'An unexpected error has occurred. Please retry your request later.',
    }),
  unauthorized: () =>
    refused(401, {
      type: 'OAuthException',
      code: 190,
      message: 'Invalid OAuth access token - Cannot parse access token',
    }),
  forbidden: () => refused(403, { type: 'OAuthException', code: 200, message: '(#200) Permissions error' }),
};

function acceptedAnswer(received: readonly ReceivedItem[]): SandboxAnswer {
  const answer = { events_received: received.length, messages: [], fbtrace_id: randomUUID() };
  return jsonAnswer(200, answer, received);
}

function refused(status: number, error: JsonObject, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(status, { error: { ...error, fbtrace_id: randomUUID() } }, received);
}

function refusedFor(refusal: Refusal, received: readonly ReceivedItem[]): SandboxAnswer {
  const error = {
    ...INVALID_PARAMETER,
    message: 'Invalid parameter',
    ...(refusal.subcode === undefined ? {} : { error_subcode: refusal.subcode }),
    is_transient: false,
    error_user_title: refusal.title,
    error_user_msg: refusal.message,
  };
  return refused(400, error, received);
}

function tokenOf(request: SandboxRequest, body: unknown): string | null | undefined {
  const inQuery = request.query.get('access_token');
  if (inQuery !== null || !isObject(body)) return inQuery;
  return typeof body['access_token'] === 'string' ? body['access_token'] : undefined;
}

function envelopeProblem(body: unknown): string | undefined {
  if (!isObject(body) || !Array.isArray(body['data'])) return 'param data must be an array.';
  if (body['data'].length === 0) return 'param data must be non-empty.';
  if (body['data'].length > EVENTS_MAX) return `param data must have at most ${EVENTS_MAX} elements.`;
  if (body['test_event_code'] !== undefined && !isText(body['test_event_code'])) {
    return 'param test_event_code must be a string.';
  }
  return undefined;
}

function receivedEvent(event: unknown, faults: readonly Fault[], accepted: boolean): ReceivedItem {
  const { event_id: eventId, event_name: name } = objectOf(event);
  return receivedItem(event, {
    eventId,
    event: name,
    problems: faults.map((fault) => fault.problem),
    accepted,
    dedupKey: isText(eventId) ? `${name} ${eventId}` : undefined,
  });
}

function refusedEvents({ body, nowMs }: SandboxRequest): readonly ReceivedItem[] {
  return listIn(parseJson(body), 'data').map((event) => receivedEvent(event, faultsOf(event, nowMs), false));
}

function faultsOf(event: unknown, nowMs: number): readonly Fault[] {
  if (!isObject(event)) return [{ problem: 'event is not an object', refusal: INVALID }];
  const faults: Fault[] = [];
  add(faults, INVALID, 'event_name', check.text(event['event_name']));
  checkTime(faults, event, nowMs);
  add(faults, INVALID, 'action_source', check.oneOf(ACTION_SOURCES)(event['action_source']));
  if (event['event_id'] === undefined) {
    add(faults, undefined, 'event_id', 'is missing: duplicates cannot be detected');
  } else {
    add(faults, INVALID, 'event_id', check.text(event['event_id']));
  }
  if (event['action_source'] === 'website' || event['event_source_url'] !== undefined) {
    add(faults, INVALID, 'event_source_url', check.url(event['event_source_url']));
  }
  checkAppData(faults, event);
  checkUserData(faults, event, nowMs);
  checkCustomData(faults, event);
  checkProcessingOptions(faults, event);
  return faults;
}

function add(faults: Fault[], refusal: Refusal | undefined, field: string, problem: string | undefined): void {
  if (problem !== undefined) faults.push({ problem: `${field} ${problem}`, refusal });
}

/** Checks a field if it is present; an invalid value is an invalid parameter. */
function optional(faults: Fault[], path: string, value: JsonObject, name: string, checkField: check.Check): void {
  if (value[name] !== undefined) add(faults, INVALID, `${path}.${name}`, checkField(value[name]));
}

function checkTime(faults: Fault[], event: JsonObject, nowMs: number): void {
  const time = event['event_time'];
  const ageMaxMs = event['action_source'] === 'physical_store' ? STORE_AGE_MAX_MS : AGE_MAX_MS;
  const isPast = isUnixSeconds(time) && time * SECOND_MS < nowMs;
  const problem = check.unixSeconds({ nowMs, ageMaxMs, aheadMaxMs: AHEAD_MAX_MS })(time);
  add(faults, isPast ? TOO_OLD : INVALID, 'event_time', problem);
}

function checkAppData(faults: Fault[], event: JsonObject): void {
  if (event['action_source'] !== 'app') return;
  const app = objectOf(event['app_data']);
  for (const name of APP_DATA) {
    add(faults, INVALID, `app_data.${name}`, app[name] === undefined ? 'is missing' : undefined);
  }
}

function checkUserData(faults: Fault[], event: JsonObject, nowMs: number): void {
  const user = event['user_data'];
  if (!isObject(user)) {
    add(faults, INVALID, 'user_data', user === undefined ? 'is missing' : 'is not an object');
    return;
  }
  for (const [name, value] of Object.entries(user)) {
    if (!NOT_HASHED.has(name)) add(faults, NOT_HASHED_VALUE, `user_data.${name}`, hashesProblem(value));
  }
  if (user['country'] !== undefined) {
    add(faults, undefined, 'user_data.country', check.countryHashes([user['country']].flat()));
  }
  optional(faults, 'user_data', user, 'client_ip_address', check.ip);
  optional(faults, 'user_data', user, 'client_user_agent', check.raw);
  optional(faults, 'user_data', user, 'fbc', (value) => fbcProblem(value, nowMs));
  optional(faults, 'user_data', user, 'fbp', (value) =>
    typeof value === 'string' && FBP.test(value) ? undefined : 'is not fb.<n>.<ms>.<digits>',
  );
  optional(faults, 'user_data', user, 'lead_id', (value) =>
    LEAD_ID.test(String(value)) ? undefined : 'is not an id of 15 to 17 digits',
  );
  optional(faults, 'user_data', user, 'ctwa_clid', check.raw);

  if (event['action_source'] === 'website' && user['client_user_agent'] === undefined) {
    add(faults, INVALID, 'user_data.client_user_agent', 'is missing');
  }
  const hasIpAndUserAgent = user['client_ip_address'] !== undefined && user['client_user_agent'] !== undefined;
  if (!hasIpAndUserAgent && SUFFICIENT_IDENTIFIERS.every((name) => user[name] === undefined)) {
    add(faults, TOO_LITTLE_CUSTOMER_DATA, 'user_data', 'has no sufficient identifier');
  }
}

function hashesProblem(value: unknown): string | undefined {
  if (!Array.isArray(value)) return check.hash(typeof value === 'string' ? value.replace(BUILDER_SUFFIX, '') : value);
  if (value.length === 0) return 'is empty';
  return value.map((one) => (Array.isArray(one) ? 'is nested' : hashesProblem(one))).find((one) => one !== undefined);
}

function fbcProblem(value: unknown, nowMs: number): string | undefined {
  const clickMs = typeof value === 'string' ? FBC.exec(value)?.[1] : undefined;
  if (clickMs === undefined) return 'is not fb.<n>.<ms>.<fbclid>';
  if (Number(clickMs) > nowMs + AHEAD_MAX_MS) return 'is in the future';
  return nowMs - Number(clickMs) > FBC_AGE_MAX_MS ? 'is older than 90 days' : undefined;
}

function checkCustomData(faults: Fault[], event: JsonObject): void {
  const custom = event['custom_data'] ?? {};
  if (!isObject(custom)) {
    add(faults, INVALID, 'custom_data', 'is not an object');
    return;
  }
  const isPurchase = event['event_name'] === 'Purchase';
  const { value, currency } = custom;
  if (value === undefined) add(faults, VALUE_MISSING, 'custom_data.value', isPurchase ? 'is missing' : undefined);
  else add(faults, INVALID, 'custom_data.value', check.number(value));
  if (isPurchase || currency !== undefined) {
    // Meta accepts upper and lower case; its own libraries differ.
    const upper = typeof currency === 'string' ? currency.toUpperCase() : currency;
    add(faults, INVALID, 'custom_data.currency', check.currency(upper));
  }
  optional(faults, 'custom_data', custom, 'order_id', check.text);
  optional(faults, 'custom_data', custom, 'net_revenue', check.number);
  checkCrm(faults, event, custom);
  optional(faults, 'custom_data', custom, 'num_items', check.count);
  optional(faults, 'custom_data', custom, 'content_ids', check.textList);
  optional(faults, 'custom_data', custom, 'content_type', check.oneOf(CONTENT_TYPES));
  optional(faults, 'custom_data', custom, 'contents', check.list);
  for (const [index, content] of listIn(custom, 'contents').entries()) {
    const path = `custom_data.contents.${index}`;
    const { id, quantity } = objectOf(content);
    add(faults, INVALID, `${path}.id`, check.text(id));
    add(faults, INVALID, `${path}.quantity`, check.units(quantity));
    optional(faults, path, objectOf(content), 'item_price', check.number);
    for (const name of ['title', 'category']) optional(faults, path, objectOf(content), name, check.text);
  }
}

/** The stages of a lead, which Meta reads only in this form. */
function checkCrm(
  faults: Fault[],
  event: JsonObject,
  { event_source: source, lead_event_source: name }: JsonObject,
): void {
  if (source === undefined && name === undefined) return;
  add(faults, INVALID, 'custom_data.event_source', check.oneOf(['crm'])(source));
  add(faults, INVALID, 'custom_data.lead_event_source', check.text(name));
  add(faults, INVALID, 'action_source', check.oneOf(['system_generated'])(event['action_source']));
}

function checkProcessingOptions(faults: Fault[], event: JsonObject): void {
  const options = event['data_processing_options'];
  if (options === undefined) return;
  add(faults, INVALID, 'data_processing_options', check.textList(options));
  if (check.textList(options) === undefined && (options as string[]).includes('LDU')) {
    for (const name of ['data_processing_options_country', 'data_processing_options_state']) {
      add(faults, INVALID, name, check.count(event[name]));
    }
  }
}

export const signIn: SignIn = {
  consentPath: /^\/v\d+\.\d+\/dialog\/oauth$/,
  consent: {
    required: { response_type: 'code' },
    scopes: { names: ['ads_management', 'business_management'], separator: ',' },
  },
  token: { path: /^\/v\d+\.\d+\/oauth\/access_token$/, answer: oauthAnswer },
};

/** The first exchange gives a token for an hour, the second one for 60 days. There are no refresh tokens. */
function oauthAnswer(request: SandboxRequest): SandboxAnswer {
  const { memory, method } = request;
  const fault = (message: string, code: number) =>
    jsonAnswer(400, { error: { message, type: 'OAuthException', code, fbtrace_id: 'sandbox' } });
  if (method !== 'POST' || !isFormContentType(request)) return fault('Unsupported request.', 100);
  const form = new URLSearchParams(request.body);
  const [clientId, secret] = ['client_id', 'client_secret'].map((name) => form.get(name));
  if (!clientId || !secret || secret.includes('bad')) return fault('Error validating client secret.', 1);
  const short = memory.get('short-lived tokens') as Map<string, string> | undefined;
  if (form.get('grant_type') === 'fb_exchange_token') {
    const accessToken = short?.get(form.get('fb_exchange_token') ?? '');
    if (accessToken === undefined) return fault('Invalid OAuth access token.', 190);
    return jsonAnswer(200, { access_token: accessToken, token_type: 'bearer', expires_in: (60 * DAY_MS) / SECOND_MS });
  }
  const grant = takeGrant(memory, { code: form.get('code'), clientId, redirectUri: form.get('redirect_uri') });
  if (!grant) return fault('This authorization code has been used or has expired.', 100);
  const { accessToken } = issueTokens(memory, grant);
  const first = `short-${accessToken}`;
  memory.set('short-lived tokens', new Map([...(short ?? []), [first, accessToken]]));
  return jsonAnswer(200, { access_token: first, token_type: 'bearer', expires_in: 3_600 });
}
