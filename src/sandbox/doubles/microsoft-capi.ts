import {
  currencyProblem,
  DAY_MS,
  hashProblem,
  ipProblem,
  isJsonContentType,
  isObject,
  isText,
  type JsonObject,
  jsonAnswer,
  MINUTE_MS,
  numberProblem,
  oneOfProblem,
  parseJson,
  rawProblem,
  receivedItem,
  textOf,
  textProblem,
  unixSecondsProblem,
  urlProblem,
} from '../checks.js';
import type { FailureKind, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';

export const EVENTS_PATH = /^\/v1\/\d+\/events$/;

const EVENTS_MAX = 1_000;
const AGE_MAX_MS = 7 * DAY_MS;
const AHEAD_MAX_MS = 5 * MINUTE_MS;
export const CLICK_ID = /^[0-9a-f-]{32,36}$/;
const SUFFICIENT = ['msclkid', 'em', 'ph'];
/** They count only after ids have been matched between site and tag, which a server cannot know. */
const INSUFFICIENT = ['anonymousId', 'externalId', 'idfa', 'gaid'];
const PAGE_TYPES = ['product', 'category', 'cart', 'purchase', 'searchresults', 'other'];
const NUMBERS = ['value', 'ecommTotalValue', 'eventValue'];
const TEXTS = ['transactionId', 'eventCategory', 'eventLabel', 'searchTerm'];

/** One entry of `error.details`. A warning does not keep the event out. */
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
    return capiError(400, 'BadRequest', `"data" takes 1 to ${EVENTS_MAX} events.`, [], untaken(data));
  }
  const goOn = body['continueOnValidationError'];
  if (goOn !== undefined && typeof goOn !== 'boolean') {
    return capiError(400, 'BadRequest', '"continueOnValidationError" is not a boolean.', [], untaken(data));
  }
  return judged(
    data,
    data.map((event, index) => eventDetails(event, index, request.nowMs)),
    goOn === true,
  );
}

export function capiFailure(kind: FailureKind, request: SandboxRequest): SandboxAnswer {
  switch (kind) {
    case 'refuse':
    case 'refuse_one':
      return refused(kind, request);
    case 'throttle':
      return capiError(429, 'TooManyRequests', 'Too many requests.');
    case 'server_error':
      return capiError(503, 'ServiceUnavailable', 'The service is unavailable.');
    case 'unauthorized':
      return capiError(401, 'Unauthorized', 'The token is not valid for this tag.');
    case 'forbidden':
      return capiError(403, 'Forbidden', 'The Conversions API is not enabled for this account.');
  }
}

function refused(kind: 'refuse' | 'refuse_one', request: SandboxRequest): SandboxAnswer {
  const body = parseJson(request.body);
  const data = isObject(body) && Array.isArray(body['data']) ? (body['data'] as unknown[]) : [];
  const details = data.map((_, index): Detail[] =>
    kind === 'refuse' || index === 0
      ? [{ index, propertyName: 'eventName', attemptedValue: '', errorMessage: 'The event is not valid.' }]
      : [],
  );
  return judged(data, details, isObject(body) && body['continueOnValidationError'] === true);
}

/** With `goOn` the good ones are taken and the bad ones reported; without, one bad event refuses them all. */
function judged(data: readonly unknown[], details: readonly (readonly Detail[])[], goOn: boolean): SandboxAnswer {
  const isBad = (ofOne: readonly Detail[] = []) => ofOne.some(({ isWarning }) => isWarning !== true);
  const all = details.flat();
  const refusesAll = !goOn && details.some(isBad);
  const received = data.map((event, index) =>
    receivedEvent(event, details[index] ?? [], !refusesAll && !isBad(details[index])),
  );
  if (refusesAll) return capiError(400, 'ValidationError', 'One or more events are not valid.', all, received);
  const eventsReceived = received.filter(({ taken }) => taken).length;
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
  add('eventType', eventType, oneOfProblem(eventType, ['pageLoad', 'custom']));
  if (eventType === 'custom' || eventName !== undefined) add('eventName', eventName, textProblem(eventName));
  add('eventTime', eventTime, unixSecondsProblem(eventTime, { nowMs, ageMaxMs: AGE_MAX_MS, aheadMaxMs: AHEAD_MAX_MS }));
  if (eventType === 'pageLoad' || eventSourceUrl !== undefined) {
    add('eventSourceUrl', eventSourceUrl, urlProblem(eventSourceUrl));
  }
  if (eventId !== undefined) add('eventId', eventId, textProblem(eventId));
  if (adStorageConsent !== undefined)
    add('adStorageConsent', adStorageConsent, oneOfProblem(adStorageConsent, ['G', 'D']));
  checkUser(add, event['userData']);
  checkCustomData(add, event['customData']);
  if (isObject(event['userData']) && !hasOne(event['userData'], SUFFICIENT) && details.length === 0) {
    const errorMessage = 'userData has nothing that attributes it: neither msclkid nor em nor ph';
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
  const { msclkid, em, ph, clientIpAddress } = user;
  if (msclkid !== undefined && !(isText(msclkid) && CLICK_ID.test(msclkid)))
    add('userData.msclkid', msclkid, 'is no click id');
  if (em !== undefined) add('userData.em', em, hashProblem(em));
  if (ph !== undefined) add('userData.ph', ph, hashProblem(ph));
  if (clientIpAddress !== undefined) add('userData.clientIpAddress', clientIpAddress, ipProblem(clientIpAddress));
  for (const name of ['anonymousId', 'clientUserAgent']) {
    if (user[name] !== undefined) add(`userData.${name}`, user[name], rawProblem(user[name]));
  }
  if (user['externalId'] !== undefined) add('userData.externalId', null, textProblem(user['externalId']));
}

function checkCustomData(add: Add, data: unknown): void {
  if (data === undefined) return;
  if (!isObject(data)) {
    add('customData', null, 'is not an object');
    return;
  }
  const { currency, pageType, itemIds, items } = data;
  for (const name of NUMBERS)
    if (data[name] !== undefined) add(`customData.${name}`, data[name], numberProblem(data[name]));
  for (const name of TEXTS)
    if (data[name] !== undefined) add(`customData.${name}`, data[name], textProblem(data[name]));
  if (currency !== undefined || data['value'] !== undefined)
    add('customData.currency', currency, currencyProblem(currency));
  if (pageType !== undefined) add('customData.pageType', pageType, oneOfProblem(pageType, PAGE_TYPES));
  if (itemIds !== undefined && !(Array.isArray(itemIds) && itemIds.every(isText))) {
    add('customData.itemIds', null, 'is not a list of texts');
  }
  if (items !== undefined) checkItems(add, items);
}

function checkItems(add: Add, items: unknown): void {
  if (!Array.isArray(items)) {
    add('customData.items', null, 'is not a list');
    return;
  }
  items.forEach((item: unknown, index) => {
    const { id, price, quantity } = isObject(item) ? item : {};
    add(`customData.items[${index}].id`, id, textProblem(id));
    if (price !== undefined) add(`customData.items[${index}].price`, price, numberProblem(price));
    if (quantity !== undefined) add(`customData.items[${index}].quantity`, quantity, numberProblem(quantity));
  });
}

function hasOne(user: JsonObject, names: readonly string[]): boolean {
  return names.some((name) => user[name] !== undefined);
}

function receivedEvent(event: unknown, details: readonly Detail[], taken: boolean): ReceivedItem {
  const { eventId, eventName, eventType } = isObject(event) ? event : {};
  const name = eventName ?? eventType;
  const problems = details.map(({ errorMessage }) => errorMessage);
  return receivedItem(event, { eventId, event: name, problems, taken, dedupKey: `${textOf(name)} ${textOf(eventId)}` });
}

function untaken(data: readonly unknown[]): ReceivedItem[] {
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
