import { credentialOf, jsonAnswer, receivedItem } from '../answers.js';
import * as check from '../checks.js';
import type { CallKind, FailureKind, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import {
  HOUR_MS,
  isNumber,
  isObject,
  isText,
  type JsonObject,
  listIn,
  MINUTE_MS,
  objectOf,
  parseJson,
  textOf,
} from '../values.js';

const COLLECT_PATH = '/mp/collect';
const VALIDATE_PATH = '/debug/mp/collect';
const EVENTS_MAX = 25;
const PARAMS_MAX = 25;
const PROPERTIES_MAX = 25;
const ITEMS_MAX = 200;
const USER_ID_MAX = 256;
const BODY_MAX_BYTES = 130_000;
const AGE_MAX_MS = 72 * HOUR_MS;
const AHEAD_MAX_MS = 5 * MINUTE_MS;
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,39}$/;
const PROPERTY_NAME_MAX = 24;
const PROPERTY_VALUE_MAX = 36;
const TEXT_MAX = 100;
/** These texts may be longer than others. */
const TEXT_MAX_OF: Readonly<Record<string, number>> = { page_location: 1_000, page_referrer: 420, page_title: 300 };
const MICROS = /^\d{16}$/;
const MEASUREMENT_ID = /^G-[A-Z0-9]+$/;
const FIREBASE_APP_ID = /^\d+:\d+:(android|ios):[0-9a-f]+$/;
const APP_INSTANCE_ID = /^[0-9a-f]{32}$/i;
const RESERVED_PREFIX = /^(_|firebase_|ga_|google_|gtag\.)/;
const RESERVED_NAMES = new Set([
  ...['ad_activeview', 'ad_click', 'ad_exposure', 'ad_query', 'ad_reward', 'adunit_exposure', 'app_clear_data'],
  ...['app_exception', 'app_install', 'app_remove', 'app_store_refund', 'app_update', 'app_upgrade', 'error'],
  ...['dynamic_link_app_open', 'dynamic_link_app_update', 'dynamic_link_first_open', 'first_open', 'first_visit'],
  ...['in_app_purchase', 'notification_dismiss', 'notification_foreground', 'notification_open', 'os_update'],
  ...['notification_receive', 'session_start', 'user_engagement'],
]);
const BODY_FIELDS = new Set([
  ...['client_id', 'app_instance_id', 'user_id', 'timestamp_micros', 'user_properties', 'consent', 'user_data'],
  ...['events', 'non_personalized_ads', 'validation_behavior', 'user_location', 'ip_override', 'device', 'user_agent'],
]);
/** It supplies fields of a campaign to the other events, and is none that counts. */
const CAMPAIGN = 'campaign_details';
const CAMPAIGN_PARAMS = new Set(['campaign_id', 'campaign', 'source', 'medium', 'term', 'content']);
const CONSENTS: readonly unknown[] = ['GRANTED', 'DENIED'];

/** A message of the validation endpoint; the collection endpoint returns none. */
interface Message {
  readonly fieldPath: string;
  readonly description: string;
  readonly validationCode: string;
}

interface Finding {
  readonly message: Message;
  /** The index of the event; undefined: the request, and therefore all of its events. */
  readonly event?: number;
}

/** Google Analytics answers 204 to everything; only its validation endpoint reports problems. */
export const double: PlatformDouble = {
  name: 'ga4',

  callKind({ path }): CallKind {
    return path === VALIDATE_PATH ? 'test' : 'events';
  },

  answer(request): SandboxAnswer {
    const { method, path } = request;
    if (method !== 'POST' || (path !== COLLECT_PATH && path !== VALIDATE_PATH)) return { status: 404, body: '' };
    const body = parseJson(request.body);
    const findings = findingsOf(body, request);
    // The validation endpoint records nothing and does not check the credentials.
    if (path === VALIDATE_PATH) return jsonAnswer(200, { validationMessages: findings.map(({ message }) => message) });
    const requestProblems = credentialProblems(request);
    return emptyAnswer(
      receivedEvents(body, (index) => [
        ...requestProblems,
        ...findings.filter(({ event = index }) => event === index).map(({ message }) => message.description),
      ]),
    );
  },

  fail(kind: FailureKind, request): SandboxAnswer {
    if (kind === 'throttle') return { status: 429, body: '' };
    if (kind === 'server_error') return { status: 503, body: '' };
    if (request.path === VALIDATE_PATH) {
      const message = {
        fieldPath: 'events',
        description: 'Event at index: [0] has invalid name.',
        validationCode: 'NAME_INVALID',
      };
      return jsonAnswer(200, { validationMessages: [message] });
    }
    const isRefused = (index: number) => kind !== 'refuse_one' || index === 0;
    return emptyAnswer(receivedEvents(parseJson(request.body), (index) => (isRefused(index) ? ['is refused'] : [])));
  },
};

function emptyAnswer(received: readonly ReceivedItem[]): SandboxAnswer {
  return { status: 204, body: '', received };
}

function credentialProblems({ query }: SandboxRequest): string[] {
  const problems: string[] = [];
  const measurementId = query.get('measurement_id');
  const appId = query.get('firebase_app_id');
  if (measurementId !== null && appId !== null) problems.push('measurement_id and firebase_app_id exclude each other');
  else if (appId !== null ? !FIREBASE_APP_ID.test(appId) : !MEASUREMENT_ID.test(measurementId ?? '')) {
    problems.push(appId !== null ? 'firebase_app_id is not an app id' : 'measurement_id is not of the form G-XXXX');
  }
  const credential = credentialOf(query.get('api_secret'));
  if (credential !== 'good') problems.push(`api_secret is ${credential}`);
  return problems;
}

function findingsOf(body: unknown, request: SandboxRequest): Finding[] {
  const findings: Finding[] = [];
  const add: Add = (fieldPath, description, validationCode) => {
    findings.push({ message: { fieldPath, description, validationCode } });
  };
  if (!isObject(body)) {
    add('', 'The body is not JSON', 'VALUE_INVALID');
    return findings;
  }
  if (Buffer.byteLength(request.body) > BODY_MAX_BYTES) {
    add('', `The body has more than ${BODY_MAX_BYTES} bytes`, 'EXCEEDED_MAX_ENTITIES');
  }
  for (const name of Object.keys(body)) {
    if (!BODY_FIELDS.has(name)) add(name, `${name} is not a known field`, 'VALUE_INVALID');
  }
  checkClient(add, body, request.query);
  checkTime(add, body['timestamp_micros'], request.nowMs);
  checkConsent(add, body['consent']);
  checkProperties(add, body['user_properties']);
  const { events } = body;
  if (!Array.isArray(events) || events.length === 0) add('events', 'events is empty', 'VALUE_REQUIRED');
  else {
    if (events.length > EVENTS_MAX)
      add('events', `events has more than ${EVENTS_MAX} entries`, 'EXCEEDED_MAX_ENTITIES');
    events.forEach((event: unknown, index) => {
      checkEvent((fieldPath, problem, validationCode) => {
        const description = `Event at index: [${index}] ${problem}`;
        findings.push({ message: { fieldPath, description, validationCode }, event: index });
      }, event);
    });
  }
  return findings;
}

type Add = (fieldPath: string, description: string, validationCode: string) => void;

function checkClient(add: Add, body: JsonObject, query: URLSearchParams): void {
  const isApp = query.has('firebase_app_id');
  const [name, other] = isApp ? ['app_instance_id', 'client_id'] : ['client_id', 'app_instance_id'];
  const { [name]: id, [other]: wrong, user_id: userId } = body;
  if (!isText(id)) add(name, `${name} is missing`, 'VALUE_REQUIRED');
  else if (isApp && !APP_INSTANCE_ID.test(id)) add(name, `${name} is not 32 hexadecimal digits`, 'VALUE_INVALID');
  if (wrong !== undefined) add(other, `${other} is for another kind of stream`, 'VALUE_INVALID');
  if (userId !== undefined && check.text(userId, USER_ID_MAX) !== undefined)
    add('user_id', `user_id is not a text of up to ${USER_ID_MAX} characters`, 'VALUE_INVALID');
}

function checkTime(add: Add, micros: unknown, nowMs: number): void {
  if (micros === undefined) return;
  const text = textOf(micros);
  if (!MICROS.test(text)) {
    add('timestamp_micros', 'timestamp_micros is not a unix time in microseconds', 'VALUE_INVALID');
    return;
  }
  const problem = check.age(Number(text) / 1_000, { nowMs, ageMaxMs: AGE_MAX_MS, aheadMaxMs: AHEAD_MAX_MS });
  if (problem !== undefined) add('timestamp_micros', `timestamp_micros ${problem}`, 'VALUE_OUT_OF_BOUNDS');
}

function checkConsent(add: Add, consent: unknown): void {
  if (consent === undefined) return;
  for (const [name, value] of Object.entries(isObject(consent) ? consent : { consent })) {
    if (!['ad_user_data', 'ad_personalization'].includes(name) || !CONSENTS.includes(value)) {
      add(`consent.${name}`, `consent.${name} is not GRANTED or DENIED`, 'VALUE_INVALID');
    }
  }
}

function checkProperties(add: Add, properties: unknown): void {
  if (properties === undefined) return;
  const entries = Object.entries(objectOf(properties));
  if (entries.length > PROPERTIES_MAX) {
    add('user_properties', `user_properties has more than ${PROPERTIES_MAX} entries`, 'EXCEEDED_MAX_ENTITIES');
  }
  for (const [name, property] of entries) {
    if (!NAME.test(name) || name.length > PROPERTY_NAME_MAX) {
      add('user_properties', 'A user property has an invalid name', 'NAME_INVALID');
    }
    const { value } = objectOf(property);
    if (value === undefined || textOf(value).length > PROPERTY_VALUE_MAX) {
      add(
        `user_properties.${name}`,
        `The user property ${name} has no value, or one that is too long`,
        'VALUE_INVALID',
      );
    }
  }
}

function checkEvent(add: Add, event: unknown): void {
  const { name, params = {} } = objectOf(event);
  if (typeof name !== 'string' || !NAME.test(name)) add('events', 'has an invalid name', 'NAME_INVALID');
  else if (RESERVED_NAMES.has(name) || RESERVED_PREFIX.test(name))
    add('events', 'has a reserved name', 'NAME_RESERVED');
  if (!isObject(params)) {
    add('events.params', 'has params that are not an object', 'VALUE_INVALID');
    return;
  }
  const entries = Object.entries(params);
  if (entries.length > PARAMS_MAX) add('events.params', `has more than ${PARAMS_MAX} params`, 'EXCEEDED_MAX_ENTITIES');
  for (const [param, value] of entries) checkParam(add, param, value);
  if (name === CAMPAIGN) checkCampaign(add, Object.keys(params));
  const { value, currency } = params;
  if (value !== undefined && !isNumber(value))
    add('events.params.value', 'has a value that is not a number', 'VALUE_INVALID');
  const isPriced = listIn(params, 'items').some((item) => objectOf(item)['price'] !== undefined);
  if ((value !== undefined || isPriced || currency !== undefined) && check.currency(currency) !== undefined) {
    add('events.params.currency', 'has an amount without a currency', 'VALUE_REQUIRED');
  }
  if ((name === 'purchase' || name === 'refund') && !isText(params['transaction_id'])) {
    add('events.params.transaction_id', `is a ${name} without transaction_id`, 'VALUE_REQUIRED');
  }
}

function checkCampaign(add: Add, names: readonly string[]): void {
  if (!names.some((name) => CAMPAIGN_PARAMS.has(name)))
    add('events.params', 'is a campaign without fields', 'VALUE_REQUIRED');
  const unknown = names.find((name) => !CAMPAIGN_PARAMS.has(name) && name !== 'session_id');
  if (unknown !== undefined) add(`events.params.${unknown}`, `${unknown} is no field of a campaign`, 'NAME_INVALID');
}

function checkParam(add: Add, name: string, value: unknown): void {
  const path = `events.params.${name}`;
  if (!NAME.test(name) || RESERVED_PREFIX.test(name)) add(path, 'has a param with an invalid name', 'NAME_INVALID');
  if (name === 'items') checkItems(add, path, value);
  else if (!isScalar(value)) add(path, `has a param ${name} that is not a single value`, 'VALUE_INVALID');
  else if (typeof value === 'string' && value.length > (TEXT_MAX_OF[name] ?? TEXT_MAX)) {
    add(path, `has a param ${name} that is too long`, 'VALUE_OUT_OF_BOUNDS');
  }
}

function checkItems(add: Add, path: string, items: unknown): void {
  if (!Array.isArray(items) || items.length > ITEMS_MAX) {
    add(path, `has items that are not a list of up to ${ITEMS_MAX}`, 'VALUE_INVALID');
    return;
  }
  for (const item of items as unknown[]) {
    const problem = itemProblem(objectOf(item));
    if (problem !== undefined) add(path, `has an item ${problem}`, 'VALUE_INVALID');
  }
}

function itemProblem(item: JsonObject): string | undefined {
  const { item_id, item_name, quantity, price } = item;
  if (!isText(item_id) && !isText(item_name)) return 'without item_id or item_name';
  if (quantity !== undefined && check.count(quantity) !== undefined) return 'whose quantity is not a whole number';
  if (price !== undefined && !isNumber(price)) return 'whose price is not a number';
  if (!Object.values(item).every(isScalar)) return 'with a value that is not single';
  const isLong = Object.values(item).some((value) => typeof value === 'string' && value.length > TEXT_MAX);
  return isLong ? `with a text of more than ${TEXT_MAX} characters` : undefined;
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || isNumber(value);
}

/** A request without readable events is recorded as one lost event. */
function receivedEvents(body: unknown, problemsOf: (index: number) => readonly string[]): ReceivedItem[] {
  const envelope = objectOf(body);
  const events = listIn(envelope, 'events');
  const campaigns = events.flatMap((event, index) => (objectOf(event)['name'] === CAMPAIGN ? [index] : []));
  return (events.length > 0 ? events : [undefined]).flatMap((event, index) => {
    if (campaigns.includes(index)) return [];
    const { name, params } = objectOf(event);
    const transaction = objectOf(params)['transaction_id'];
    // Only purchases have an id; other events are identified by client id and time.
    const eventId = isText(transaction)
      ? transaction
      : `${textOf(envelope['client_id'] ?? envelope['app_instance_id'])} ${textOf(envelope['timestamp_micros'])}`;
    const problems = [...new Set([...campaigns, index].flatMap(problemsOf))];
    const about = {
      eventId,
      event: name,
      problems,
      accepted: problems.length === 0,
      // A transaction can have several refunds, which add up.
      dedupKey: [textOf(name), eventId, ...(name === 'refund' ? [textOf(envelope['timestamp_micros'])] : [])].join(' '),
    };
    return [receivedItem({ ...envelope, events: [...campaigns.map((campaign) => events[campaign]), event] }, about)];
  });
}
