import { isJsonContentType, jsonAnswer, receivedItem } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { isObject, isText, type JsonObject, listIn, objectOf, parseJson, textOf } from '../values.js';

export const UPLOAD_PATH = /^\/v(\d+)\/customers\/(\d{10}):uploadClickConversions$/;

const CONVERSIONS_MAX = 2_000;
const IDENTIFIERS_MAX = 5;
const DATE_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d$/;
const DIGITS = /^\d+$/;
const CLICK_IDS = ['gclid', 'gbraid', 'wbraid'] as const;
const CONVERSION_FIELDS = new Set([
  ...CLICK_IDS,
  ...['conversionAction', 'conversionDateTime', 'conversionValue', 'currencyCode', 'orderId', 'userIdentifiers'],
  ...['consent', 'customerType', 'cartData', 'customVariables', 'externalAttributionData', 'conversionEnvironment'],
  ...['userIpAddress', 'sessionAttributesEncoded', 'sessionAttributesKeyValuePairs'],
]);

/** A problem of one conversion, with Google's error code. */
interface UploadError {
  readonly field: string;
  readonly description: string;
  readonly code: string;
}

export function clickUploadAnswer(request: SandboxRequest): SandboxAnswer {
  const manager = request.headers['login-customer-id'];
  if (manager !== undefined && !DIGITS.test(manager))
    return invalidArgument(request, 'login-customer-id is not digits');
  const body = isJsonContentType(request) ? parseJson(request.body) : undefined;
  const conversions = isObject(body) ? body['conversions'] : undefined;
  if (!isObject(body) || !Array.isArray(conversions)) return invalidArgument(request, 'conversions is not a list');
  const problem = envelopeProblem(body, conversions);
  if (problem !== undefined) return invalidArgument(request, problem, conversions);
  const errors = conversions.map((conversion) => uploadErrors(conversion, request));
  if (body['validateOnly'] === true) return jsonAnswer(200, partialFailure(request, conversions, errors));
  return jsonAnswer(
    200,
    { ...partialFailure(request, conversions, errors), results: results(conversions, errors), jobId: '1' },
    receivedConversions(conversions, errors),
  );
}

export const clickUploadFailures: FailureAnswers = {
  refuse: (request) => refused('refuse', request),
  refuse_one: (request) => refused('refuse_one', request),
  throttle: (request) =>
    googleAdsError(request, 429, 'RESOURCE_EXHAUSTED', { quotaError: 'RESOURCE_TEMPORARILY_EXHAUSTED' }),
  server_error: (request) => googleAdsError(request, 503, 'UNAVAILABLE', { internalError: 'TRANSIENT_ERROR' }),
  unauthorized: (request) =>
    googleAdsError(request, 401, 'UNAUTHENTICATED', { authenticationError: 'OAUTH_TOKEN_INVALID' }),
  forbidden: (request) =>
    googleAdsError(request, 403, 'PERMISSION_DENIED', { authorizationError: 'USER_PERMISSION_DENIED' }),
};

function refused(kind: 'refuse' | 'refuse_one', request: SandboxRequest): SandboxAnswer {
  const conversions = listIn(parseJson(request.body), 'conversions');
  const refusal: UploadError = {
    field: 'gclid',
    description: 'No click was found.',
    code: 'EVENT_NOT_FOUND',
  };
  const errors = conversions.map((_, index) => (kind === 'refuse' || index === 0 ? [refusal] : []));
  return jsonAnswer(
    200,
    { ...partialFailure(request, conversions, errors), results: results(conversions, errors), jobId: '1' },
    receivedConversions(conversions, errors),
  );
}

function envelopeProblem(body: JsonObject, conversions: readonly unknown[]): string | undefined {
  if (body['partialFailure'] !== true) return 'partialFailure must be true';
  if (conversions.length === 0) return 'conversions is empty';
  return conversions.length > CONVERSIONS_MAX ? 'TOO_MANY_CONVERSIONS_IN_REQUEST' : undefined;
}

function uploadErrors(conversion: unknown, { path }: SandboxRequest): UploadError[] {
  const errors: UploadError[] = [];
  const add = (field: string, description: string | undefined, code: string) => {
    if (description !== undefined) errors.push({ field, description, code });
  };
  if (!isObject(conversion)) return [{ field: '', description: 'is not an object', code: 'INVALID_ARGUMENT' }];
  for (const name of Object.keys(conversion)) {
    if (!CONVERSION_FIELDS.has(name)) add(name, 'is not a known field', 'INVALID_ARGUMENT');
  }
  const action = `customers/${UPLOAD_PATH.exec(path)?.[2]}/conversionActions/`;
  const { conversionAction, conversionDateTime, conversionValue, currencyCode, orderId, consent } = conversion;
  if (
    !isText(conversionAction) ||
    !conversionAction.startsWith(action) ||
    !DIGITS.test(conversionAction.slice(action.length))
  ) {
    add('conversion_action', 'is not a conversion action of this customer', 'NO_CONVERSION_ACTION_FOUND');
  }
  if (!isText(conversionDateTime) || !DATE_TIME.test(conversionDateTime)) {
    add('conversion_date_time', 'is not yyyy-MM-dd HH:mm:ss+HH:MM', 'INVALID_DATE_TIME');
  }
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

type Add = (field: string, description: string | undefined, code: string) => void;

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

function orderIdProblem(orderId: unknown): string | undefined {
  return check.text(orderId) ?? ((orderId as string).includes('@') ? 'contains an email address' : undefined);
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

/** Empty when no conversion failed. */
function partialFailure(
  request: SandboxRequest,
  conversions: readonly unknown[],
  errors: readonly (readonly UploadError[])[],
): object {
  if (errors.every((ofOne) => ofOne.length === 0)) return {};
  const failures = conversions.flatMap((_, index) =>
    (errors[index] ?? []).map(({ field, description, code }) => ({
      errorCode:
        code === 'CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE'
          ? { notAllowlistedError: code }
          : { conversionUploadError: code },
      message: `${field} ${description}, at conversions[${index}].${field}`,
      location: { fieldPathElements: [{ fieldName: 'conversions', index }, { fieldName: field }] },
    })),
  );
  return {
    partialFailureError: {
      code: 3,
      message: failures[0]?.message ?? '',
      details: [{ '@type': failureType(request), errors: failures, requestId: 'sandbox' }],
    },
  };
}

function results(conversions: readonly unknown[], errors: readonly (readonly UploadError[])[]): object[] {
  return conversions.map((conversion, index) => {
    if (!isObject(conversion) || (errors[index]?.length ?? 0) > 0) return {};
    const { gclid, gbraid, wbraid, conversionAction, conversionDateTime } = conversion;
    return { gclid, gbraid, wbraid, conversionAction, conversionDateTime };
  });
}

function receivedConversions(
  conversions: readonly unknown[],
  errors: readonly (readonly UploadError[])[],
): ReceivedItem[] {
  return conversions.map((conversion, index) => {
    const { conversionAction, orderId, conversionDateTime, consent, ...rest } = objectOf(conversion);
    const click = CLICK_IDS.map((name) => rest[name]).find(isText) ?? '';
    const eventId = isText(orderId) ? orderId : `${click} ${textOf(conversionDateTime)}`;
    const event = textOf(conversionAction).replace(/^.*\//, '');
    const problems = (errors[index] ?? []).map(({ field, description }) => `${field} ${description}`);
    const accepted = problems.length === 0;
    if (objectOf(consent)['adUserData'] === 'DENIED') {
      problems.push('consent.ad_user_data is denied: the conversion must not be sent');
    }
    return receivedItem(conversion, { eventId, event, problems, accepted, dedupKey: `${event} ${eventId}` });
  });
}

function invalidArgument(
  request: SandboxRequest,
  message: string,
  conversions: readonly unknown[] = [],
): SandboxAnswer {
  const errors = conversions.map(() => [{ field: 'request', description: message, code: 'INVALID_ARGUMENT' }]);
  const answer = googleAdsError(request, 400, 'INVALID_ARGUMENT', { requestError: 'INVALID_INPUT' }, message);
  return { ...answer, received: receivedConversions(conversions, errors) };
}

function googleAdsError(
  request: SandboxRequest,
  code: number,
  status: string,
  errorCode: Readonly<Record<string, string>>,
  message = 'The request was refused.',
): SandboxAnswer {
  const details = [{ '@type': failureType(request), errors: [{ errorCode, message }], requestId: 'sandbox' }];
  return jsonAnswer(code, { error: { code, status, message, details } });
}

function failureType({ path }: SandboxRequest): string {
  return `type.googleapis.com/google.ads.googleads.v${UPLOAD_PATH.exec(path)?.[1]}.errors.GoogleAdsFailure`;
}
