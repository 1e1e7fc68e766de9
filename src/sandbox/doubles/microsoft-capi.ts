import { isJsonContentType, jsonAnswer, receivedItem } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import {
  DAY_MS,
  isObject,
  isText,
  type JsonObject,
  listIn,
  MINUTE_MS,
  objectOf,
  parseJson,
  textOf,
} from '../values.js';

export const EVENTS_PATH = /^\/v1\/\d+\/events$/;

const EVENTS_MAX = 1_000;
const AGE_MAX_MS = 7 * DAY_MS;
const AHEAD_MAX_MS = 5 * MINUTE_MS;
export const CLICK_ID = /^[0-9a-f-]{32,36}$/;
const SUFFICIENT = ['msclkid', 'em', 'ph'];
/** They count only if Microsoft has matched the ids of site and tag, which a server cannot know. */
const INSUFFICIENT = ['anonymousId', 'externalId', 'idfa', 'gaid'];
const USER_FIELDS = new Set([...SUFFICIENT, ...INSUFFICIENT, 'clientIpAddress', 'clientUserAgent']);
const PAGE_TYPES = ['product', 'category', 'cart', 'purchase', 'searchresults', 'other'];
const NUMBERS = ['value', 'ecommTotalValue', 'eventValue'];
const TEXTS = ['transactionId', 'eventCategory', 'eventLabel', 'searchTerm'];

/** One entry of `error.details`. An event with only warnings is accepted. */
interface Detail {
  readonly index: number;
  readonly propertyName: string;
  readonly attemptedValue: unknown;
  readonly errorMessage: string;
  readonly isWarning?: true;
}

export function capiAnswer(request: SandboxRequest): SandboxAnswer {
  const body = isJsonContentType(request) ? parseJson(request.body) : undefined;
  const data = isObject(body) ? body['data'] : undefined;
  if (!isObject(body) || !Array.isArray(data)) return capiError(400, 'BadRequest', 'The body has no list "data".');
  if (data.length === 0 || data.length > EVENTS_MAX) {
    return capiError(400, 'BadRequest', `"data" must have 1 to ${EVENTS_MAX} events.`, [], refusedEvents(data));
  }
  const continues = body['continueOnValidationError'];
  if (continues !== undefined && typeof continues !== 'boolean') {
    return capiError(400, 'BadRequest', '"continueOnValidationError" is not a boolean.', [], refusedEvents(data));
  }
  return eventsAnswer(
    data,
    data.map((event, index) => eventDetails(event, index, request.nowMs)),
    continues === true,
  );
}

export const capiFailures: FailureAnswers = {
  refuse: (request) => refused('refuse', request),
  refuse_one: (request) => refused('refuse_one', request),
  throttle: () => capiError(429, 'TooManyRequests', 'Too many requests.'),
  server_error: () => capiError(503, 'ServiceUnavailable', 'The service is unavailable.'),
  unauthorized: () => capiError(401, 'Unauthorized', 'The token is not valid for this tag.'),
  forbidden: () => capiError(403, 'Forbidden', 'The Conversions API is not enabled for this account.'),
};

function refused(kind: 'refuse' | 'refuse_one', request: SandboxRequest): SandboxAnswer {
  const body = parseJson(request.body);
  const data = listIn(body, 'data');
  const details = data.map((_, index): Detail[] =>
    kind === 'refuse' || index === 0
      ? [{ index, propertyName: 'eventName', attemptedValue: '', errorMessage: 'The event is not valid.' }]
      : [],
  );
  return eventsAnswer(data, details, objectOf(body)['continueOnValidationError'] === true);
}

/** With `continues` valid events are accepted and the others reported; without it, one invalid event refuses all. */
function eventsAnswer(
  data: readonly unknown[],
  details: readonly (readonly Detail[])[],
  continues: boolean,
): SandboxAnswer {
  const isInvalid = (ofEvent: readonly Detail[] = []) => ofEvent.some(({ isWarning }) => isWarning !== true);
  const all = details.flat();
  const refusesAll = !continues && details.some(isInvalid);
  const received = data.map((event, index) =>
    receivedEvent(event, details[index] ?? [], !refusesAll && !isInvalid(details[index])),
  );
  if (refusesAll) return capiError(400, 'ValidationError', 'One or more events are not valid.', all, received);
  const eventsReceived = received.filter(({ accepted }) => accepted).length;
  if (all.length === 0) return jsonAnswer(200, { eventsReceived }, received);
  const error = { code: 'ValidationError', message: 'One or more events are not valid.', details: all };
  return jsonAnswer(200, { eventsReceived, error, traceId: 'sandbox' }, received);
}

function eventDetails(event: unknown, index: number, nowMs: number): Detail[] {
  const details: Detail[] = [];
  const add = (propertyName: string, attemptedValue: unknown, problem: string | undefined) => {
    if (problem === undefined) return;
    details.push({
      index,
      propertyName,
      attemptedValue: attemptedValue ?? null,
      errorMessage: `${propertyName} ${problem}`,
    });
  };
  if (!isObject(event)) {
    add('data', null, 'is not an object');
    return details;
  }
  const { eventType, eventName, eventTime, eventSourceUrl, eventId, adStorageConsent } = event;
  add('eventType', eventType, check.oneOf(['pageLoad', 'custom'])(eventType));
  if (eventType === 'custom' || eventName !== undefined) add('eventName', eventName, check.text(eventName));
  add('eventTime', eventTime, check.unixSeconds({ nowMs, ageMaxMs: AGE_MAX_MS, aheadMaxMs: AHEAD_MAX_MS })(eventTime));
  if (eventType === 'pageLoad' || eventSourceUrl !== undefined) {
    add('eventSourceUrl', eventSourceUrl, check.url(eventSourceUrl));
  }
  if (eventId !== undefined) add('eventId', eventId, check.text(eventId));
  if (adStorageConsent !== undefined)
    add('adStorageConsent', adStorageConsent, check.oneOf(['G', 'D'])(adStorageConsent));
  checkUser(add, event['userData']);
  checkCustomData(add, event['customData']);
  if (isObject(event['userData']) && !hasOne(event['userData'], SUFFICIENT) && details.length === 0) {
    const errorMessage = 'userData cannot be attributed: it has no msclkid, em or ph';
    details.push({ index, propertyName: 'userData', attemptedValue: null, errorMessage, isWarning: true });
  }
  return details;
}

type Add = (propertyName: string, attemptedValue: unknown, problem: string | undefined) => void;

function checkUser(add: Add, user: unknown): void {
  if (!isObject(user) || !hasOne(user, [...SUFFICIENT, ...INSUFFICIENT])) {
    add('userData', null, 'has no identifier');
    return;
  }
  for (const name of Object.keys(user))
    if (!USER_FIELDS.has(name)) add(`userData.${name}`, null, 'is not a known field');
  const { msclkid, em, ph, clientIpAddress } = user;
  if (msclkid !== undefined && !(isText(msclkid) && CLICK_ID.test(msclkid)))
    add('userData.msclkid', msclkid, 'is not a click id');
  if (em !== undefined) add('userData.em', em, check.hash(em));
  if (ph !== undefined) add('userData.ph', ph, check.hash(ph));
  if (clientIpAddress !== undefined) add('userData.clientIpAddress', clientIpAddress, check.ip(clientIpAddress));
  for (const name of ['anonymousId', 'clientUserAgent']) {
    if (user[name] !== undefined) add(`userData.${name}`, user[name], check.raw(user[name]));
  }
  if (user['externalId'] !== undefined) add('userData.externalId', null, check.text(user['externalId']));
}

function checkCustomData(add: Add, data: unknown): void {
  if (data === undefined) return;
  if (!isObject(data)) {
    add('customData', null, 'is not an object');
    return;
  }
  const { currency, pageType, itemIds, items } = data;
  for (const name of NUMBERS)
    if (data[name] !== undefined) add(`customData.${name}`, data[name], check.number(data[name]));
  for (const name of TEXTS) if (data[name] !== undefined) add(`customData.${name}`, data[name], check.text(data[name]));
  if (currency !== undefined || data['value'] !== undefined)
    add('customData.currency', currency, check.currency(currency));
  if (pageType !== undefined) add('customData.pageType', pageType, check.oneOf(PAGE_TYPES)(pageType));
  if (itemIds !== undefined && !(Array.isArray(itemIds) && itemIds.every(isText))) {
    add('customData.itemIds', null, 'is not a list of strings');
  }
  if (items !== undefined) checkItems(add, items, currency);
}

const ITEM_FIELDS = new Set(['id', 'name', 'price', 'quantity']);

function checkItems(add: Add, items: unknown, currency: unknown): void {
  if (!Array.isArray(items)) {
    add('customData.items', null, 'is not a list');
    return;
  }
  items.forEach((item: unknown, index) => {
    const { id, name, price, quantity } = objectOf(item);
    const at = `customData.items[${index}]`;
    for (const field of Object.keys(objectOf(item)))
      if (!ITEM_FIELDS.has(field)) add(`${at}.${field}`, null, 'is not a known field');
    add(`${at}.id`, id, check.text(id));
    if (name !== undefined) add(`${at}.name`, name, check.text(name));
    if (price !== undefined) add(`${at}.price`, price, check.number(price));
    if (price !== undefined && currency === undefined) add(`${at}.price`, price, 'has no currency');
    if (quantity !== undefined && !(Number.isInteger(quantity) && (quantity as number) > 0))
      add(`${at}.quantity`, quantity, 'is not a whole number above zero');
  });
}

function hasOne(user: JsonObject, names: readonly string[]): boolean {
  return names.some((name) => user[name] !== undefined);
}

function receivedEvent(event: unknown, details: readonly Detail[], accepted: boolean): ReceivedItem {
  const { eventId, eventName, eventType } = objectOf(event);
  const name = eventName ?? eventType;
  const problems = details.map(({ errorMessage }) => errorMessage);
  return receivedItem(event, {
    eventId,
    event: name,
    problems,
    accepted,
    dedupKey: `${textOf(name)} ${textOf(eventId)}`,
  });
}

function refusedEvents(data: readonly unknown[]): ReceivedItem[] {
  return data.map((event) => receivedEvent(event, [], false));
}

export function capiError(
  status: number,
  code: string,
  message: string,
  details: readonly Detail[] = [],
  received?: readonly ReceivedItem[],
): SandboxAnswer {
  return jsonAnswer(status, { error: { code, message, details }, traceId: 'sandbox' }, received);
}
