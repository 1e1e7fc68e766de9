import * as check from '../checks.js';
import { DAY_MS, isObject, isText, type JsonObject, listIn, objectOf, textOf } from '../values.js';

const EVENTS_MAX = 2_000;
const DESTINATIONS_MAX = 10;
const IDENTIFIERS_MAX = 10;
const ACCOUNT_ID = /^\d{10}$/;
const CONVERSION_ACTION_ID = /^\d+$/;
const COUNTRY = /^[A-Z]{2}$/;
const ZIP_CODE = /^\d{5}(?:-?\d{4})?$/;
const CUSTOMER_TYPES = ['NEW', 'RETURNING', 'REENGAGED'];
const LANGUAGE = /^[a-z]{2}$/;
const POSITIVE_NUMBER = /^[1-9]\d*$/;
const EVENT_SOURCES = ['WEB', 'APP', 'IN_STORE', 'PHONE', 'MESSAGE', 'OTHER'];
const CONSENTS = ['CONSENT_GRANTED', 'CONSENT_DENIED'];
const CLICK_IDS = ['gclid', 'gbraid', 'wbraid'] as const;
const IDENTIFIER_KINDS = ['emailAddress', 'phoneNumber', 'address'];

const REQUEST_FIELDS = new Set(['destinations', 'events', 'consent', 'validateOnly', 'encoding', 'encryptionInfo']);
const DESTINATION_FIELDS = new Set([
  ...['reference', 'loginAccount', 'linkedAccount', 'operatingAccount', 'productDestinationId'],
]);
const EVENT_FIELDS = new Set([
  ...['destinationReferences', 'transactionId', 'eventTimestamp', 'lastUpdatedTimestamp', 'userData', 'consent'],
  ...['adIdentifiers', 'currency', 'conversionValue', 'eventSource', 'eventDeviceInfo', 'cartData', 'customVariables'],
  ...['experimentalFields', 'userProperties', 'eventName', 'clientId', 'userId', 'additionalEventParameters'],
]);
const CONSENT_FIELDS = new Set(['adUserData', 'adPersonalization']);
const ADDRESS_FIELDS = new Set([
  ...['givenName', 'familyName', 'regionCode', 'postalCode', 'addressLine', 'city', 'administrativeArea'],
]);
const USER_PROPERTY_FIELDS = new Set(['customerType', 'customerValueBucket', 'additionalUserProperties']);
const CART_FIELDS = new Set([
  ...['merchantId', 'merchantFeedLabel', 'merchantFeedLanguageCode', 'transactionDiscount', 'items', 'couponCodes'],
]);
const ITEM_FIELDS = new Set([
  ...['merchantProductId', 'quantity', 'unitPrice', 'itemId', 'additionalItemParameters', 'merchantId'],
  ...['merchantFeedLabel', 'merchantFeedLanguageCode', 'conversionValue', 'customVariables'],
]);
const AD_IDENTIFIER_FIELDS = new Set([...CLICK_IDS, 'sessionAttributes', 'landingPageDeviceInfo', 'dclid']);

/** A field violation as Google reports it. */
export interface Violation {
  readonly field: string;
  readonly description: string;
  readonly reason: string;
}

class Violations {
  readonly list: Violation[] = [];

  add(field: string, description: string | undefined, reason: string): void {
    if (description !== undefined) this.list.push({ field, description, reason });
  }

  /** Checks a field if it is present. */
  optional(field: string, value: JsonObject, name: string, checkField: check.Check, reason = 'INVALID_ARGUMENT'): void {
    if (value[name] !== undefined) this.add(`${field}.${name}`, checkField(value[name]), reason);
  }

  /** Google's JSON parser refuses unknown fields. */
  unknown(field: string, value: JsonObject, known: ReadonlySet<string>): void {
    for (const name of Object.keys(value)) {
      if (!known.has(name)) this.add(`${field}${name}`, 'is not a known field', 'INVALID_ARGUMENT');
    }
  }
}

export function requestViolations(body: JsonObject, events: readonly unknown[]): Violation[] {
  const violations = new Violations();
  violations.unknown('', body, REQUEST_FIELDS);
  if (events.length === 0) violations.add('events', 'is empty', 'REQUIRED_FIELD_MISSING');
  if (events.length > EVENTS_MAX) violations.add('events', `has more than ${EVENTS_MAX} entries`, 'TOO_MANY_EVENTS');
  const { destinations } = body;
  if (!Array.isArray(destinations) || destinations.length === 0) {
    violations.add('destinations', 'is empty', 'REQUIRED_FIELD_MISSING');
    return violations.list;
  }
  if (destinations.length > DESTINATIONS_MAX) {
    violations.add('destinations', `has more than ${DESTINATIONS_MAX} entries`, 'TOO_MANY_DESTINATIONS');
  }
  const references = destinations.map((destination) => objectOf(destination)['reference']);
  if (new Set(references).size < references.length) {
    violations.add('destinations', 'has a duplicate reference', 'DUPLICATE_DESTINATION_REFERENCE');
  }
  destinations.forEach((destination, index) => {
    checkDestination(violations, `destinations[${index}]`, destination);
  });
  return violations.list;
}

function checkDestination(violations: Violations, field: string, destination: unknown): void {
  if (!isObject(destination)) {
    violations.add(field, 'is not an object', 'INVALID_ARGUMENT');
    return;
  }
  violations.unknown(`${field}.`, destination, DESTINATION_FIELDS);
  checkAccount(violations, `${field}.operatingAccount`, destination['operatingAccount']);
  if (destination['loginAccount'] !== undefined) {
    checkAccount(violations, `${field}.loginAccount`, destination['loginAccount']);
  }
  const { productDestinationId } = destination;
  if (typeof productDestinationId !== 'string' || !CONVERSION_ACTION_ID.test(productDestinationId)) {
    violations.add(`${field}.productDestinationId`, 'is not a conversion action id', 'INVALID_CONVERSION_ACTION_ID');
  }
}

function checkAccount(violations: Violations, field: string, account: unknown): void {
  const { accountType, accountId } = objectOf(account);
  violations.add(`${field}.accountType`, check.oneOf(['GOOGLE_ADS'])(accountType), 'INVALID_DESTINATION');
  if (typeof accountId !== 'string' || !ACCOUNT_ID.test(accountId)) {
    violations.add(`${field}.accountId`, 'is not an account of ten digits without hyphens', 'INVALID_DESTINATION');
  }
}

export function eventViolations(event: unknown, index: number, body: JsonObject, nowMs: number): Violation[] {
  const violations = new Violations();
  const at = `events[${index}]`;
  if (!isObject(event)) {
    violations.add(at, 'is not an object', 'INVALID_ARGUMENT');
    return violations.list;
  }
  violations.unknown(`${at}.`, event, EVENT_FIELDS);
  const timeProblem = check.isoTime({ nowMs, aheadMaxMs: DAY_MS })(event['eventTimestamp']);
  violations.add(`${at}.eventTimestamp`, timeProblem, 'EVENT_TIME_INVALID');
  violations.optional(at, event, 'transactionId', check.text);
  violations.optional(at, event, 'eventSource', check.oneOf(EVENT_SOURCES));
  violations.optional(at, event, 'conversionValue', check.number);
  violations.optional(at, event, 'currency', check.currency, 'INVALID_CURRENCY_CODE');
  checkReferences(violations, `${at}.destinationReferences`, event['destinationReferences'], body);
  checkIdentifiers(violations, at, event, body);
  checkConsent(violations, `${at}.consent`, event['consent']);
  checkDevice(violations, `${at}.eventDeviceInfo`, event['eventDeviceInfo']);
  checkUserProperties(violations, `${at}.userProperties`, event['userProperties']);
  checkCart(violations, `${at}.cartData`, event);
  return violations.list;
}

function checkReferences(violations: Violations, field: string, references: unknown, body: JsonObject): void {
  if (references === undefined) return;
  const known = listIn(body, 'destinations').map((destination) => objectOf(destination)['reference']);
  if (!Array.isArray(references) || references.some((reference) => !isText(reference) || !known.includes(reference))) {
    violations.add(field, 'names an unknown destination', 'INVALID_DESTINATION');
  }
}

function checkIdentifiers(violations: Violations, at: string, event: JsonObject, body: JsonObject): void {
  const { adIdentifiers, userData } = event;
  if (adIdentifiers !== undefined) checkAdIdentifiers(violations, `${at}.adIdentifiers`, adIdentifiers);
  const { userIdentifiers } = objectOf(userData);
  if (userData !== undefined) {
    checkUserIdentifiers(violations, `${at}.userData.userIdentifiers`, userIdentifiers);
    violations.add('encoding', check.oneOf(['HEX'])(body['encoding']), 'INVALID_HEX_ENCODING');
  }
  const users = Array.isArray(userIdentifiers) ? userIdentifiers.length : 0;
  if (clickIdOf(adIdentifiers) === '' && users === 0) {
    violations.add(at, 'has neither a click id nor user data', 'NO_IDENTIFIERS_PROVIDED');
  }
}

function checkAdIdentifiers(violations: Violations, field: string, identifiers: unknown): void {
  if (!isObject(identifiers)) {
    violations.add(field, 'is not an object', 'INVALID_ARGUMENT');
    return;
  }
  violations.unknown(`${field}.`, identifiers, AD_IDENTIFIER_FIELDS);
  for (const name of CLICK_IDS) {
    violations.optional(field, identifiers, name, check.raw, `INVALID_${name.toUpperCase()}`);
  }
  checkDevice(violations, `${field}.landingPageDeviceInfo`, identifiers['landingPageDeviceInfo']);
}

function checkUserIdentifiers(violations: Violations, field: string, identifiers: unknown): void {
  if (!Array.isArray(identifiers) || identifiers.length === 0) {
    violations.add(field, 'is empty', 'NO_IDENTIFIERS_PROVIDED');
    return;
  }
  if (identifiers.length > IDENTIFIERS_MAX) {
    violations.add(field, `has more than ${IDENTIFIERS_MAX} entries`, 'TOO_MANY_USER_IDENTIFIERS');
  }
  identifiers.forEach((identifier, index) => {
    checkUserIdentifier(violations, `${field}[${index}]`, identifier);
  });
}

function checkUserIdentifier(violations: Violations, field: string, identifier: unknown): void {
  const [kind, ...more] = isObject(identifier) ? Object.keys(identifier) : [];
  if (!isObject(identifier) || kind === undefined || more.length > 0 || !IDENTIFIER_KINDS.includes(kind)) {
    violations.add(field, `is not exactly one of ${IDENTIFIER_KINDS.join(', ')}`, 'INVALID_USER_IDENTIFIER');
    return;
  }
  if (kind !== 'address') {
    violations.add(`${field}.${kind}`, check.hash(identifier[kind]), 'INVALID_SHA256_FORMAT');
    return;
  }
  const address = objectOf(identifier[kind]);
  violations.unknown(`${field}.address.`, address, ADDRESS_FIELDS);
  const { givenName, familyName, regionCode, postalCode } = address;
  violations.add(`${field}.address.givenName`, check.hash(givenName), 'INVALID_SHA256_FORMAT');
  violations.add(`${field}.address.familyName`, check.hash(familyName), 'INVALID_SHA256_FORMAT');
  violations.add(`${field}.address.postalCode`, postalCodeProblem(postalCode, regionCode), 'INVALID_POSTAL_CODE');
  if (typeof regionCode !== 'string' || !COUNTRY.test(regionCode)) {
    violations.add(`${field}.address.regionCode`, 'is not a country of two upper-case letters', 'INVALID_COUNTRY_CODE');
  }
}

function postalCodeProblem(postalCode: unknown, regionCode: unknown): string | undefined {
  const problem = check.raw(postalCode);
  if (problem !== undefined || regionCode !== 'US') return problem;
  return ZIP_CODE.test(postalCode as string) ? undefined : 'is not a ZIP code';
}

function checkConsent(violations: Violations, field: string, consent: unknown): void {
  if (consent === undefined) return;
  if (!isObject(consent)) {
    violations.add(field, 'is not an object', 'INVALID_ARGUMENT');
    return;
  }
  violations.unknown(`${field}.`, consent, CONSENT_FIELDS);
  for (const name of CONSENT_FIELDS) violations.optional(field, consent, name, check.oneOf(CONSENTS));
}

function checkUserProperties(violations: Violations, field: string, properties: unknown): void {
  if (properties === undefined) return;
  if (!isObject(properties)) {
    violations.add(field, 'is not an object', 'INVALID_ARGUMENT');
    return;
  }
  violations.unknown(`${field}.`, properties, USER_PROPERTY_FIELDS);
  violations.optional(field, properties, 'customerType', check.oneOf(CUSTOMER_TYPES), 'INVALID_ENUM_VALUE');
}

function checkDevice(violations: Violations, field: string, device: unknown): void {
  if (device === undefined) return;
  if (!isObject(device)) {
    violations.add(field, 'is not an object', 'INVALID_ARGUMENT');
    return;
  }
  violations.optional(field, device, 'ipAddress', check.ip);
  violations.optional(field, device, 'userAgent', check.raw);
}

function checkCart(violations: Violations, field: string, event: JsonObject): void {
  const { cartData: cart, currency } = event;
  if (cart === undefined) return;
  const { items, merchantFeedLanguageCode: language } = objectOf(cart);
  if (!Array.isArray(items) || items.length === 0) {
    violations.add(`${field}.items`, 'is not a list of items', 'INVALID_ARGUMENT');
    return;
  }
  violations.unknown(`${field}.`, objectOf(cart), CART_FIELDS);
  violations.optional(field, objectOf(cart), 'merchantId', isMerchantId, 'INVALID_MERCHANT_ID');
  violations.optional(field, objectOf(cart), 'merchantFeedLabel', check.text);
  violations.optional(field, objectOf(cart), 'couponCodes', check.textList);
  if (language !== undefined && !LANGUAGE.test(textOf(language))) {
    const at = `${field}.merchantFeedLanguageCode`;
    violations.add(at, 'is not a language of two lower-case letters', 'INVALID_MERCHANT_FEED_LANGUAGE_CODE');
  }
  items.forEach((item: unknown, index) => {
    checkItem(violations, `${field}.items[${index}]`, objectOf(item), currency);
  });
}

const isMerchantId = check.format(/^\d+$/, 'contains other characters than digits');

function checkItem(violations: Violations, at: string, item: JsonObject, currency: unknown): void {
  const { merchantProductId, quantity, unitPrice } = item;
  violations.unknown(`${at}.`, item, ITEM_FIELDS);
  violations.add(`${at}.merchantProductId`, check.text(merchantProductId), 'INVALID_ARGUMENT');
  violations.optional(at, item, 'unitPrice', check.number);
  if (unitPrice !== undefined && currency === undefined)
    violations.add(`${at}.unitPrice`, 'has no currency', 'INVALID_CURRENCY_CODE');
  // A 64-bit number: Google writes it as a string and reads both.
  if (quantity !== undefined && !POSITIVE_NUMBER.test(textOf(quantity)))
    violations.add(`${at}.quantity`, 'is not a whole number above zero', 'INVALID_ARGUMENT');
}

/** The click id that Google would use; empty when there is none. */
export function clickIdOf(adIdentifiers: unknown): string {
  return CLICK_IDS.map((name) => objectOf(adIdentifiers)[name]).find(isText) ?? '';
}
