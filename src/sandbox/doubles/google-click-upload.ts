import { receivedItem } from '../answers.js';
import * as check from '../checks.js';
import type { ReceivedItem, SandboxRequest } from '../double.js';
import { isObject, isText, type JsonObject, listIn, objectOf, textOf } from '../values.js';
import { rememberConversion } from './google-adjustments.js';
import {
  type Add,
  actionProblem,
  DIGITS,
  dateTimeProblem,
  orderIdProblem,
  type UploadError,
  uploadMethod,
} from './google-upload.js';

const IDENTIFIERS_MAX = 5;
const CLICK_IDS = ['gclid', 'gbraid', 'wbraid'] as const;
const CONVERSION_FIELDS = new Set([
  ...CLICK_IDS,
  ...['conversionAction', 'conversionDateTime', 'conversionValue', 'currencyCode', 'orderId', 'userIdentifiers'],
  ...['consent', 'customerType', 'cartData', 'customVariables', 'externalAttributionData', 'conversionEnvironment'],
  ...['userIpAddress', 'sessionAttributesEncoded', 'sessionAttributesKeyValuePairs'],
]);

export const clickUpload = uploadMethod({
  path: /^\/v\d+\/customers\/\d{10}:uploadClickConversions$/,
  list: 'conversions',
  error: 'conversionUploadError',
  refusal: { field: 'gclid', description: 'No click was found.', code: 'EVENT_NOT_FOUND' },
  errorsOf,
  resultOf({ gclid, gbraid, wbraid, conversionAction, conversionDateTime }) {
    return { gclid, gbraid, wbraid, conversionAction, conversionDateTime };
  },
  receivedOf,
  accept: rememberConversion,
});

function errorsOf(conversion: unknown, { path }: SandboxRequest): UploadError[] {
  const errors: UploadError[] = [];
  const add = (field: string, description: string | undefined, code: string) => {
    if (description !== undefined) errors.push({ field, description, code });
  };
  if (!isObject(conversion)) return [{ field: '', description: 'is not an object', code: 'INVALID_ARGUMENT' }];
  for (const name of Object.keys(conversion)) {
    if (!CONVERSION_FIELDS.has(name)) add(name, 'is not a known field', 'INVALID_ARGUMENT');
  }
  const { conversionAction, conversionDateTime, conversionValue, currencyCode, orderId, consent } = conversion;
  add('conversion_action', actionProblem(conversionAction, path), 'NO_CONVERSION_ACTION_FOUND');
  add('conversion_date_time', dateTimeProblem(conversionDateTime), 'INVALID_DATE_TIME');
  if (conversionValue !== undefined) add('conversion_value', check.number(conversionValue), 'INVALID_VALUE');
  if (currencyCode !== undefined) add('currency_code', check.currency(currencyCode), 'INVALID_CURRENCY');
  if (orderId !== undefined) add('order_id', orderIdProblem(orderId), 'ORDER_ID_CONTAINS_PII');
  if (conversion['conversionEnvironment'] !== undefined) {
    add('conversion_environment', 'is for allow-listed customers', 'CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE');
  }
  if (consent !== undefined) checkConsent(add, consent);
  checkIdentifiers(add, conversion);
  if (conversion['cartData'] !== undefined) checkCart(add, conversion['cartData']);
  return errors;
}

function checkCart(add: Add, cart: unknown): void {
  const { merchantId, feedCountryCode, feedLanguageCode, localTransactionCost, items, ...others } = objectOf(cart);
  for (const name of Object.keys(others)) add(`cart_data.${name}`, 'is not a known field', 'INVALID_ARGUMENT');
  if (!DIGITS.test(textOf(merchantId).replaceAll('"', '')))
    add('cart_data.merchant_id', 'is not a Merchant Center id', 'INVALID_ARGUMENT');
  if (feedCountryCode !== undefined && !/^[A-Z]{2}$/.test(textOf(feedCountryCode)))
    add('cart_data.feed_country_code', 'is not a country of two upper-case letters', 'INVALID_ARGUMENT');
  if (feedLanguageCode !== undefined && !/^[a-z]{2}$/.test(textOf(feedLanguageCode)))
    add('cart_data.feed_language_code', 'is not a language of two lower-case letters', 'INVALID_ARGUMENT');
  if (localTransactionCost !== undefined)
    add('cart_data.local_transaction_cost', check.number(localTransactionCost), 'INVALID_ARGUMENT');
  if (!Array.isArray(items) || items.length === 0) add('cart_data.items', 'is not a list of items', 'INVALID_ARGUMENT');
  for (const item of listIn(cart, 'items')) {
    const { productId, quantity, unitPrice, ...more } = objectOf(item);
    for (const name of Object.keys(more)) add(`cart_data.items.${name}`, 'is not a known field', 'INVALID_ARGUMENT');
    add('cart_data.items.product_id', check.text(productId), 'INVALID_ARGUMENT');
    // A 32-bit number, which unlike one of 64 bits is no string.
    if (quantity !== undefined && !(Number.isInteger(quantity) && (quantity as number) > 0))
      add('cart_data.items.quantity', 'is not a whole number above zero', 'INVALID_ARGUMENT');
    if (unitPrice !== undefined) add('cart_data.items.unit_price', check.number(unitPrice), 'INVALID_ARGUMENT');
  }
}

function checkConsent(add: Add, consent: unknown): void {
  const { adUserData, ...others } = objectOf(consent);
  add('consent.ad_user_data', check.oneOf(['GRANTED', 'DENIED'])(adUserData), 'INVALID_CONSENT');
  for (const name of Object.keys(others)) add(`consent.${name}`, 'is not valid for this service', 'INVALID_CONSENT');
}

function checkIdentifiers(add: Add, conversion: JsonObject): void {
  const given = CLICK_IDS.filter((name) => conversion[name] !== undefined);
  for (const name of given) add(name, check.raw(conversion[name]), `UNPARSEABLE_${name.toUpperCase()}`);
  if (given.includes('gbraid') && given.includes('wbraid')) {
    add('wbraid', 'cannot be combined with gbraid', 'GBRAID_WBRAID_BOTH_SET');
  } else if (given.length > 1)
    add(given[1] as string, 'cannot be combined with another click id', 'VALUE_MUST_BE_UNSET');
  const { userIdentifiers } = conversion;
  if (userIdentifiers === undefined) {
    if (given.length === 0) add('gclid', 'is missing, and there are no user identifiers', 'UNPARSEABLE_GCLID');
    return;
  }
  if (!Array.isArray(userIdentifiers) || userIdentifiers.length === 0 || userIdentifiers.length > IDENTIFIERS_MAX) {
    add('user_identifiers', `is not a list of 1 to ${IDENTIFIERS_MAX}`, 'INVALID_USER_IDENTIFIER');
    return;
  }
  for (const identifier of userIdentifiers as unknown[]) checkUserIdentifier(add, identifier);
}

function checkUserIdentifier(add: Add, identifier: unknown): void {
  const { userIdentifierSource, ...kinds } = objectOf(identifier);
  const [kind, ...more] = Object.keys(kinds);
  if (kind !== 'hashedEmail' && kind !== 'hashedPhoneNumber') {
    add('user_identifiers', 'is not a hashed email or phone number', 'UNSUPPORTED_USER_IDENTIFIER');
    return;
  }
  if (more.length > 0) add('user_identifiers', 'contains more than one identifier', 'INVALID_USER_IDENTIFIER');
  add(`user_identifiers.${kind}`, check.hash(kinds[kind]), 'INVALID_USER_IDENTIFIER');
  if (userIdentifierSource !== undefined) {
    const problem = check.oneOf(['FIRST_PARTY', 'THIRD_PARTY'])(userIdentifierSource);
    add('user_identifiers.user_identifier_source', problem, 'INVALID_USER_IDENTIFIER');
  }
}

function receivedOf(conversion: JsonObject, problems: readonly string[]): ReceivedItem {
  const { conversionAction, orderId, conversionDateTime, consent, ...rest } = conversion;
  const click = CLICK_IDS.map((name) => rest[name]).find(isText) ?? '';
  const eventId = isText(orderId) ? orderId : `${click} ${textOf(conversionDateTime)}`;
  const event = textOf(conversionAction).replace(/^.*\//, '');
  const isDenied = objectOf(consent)['adUserData'] === 'DENIED';
  const denied = isDenied ? ['consent.ad_user_data is denied: the conversion must not be sent'] : [];
  return receivedItem(conversion, {
    ...{ eventId, event, accepted: problems.length === 0, dedupKey: `${event} ${eventId}` },
    problems: [...problems, ...denied],
  });
}
