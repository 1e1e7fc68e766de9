import { bearerToken, credentialFailure, isJsonContentType, jsonAnswer, receivedItem } from '../answers.js';
import * as check from '../checks.js';
import type { CallKind, FailureKind, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { OwnModes } from '../own-modes.js';
import type { SignIn } from '../sign-ins.js';
import { tokenAnswer, tokenFailures } from '../token-endpoint.js';
import { DAY_MS, isObject, type JsonObject, MINUTE_MS, objectOf, parseJson } from '../values.js';

const TOKEN_PATH = '/oauth/v2/accessToken';
const EVENTS_PATH = '/rest/conversionEvents';
const ELEMENTS_MAX = 5_000;
const AGE_MAX_MS = 90 * DAY_MS;
const AHEAD_MAX_MS = 5 * MINUTE_MS;
const VERSION = /^20\d\d(0[1-9]|1[0-2])$/;
/** Fixed, so that the answers of the sandbox do not depend on the date. */
const OLDEST_VERSION = '202511';
const CONVERSION = /^urn:lla:llaPartnerConversion:\d+$/;
const CLICK_ID_TYPE = 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID';
const ID_TYPES = ['SHA256_EMAIL', CLICK_ID_TYPE, 'ACXIOM_ID', 'AXCIOM_ID', 'ORACLE_MOAT_ID'];
const ELEMENT_FIELDS = new Set(['conversion', 'conversionHappenedAt', 'conversionValue', 'eventId', 'user']);
const USER_FIELDS = new Set(['userIds', 'userInfo', 'externalIds', 'lead']);
const USER_INFO_FIELDS = new Set(['firstName', 'lastName', 'title', 'companyName', 'countryCode']);

/** A problem of one element, with a path in LinkedIn's notation such as `/user/userIds`. */
interface Fault {
  readonly path: string;
  readonly problem: string;
}

export const double: PlatformDouble = {
  name: 'linkedin',

  callKind({ path }): CallKind {
    return path === TOKEN_PATH ? 'token' : 'events';
  },

  answer(request): SandboxAnswer {
    if (request.path === TOKEN_PATH) return tokenAnswer(request);
    if (request.path !== EVENTS_PATH) return failure(404, 'RESOURCE_NOT_FOUND', 'No virtual resource found.');
    const refusal = credentialFailure(bearerToken(request));
    if (refusal) return fail(refusal, request);
    const wrongHeader = headerFailure(request);
    if (wrongHeader) return wrongHeader;
    if (request.method !== 'POST') return failure(405, 'METHOD_NOT_ALLOWED', 'Use POST.');
    return conversionsAnswer(request);
  },

  fail,
  control: (request, memory) => modes.control(request, memory),
};

/** `other_method`: the conversion rules were made for the Insight Tag. */
const modes = new OwnModes('linkedin', ['other_method']);

function incorrect(elements: readonly unknown[], problem: string): SandboxAnswer {
  const indices = elements.map((_, index) => index).join(', ');
  const message = `Incorrect conversions information provided. ${problem}, indices [${indices}] (0-indexed)`;
  return { ...jsonAnswer(400, { status: 400, message }), received: received(elements, [], false) };
}

function fail(kind: FailureKind, request: SandboxRequest): SandboxAnswer {
  if (request.path === TOKEN_PATH) return tokenFailures[kind](request);
  const elements = elementsOf(parseJson(request.body));
  switch (kind) {
    case 'refuse':
      return incorrect(elements, 'Conversion is not enabled');
    case 'refuse_one':
      return unprocessable(elements, [[{ path: '/conversion', problem: 'is not active' }]]);
    case 'throttle':
      return failure(
        429,
        'TOO_MANY_REQUESTS',
        'Resource level throttle limit for calls to this resource is reached.',
        101,
      );
    case 'server_error':
      return failure(500, 'INTERNAL_SERVER_ERROR', 'Internal Server Error');
    case 'unauthorized':
      return failure(401, 'INVALID_ACCESS_TOKEN', 'Invalid access token', 65_600);
    case 'forbidden':
      return failure(403, 'ACCESS_DENIED', 'Not enough permissions to access: conversionEvents.CREATE', 100);
  }
}

export function headerFailure({ headers }: SandboxRequest): SandboxAnswer | undefined {
  const version = headers['linkedin-version'];
  if (version === undefined)
    return failure(400, 'VERSION_MISSING', 'A version must be present. Please specify a version.');
  if (!VERSION.test(version)) return failure(400, 'ILLEGAL_ARGUMENT', 'The version is not of the form YYYYMM.');
  if (version < OLDEST_VERSION) {
    return failure(426, 'NONEXISTENT_VERSION', `Requested version ${version} is not active.`);
  }
  if (headers['x-restli-protocol-version'] !== '2.0.0') {
    return failure(400, 'ILLEGAL_ARGUMENT', 'X-Restli-Protocol-Version must be 2.0.0.');
  }
  return undefined;
}

/** The body is one element, or a batch of them if the method header is BATCH_CREATE. */
function conversionsAnswer(request: SandboxRequest): SandboxAnswer {
  const body = isJsonContentType(request) ? parseJson(request.body) : undefined;
  if (!isObject(body)) return failure(400, 'ILLEGAL_ARGUMENT', 'The body is not JSON.');
  const isBatch = request.headers['x-restli-method']?.toUpperCase() === 'BATCH_CREATE';
  if (isBatch !== Array.isArray(body['elements'])) {
    return failure(
      400,
      'ILLEGAL_ARGUMENT',
      'X-RestLi-Method: BATCH_CREATE and a list "elements" must be used together.',
    );
  }
  const elements = elementsOf(body);
  if (modes.take('other_method', request.memory))
    return incorrect(elements, "Conversion's method should be CONVERSIONS_API");
  if (elements.length === 0 || elements.length > ELEMENTS_MAX) {
    const refusal = failure(400, 'ILLEGAL_ARGUMENT', `A batch must have 1 to ${ELEMENTS_MAX} elements.`);
    return { ...refusal, received: received(elements, [], false) };
  }
  const faults = elements.map((element) => faultsOf(element, request.nowMs));
  if (faults.some((ofOne) => ofOne.length > 0)) return unprocessable(elements, faults);
  const accepted = received(elements, [], true);
  if (!isBatch) return { status: 201, body: '', received: accepted };
  return jsonAnswer(200, { elements: elements.map(() => ({ status: 201 })) }, accepted);
}

function elementsOf(body: unknown): readonly unknown[] {
  if (!isObject(body)) return [];
  return Array.isArray(body['elements']) ? (body['elements'] as unknown[]) : [body];
}

function faultsOf(element: unknown, nowMs: number): Fault[] {
  const faults: Fault[] = [];
  const add = (path: string, problem: string | undefined) => {
    if (problem !== undefined) faults.push({ path, problem });
  };
  if (!isObject(element)) return [{ path: '/', problem: 'is not an object' }];
  const { conversion, conversionHappenedAt, conversionValue, eventId } = element;
  checkNames(add, '', element, ELEMENT_FIELDS);
  if (typeof conversion !== 'string' || !CONVERSION.test(conversion)) add('/conversion', 'is not a conversion rule');
  const limits = { nowMs, ageMaxMs: AGE_MAX_MS, aheadMaxMs: AHEAD_MAX_MS };
  add('/conversionHappenedAt', check.unixMillis(limits)(conversionHappenedAt));
  if (eventId !== undefined) add('/eventId', check.text(eventId));
  if (conversionValue !== undefined) {
    const { amount, currencyCode } = objectOf(conversionValue);
    add('/conversionValue/amount', check.amountText(amount));
    add('/conversionValue/currencyCode', check.currency(currencyCode));
  }
  checkUser(add, element['user']);
  return faults;
}

type Add = (path: string, problem: string | undefined) => void;

function checkNames(add: Add, path: string, value: JsonObject, known: ReadonlySet<string>): void {
  for (const name of Object.keys(value)) {
    if (!known.has(name)) add(`${path}/${name}`, 'is an unrecognized field and not allowed');
  }
}

function checkUser(add: Add, user: unknown): void {
  if (!isObject(user)) {
    add('/user', 'is missing');
    return;
  }
  checkNames(add, '/user', user, USER_FIELDS);
  const { userIds, userInfo, externalIds } = user;
  if (Array.isArray(userIds)) {
    userIds.forEach((id, index) => {
      checkUserId(add, `/user/userIds/${index}`, id);
    });
  } else add('/user/userIds', 'is missing: it is required even when it is empty');
  if (userInfo !== undefined) checkUserInfo(add, userInfo);
  else if (Array.isArray(userIds) && userIds.length === 0) add('/user', 'has neither ids nor a name');
  if (externalIds === undefined) return;
  if (!Array.isArray(externalIds) || externalIds.length > 1) add('/user/externalIds', 'is not a list of at most one');
  else if (externalIds.length === 1) add('/user/externalIds/0', check.text(externalIds[0]));
}

function checkUserId(add: Add, path: string, id: unknown): void {
  const { idType, idValue } = objectOf(id);
  add(`${path}/idType`, check.oneOf(ID_TYPES)(idType));
  const checkId = idType === 'SHA256_EMAIL' ? check.hash : idType === CLICK_ID_TYPE ? check.raw : check.text;
  add(`${path}/idValue`, checkId(idValue));
}

function checkUserInfo(add: Add, info: unknown): void {
  if (!isObject(info)) {
    add('/user/userInfo', 'is not an object');
    return;
  }
  checkNames(add, '/user/userInfo', info, USER_INFO_FIELDS);
  add('/user/userInfo/firstName', check.raw(info['firstName']));
  add('/user/userInfo/lastName', check.raw(info['lastName']));
}

/** One invalid element makes LinkedIn refuse the whole batch; the message contains its index. */
function unprocessable(elements: readonly unknown[], faults: readonly (readonly Fault[])[]): SandboxAnswer {
  const message = faults
    .map((ofOne, index) =>
      ofOne.length === 0
        ? ''
        : `Index: ${index}, ${ofOne.map(({ path, problem }) => `ERROR :: ${path} :: ${problem}\n`).join('')}`,
    )
    .join('');
  return jsonAnswer(422, { status: 422, message }, received(elements, faults, false));
}

function received(
  elements: readonly unknown[],
  faults: readonly (readonly Fault[])[],
  accepted: boolean,
): ReceivedItem[] {
  return elements.map((element, index) => {
    const { eventId, conversion } = objectOf(element);
    const problems = (faults[index] ?? []).map(({ path, problem }) => `${path} ${problem}`);
    // The same conversion may be sent for several rules.
    const dedupKey = `${conversion} ${eventId}`;
    return receivedItem(element, { eventId, event: conversion, problems, accepted, dedupKey });
  });
}

function failure(status: number, code: string, message: string, serviceErrorCode?: number): SandboxAnswer {
  return jsonAnswer(status, { status, ...(serviceErrorCode === undefined ? {} : { serviceErrorCode }), code, message });
}

export const signIn: SignIn = {
  consentPath: '/oauth/v2/authorization',
  consent: { required: { response_type: 'code' }, scopes: { names: ['rw_conversions', 'r_ads'], separator: ' ' } },
};
