import { randomUUID } from 'node:crypto';
import {
  countProblem,
  credentialOf,
  currencyProblem,
  DAY_MS,
  HOUR_MS,
  hashProblem,
  ipProblem,
  isJsonContentType,
  isObject,
  isText,
  isUnixSeconds,
  type JsonObject,
  jsonAnswer,
  MINUTE_MS,
  numberProblem,
  oneOfProblem,
  parseJson,
  rawProblem,
  receivedItem,
  SECOND_MS,
  textProblem,
  unixSecondsProblem,
  urlProblem,
} from '../checks.js';
import type { FailureKind, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';

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
/** Of `user_data`; whatever else stands there is hashed. */
const NOT_HASHED = new Set(['client_ip_address', 'client_user_agent', 'fbc', 'fbp', 'lead_id', 'ctwa_clid']);
const STRONG_IDENTIFIERS = ['em', 'ph', 'external_id', 'fbc', 'fbp', 'lead_id', 'ctwa_clid'];
/** Meta's own parameter builder appends a short suffix to what it makes. */
const BUILDER_SUFFIX = /\.(?:[\w-]{8}|[\w-]{2})$/;
const FBC = /^fb\.\d\.(\d{13})\.[^\s.]+(?:\.[\w-]{2}|\.[\w-]{8})?$/;
const FBP = /^fb\.\d\.\d{13}\.\d+(?:\.[\w-]{2}|\.[\w-]{8})?$/;

/** What Meta tells about a refused event; it does not say which one of the batch it was. */
interface Refusal {
  readonly subcode?: number;
  readonly title: string;
  readonly message: string;
}
const INVALID: Refusal = { title: 'Invalid Parameter', message: 'A parameter of the event is missing or not valid.' };
const TOO_OLD: Refusal = {
  subcode: 2804003,
  title: 'Event Timestamp Too Old',
  message: 'The timestamp of the event lies too far in the past. Send events within 7 days.',
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
const TOO_LITTLE_ABOUT_THE_CUSTOMER: Refusal = {
  subcode: 2804050,
  title: 'Not Enough Customer Information',
  message: 'The event has too little customer information to be matched.',
};

/** A problem that no refusal goes with is only noted: Meta takes the event all the same. */
interface Fault {
  readonly problem: string;
  readonly refusal?: Refusal | undefined;
}

/** Meta's Conversions API: one bad event, and the whole request is refused without an index. */
export const meta: PlatformDouble = {
  name: 'meta',
  dedupWindowMs: 48 * HOUR_MS,

  answer(request) {
    if (request.method !== 'POST' || !PATH.test(request.path)) {
      return refused(400, { ...UNKNOWN_OBJECT, message: `Unsupported ${request.method.toLowerCase()} request.` });
    }
    const body = parseJson(request.body);
    switch (credentialOf(tokenOf(request, body))) {
      case 'missing':
      case 'bad':
        return refused(401, BAD_TOKEN);
      case 'forbidden':
        return refused(403, NO_PERMISSION);
    }
    const problem = isJsonContentType(request) ? envelopeProblem(body) : 'content-type must be application/json';
    if (problem !== undefined) return refused(400, { ...INVALID_PARAMETER, message: `(#100) ${problem}` });

    const events = eventsOf(body);
    const faults = events.map((event) => faultsOf(event, request.nowMs));
    const refusal = faults.flat().find((fault) => fault.refusal !== undefined)?.refusal;
    const received = events.map((event, index) => noted(event, faults[index] ?? [], refusal === undefined));
    return refusal === undefined ? taken(received) : refusedFor(refusal, received);
  },

  fail(kind, request) {
    return failures[kind](request);
  },
};

const failures: Record<FailureKind, (request: SandboxRequest) => SandboxAnswer> = {
  refuse: (request) => refusedFor(INVALID, leftOut(request)),
  refuse_one: (request) => refusedFor(TOO_LITTLE_ABOUT_THE_CUSTOMER, leftOut(request)),
  throttle: () =>
    refused(400, { type: 'OAuthException', code: 80003, message: '(#80003) There have been too many calls.' }),
  server_error: () =>
    refused(500, {
      type: 'OAuthException',
      code: 2,
      is_transient: true,
      message: 'An unexpected error has occurred. Please retry your request later.',
    }),
  unauthorized: () => refused(401, BAD_TOKEN),
  forbidden: () => refused(403, NO_PERMISSION),
};

const BAD_TOKEN = {
  type: 'OAuthException',
  code: 190,
  message: 'Invalid OAuth access token - Cannot parse access token',
};
const NO_PERMISSION = { type: 'OAuthException', code: 200, message: '(#200) Permissions error' };
const UNKNOWN_OBJECT = { type: 'GraphMethodException', code: 100, error_subcode: 33 };
const INVALID_PARAMETER = { type: 'OAuthException', code: 100 };

function taken(received: readonly ReceivedItem[]): SandboxAnswer {
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

function eventsOf(body: unknown): readonly unknown[] {
  return isObject(body) && Array.isArray(body['data']) ? body['data'] : [];
}

function noted(event: unknown, faults: readonly Fault[], isTaken: boolean): ReceivedItem {
  const { event_id: eventId, event_name: name } = isObject(event) ? event : {};
  return receivedItem(event, {
    eventId,
    event: name,
    problems: faults.map((fault) => fault.problem),
    taken: isTaken,
    ...(isText(eventId) ? { dedupKey: `${name} ${eventId}` } : {}),
  });
}

function leftOut(request: SandboxRequest): readonly ReceivedItem[] {
  return eventsOf(parseJson(request.body)).map((event) => noted(event, faultsOf(event, request.nowMs), false));
}

function faultsOf(event: unknown, nowMs: number): readonly Fault[] {
  if (!isObject(event)) return [{ problem: 'event is not an object', refusal: INVALID }];
  const faults: Fault[] = [];
  note(faults, INVALID, 'event_name', textProblem(event['event_name']));
  noteTime(faults, event, nowMs);
  note(faults, INVALID, 'action_source', oneOfProblem(event['action_source'], ACTION_SOURCES));
  if (event['event_id'] === undefined) {
    note(faults, undefined, 'event_id', 'is missing, so that repeats cannot be told');
  } else {
    note(faults, INVALID, 'event_id', textProblem(event['event_id']));
  }
  if (event['action_source'] === 'website' || event['event_source_url'] !== undefined) {
    note(faults, INVALID, 'event_source_url', urlProblem(event['event_source_url']));
  }
  noteUserData(faults, event, nowMs);
  noteCustomData(faults, event);
  noteProcessingOptions(faults, event);
  return faults;
}

function note(faults: Fault[], refusal: Refusal | undefined, field: string, problem: string | undefined): void {
  if (problem !== undefined) faults.push({ problem: `${field} ${problem}`, refusal });
}

function noteTime(faults: Fault[], event: JsonObject, nowMs: number): void {
  const time = event['event_time'];
  const ageMaxMs = event['action_source'] === 'physical_store' ? STORE_AGE_MAX_MS : AGE_MAX_MS;
  const isPast = isUnixSeconds(time) && time * SECOND_MS < nowMs;
  const problem = unixSecondsProblem(time, { nowMs, ageMaxMs, aheadMaxMs: AHEAD_MAX_MS });
  note(faults, isPast ? TOO_OLD : INVALID, 'event_time', problem);
}

function noteUserData(faults: Fault[], event: JsonObject, nowMs: number): void {
  const user = event['user_data'];
  if (!isObject(user)) {
    note(faults, INVALID, 'user_data', user === undefined ? 'is missing' : 'is not an object');
    return;
  }
  for (const [name, value] of Object.entries(user)) {
    if (!NOT_HASHED.has(name)) note(faults, NOT_HASHED_VALUE, `user_data.${name}`, hashesProblem(value));
  }
  const raw = (name: string, check: (value: unknown) => string | undefined) => {
    if (user[name] !== undefined) note(faults, INVALID, `user_data.${name}`, check(user[name]));
  };
  raw('client_ip_address', ipProblem);
  raw('client_user_agent', rawProblem);
  raw('fbc', (value) => fbcProblem(value, nowMs));
  raw('fbp', (value) => (typeof value === 'string' && FBP.test(value) ? undefined : 'is not fb.<n>.<ms>.<digits>'));
  raw('lead_id', (value) => (typeof value === 'number' ? countProblem(value) : rawProblem(value)));
  raw('ctwa_clid', rawProblem);

  if (event['action_source'] === 'website' && user['client_user_agent'] === undefined) {
    note(faults, INVALID, 'user_data.client_user_agent', 'is missing');
  }
  const hasAddressAndAgent = user['client_ip_address'] !== undefined && user['client_user_agent'] !== undefined;
  if (!hasAddressAndAgent && STRONG_IDENTIFIERS.every((name) => user[name] === undefined)) {
    note(faults, TOO_LITTLE_ABOUT_THE_CUSTOMER, 'user_data', 'has no identifier that suffices');
  }
}

function hashesProblem(value: unknown): string | undefined {
  if (!Array.isArray(value)) return hashProblem(typeof value === 'string' ? value.replace(BUILDER_SUFFIX, '') : value);
  if (value.length === 0) return 'is empty';
  return value.map((one) => (Array.isArray(one) ? 'is nested' : hashesProblem(one))).find((one) => one !== undefined);
}

function fbcProblem(value: unknown, nowMs: number): string | undefined {
  const clickMs = typeof value === 'string' ? FBC.exec(value)?.[1] : undefined;
  if (clickMs === undefined) return 'is not fb.<n>.<ms>.<fbclid>';
  if (Number(clickMs) > nowMs + AHEAD_MAX_MS) return 'lies in the future';
  return nowMs - Number(clickMs) > FBC_AGE_MAX_MS ? 'is older than 90 days' : undefined;
}

function noteCustomData(faults: Fault[], event: JsonObject): void {
  const custom = event['custom_data'] ?? {};
  if (!isObject(custom)) {
    note(faults, INVALID, 'custom_data', 'is not an object');
    return;
  }
  const isPurchase = event['event_name'] === 'Purchase';
  const { value, currency } = custom;
  if (value === undefined) note(faults, VALUE_MISSING, 'custom_data.value', isPurchase ? 'is missing' : undefined);
  else note(faults, INVALID, 'custom_data.value', numberProblem(value));
  if (isPurchase || currency !== undefined) {
    // Meta takes either case; its own libraries differ.
    const upper = typeof currency === 'string' ? currency.toUpperCase() : currency;
    note(faults, INVALID, 'custom_data.currency', currencyProblem(upper));
  }
  const given = (name: string, check: (value: unknown) => string | undefined) => {
    if (custom[name] !== undefined) note(faults, INVALID, `custom_data.${name}`, check(custom[name]));
  };
  given('order_id', textProblem);
  given('num_items', countProblem);
  given('content_ids', (ids) => (Array.isArray(ids) && ids.every(isText) ? undefined : 'is not a list of texts'));
  noteContents(faults, custom['contents']);
}

function noteContents(faults: Fault[], contents: unknown): void {
  if (contents === undefined) return;
  if (!Array.isArray(contents)) {
    note(faults, INVALID, 'custom_data.contents', 'is not a list');
    return;
  }
  for (const [index, content] of contents.entries()) {
    const field = `custom_data.contents.${index}`;
    const { id, quantity, item_price: price } = isObject(content) ? content : {};
    note(faults, INVALID, `${field}.id`, textProblem(id));
    if (quantity !== undefined) note(faults, INVALID, `${field}.quantity`, countProblem(quantity));
    if (price !== undefined) note(faults, INVALID, `${field}.item_price`, numberProblem(price));
  }
}

function noteProcessingOptions(faults: Fault[], event: JsonObject): void {
  const options = event['data_processing_options'];
  if (options === undefined) return;
  if (!Array.isArray(options) || !options.every(isText)) {
    note(faults, INVALID, 'data_processing_options', 'is not a list of texts');
  } else if (options.includes('LDU')) {
    for (const name of ['data_processing_options_country', 'data_processing_options_state']) {
      note(faults, INVALID, name, countProblem(event[name]));
    }
  }
}
