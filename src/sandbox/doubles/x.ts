import { randomUUID } from 'node:crypto';
import { credentialFailure, isJsonContentType, jsonAnswer, receivedItems, withHeaders } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { type CheckedItem, type FieldChecks, missingIdWarning, problemsOf } from '../field-checks.js';
import { isObject, type JsonObject, listIn, objectOf, parseJson, SECOND_MS } from '../values.js';

const PATH = /^\/\d+\/measurement\/conversions\/\w+$/;
const CONVERSIONS_MAX = 500;
/** The id of an event in the account, with or without the prefix of its pixel. */
const EVENT_ID = /^(tw-[a-z0-9]+-)?[a-z0-9]+$/;
const UTC = /(Z|[+-]00:00)$/;
const OAUTH_TOKEN = /^OAuth .*\boauth_token="([^"]*)"/;
/** The rate limit window that a throttled answer reports; short, because tests wait for it. */
const THROTTLED_MS = SECOND_MS;

const IDENTIFIER_CHECKS: Readonly<Record<string, check.Check>> = {
  twclid: check.raw,
  hashed_email: check.hash,
  hashed_phone_number: check.hash,
  ip_address: check.ip,
  user_agent: check.raw,
};

/** X's Conversion API: an error refuses the whole request and does not identify the conversion. */
export const double: PlatformDouble = {
  name: 'x',

  answer(request) {
    if (!PATH.test(request.path)) return refused(404, { code: 'ROUTE_NOT_FOUND', message: 'The route is not known' });
    if (request.method !== 'POST') return refused(405, { code: 'METHOD_NOT_ALLOWED', message: 'Use POST' });
    const failure = credentialFailure(tokenOf(request));
    if (failure) return failures[failure](request);
    const body = parseJson(request.body);
    const problem = isJsonContentType(request) ? envelopeProblem(body) : 'content-type is not application/json';
    if (problem !== undefined) return refused(400, errorOf(problem));

    const checked = checkedConversions(request);
    const errors = checked.flatMap(({ problems }) => problems).map(errorOf);
    const received = receivedConversions(checked, errors.length === 0);
    return errors.length === 0 ? processed(received) : jsonAnswer(400, { errors, request: REQUEST }, received);
  },

  fail: (kind, request) => failures[kind](request),
};

const REQUEST = { params: { account_id: 'sandbox' } };

const failures: FailureAnswers = {
  refuse: (request) => refused(400, errorOf('conversions is not valid'), refusedConversions(request)),
  refuse_one: (request) => refused(400, errorOf('event_id is not an event of this pixel'), refusedConversions(request)),
  throttle: ({ nowMs }) => {
    const reset = String(Math.ceil((nowMs + THROTTLED_MS) / SECOND_MS));
    const answer = refused(429, { code: 'TOO_MANY_REQUESTS', message: 'Rate limit exceeded' });
    return withHeaders(answer, { 'x-rate-limit-reset': reset, 'x-account-rate-limit-reset': reset });
  },
  server_error: () => refused(500, { code: 'INTERNAL_ERROR', message: 'An internal error occurred' }),
  unauthorized: () =>
    refused(401, { code: 'UNAUTHORIZED_ACCESS', message: 'This request is not properly authenticated' }),
  forbidden: () => refused(403, { code: 'UNAUTHORIZED_CLIENT_APPLICATION', message: 'No access to this account' }),
};

function processed(received: readonly ReceivedItem[]): SandboxAnswer {
  const data = { conversions_processed: received.length, debug_id: randomUUID() };
  return jsonAnswer(200, { request: REQUEST, data }, received);
}

function refused(status: number, error: JsonObject, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(status, { errors: [error], request: REQUEST }, received);
}

/** X names the parameter without the index of the conversion. */
function errorOf(problem: string): JsonObject {
  const [parameter = '', ...rest] = problem.split(' ');
  const details = rest.join(' ');
  const code = details === 'is missing' ? 'MISSING_PARAMETER' : 'INVALID_PARAMETER';
  return { code, parameter, message: problem, details };
}

/** The token of the pixel or of OAuth 1.0a, whose signature is not verified. */
function tokenOf({ headers }: SandboxRequest): string | undefined {
  return headers['x-pixel-token'] ?? OAUTH_TOKEN.exec(headers['authorization'] ?? '')?.[1];
}

function envelopeProblem(body: unknown): string | undefined {
  return isObject(body)
    ? check.batch('conversions', body['conversions'], CONVERSIONS_MAX)
    : 'body is not a JSON object';
}

function checkedConversions({ body, nowMs }: SandboxRequest): readonly CheckedItem[] {
  return listIn(parseJson(body), 'conversions').map((item) => ({
    item,
    problems: problemsOf('conversion', item, (fields) => checkConversion(fields, nowMs)),
    warnings: missingIdWarning('conversion_id', item, objectOf(item)['conversion_id']),
  }));
}

function receivedConversions(checked: readonly CheckedItem[], accepted: boolean): readonly ReceivedItem[] {
  return receivedItems(
    checked,
    ({ conversion_id, event_id }) => ({ eventId: conversion_id, event: event_id, dedupBy: [event_id] }),
    () => accepted,
  );
}

function refusedConversions(request: SandboxRequest): readonly ReceivedItem[] {
  return receivedConversions(checkedConversions(request), false);
}

function checkConversion(conversion: FieldChecks, nowMs: number): void {
  conversion.required('conversion_time', (value) => {
    return check.isoTime({ nowMs })(value) ?? (UTC.test(value as string) ? undefined : 'is not in UTC');
  });
  conversion.required('event_id', check.format(EVENT_ID, 'is not an event id'));
  conversion.optional('conversion_id', check.text);
  conversion.optional('value', check.amountText);
  conversion.optional('price_currency', check.currency);
  conversion.optional('number_items', positiveCount);
  conversion.optional('description', check.text);
  checkIdentifiers(conversion);
  conversion.each('contents', (content, isAnObject) => {
    content.known(CONTENT_FIELDS);
    content.allOptional(['content_id', 'content_name', 'content_type', 'content_group_id'], check.text);
    content.optional('content_price', check.number);
    content.optional('num_items', positiveCount);
    if (!isAnObject) content.addOwn('is not an object');
  });
}

const CONTENT_FIELDS = new Set([
  ...['content_id', 'content_name', 'content_type', 'content_price', 'num_items', 'content_group_id'],
]);

function positiveCount(value: unknown): string | undefined {
  return check.count(value) ?? (value === 0 ? 'is zero' : undefined);
}

function checkIdentifiers(conversion: FieldChecks): void {
  const { identifiers } = conversion.value;
  if (identifiers === undefined) conversion.add('identifiers', 'is missing');
  if (Array.isArray(identifiers) && identifiers.length === 0) conversion.add('identifiers', 'is empty');
  conversion.each('identifiers', (identifier, isAnObject) => {
    if (isAnObject) checkIdentifier(identifier);
    else identifier.addOwn('is not an object');
  });
}

function checkIdentifier(identifier: FieldChecks): void {
  const names = Object.keys(identifier.value);
  for (const name of names) {
    const checkOf = Object.hasOwn(IDENTIFIER_CHECKS, name) ? IDENTIFIER_CHECKS[name] : undefined;
    if (checkOf === undefined) identifier.add(name, 'is not a known identifier');
    else identifier.required(name, checkOf);
  }
  if (names.length === 0) identifier.addOwn('is empty');
  const [only, ...others] = names;
  if (others.length === 0 && (only === 'ip_address' || only === 'user_agent')) {
    identifier.add(only, 'requires another identifier');
  }
}
