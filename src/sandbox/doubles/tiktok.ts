import { randomUUID } from 'node:crypto';
import { credentialOf, type ItemIdentity, isJsonContentType, jsonAnswer, receivedItems } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { type CheckedItem, FieldChecks, missingIdWarning, problemsOf } from '../field-checks.js';
import { issueTokens, takeGrant } from '../grants.js';
import { OwnModes } from '../own-modes.js';
import type { SignIn } from '../sign-ins.js';
import { DAY_MS, HOUR_MS, isObject, isText, type JsonObject, listIn, objectOf, parseJson } from '../values.js';

/** The trailing slash is part of the path. */
const PATH = '/open_api/v1.3/event/track/';
const EVENTS_MAX = 1_000;
const EVENT_SOURCES = ['web', 'app', 'offline', 'crm'];
/** For the sources whose limit is documented. */
const AGE_MAX_MS: Readonly<Record<string, number>> = { web: 7 * DAY_MS, offline: 28 * DAY_MS };

const HASHED_LISTS = ['email', 'phone', 'external_id'];
const HASHED = ['first_name', 'last_name', 'zip_code'];
const RAW = ['ttclid', 'ttp', 'user_agent', 'locale', 'idfa', 'idfv', 'gaid'];
const COUNTRY = /^[a-z]{2}$/;
const LETTERS_AND_DIGITS = /^[a-z0-9]+$/;
const IDENTIFIERS = ['ttclid', 'ttp', 'email', 'phone', 'external_id', 'idfa', 'idfv', 'gaid'];
/** Fields of version 1 of this API. */
const OBSOLETE = { envelope: ['pixel_code', 'batch'], event: ['context', 'timestamp', 'type'], user: ['phone_number'] };
const CURRENCIES = new Set(
  (
    'AED ARS AUD BDT BHD BIF BOB BRL CAD CHF CLP CNY COP CRC CZK DKK DZD EGP EUR GBP GTQ HKD HNL HUF IDR ILS INR ' +
    'ISK JPY KES KHR KRW KWD KZT MAD MOP MXN MYR NGN NIO NOK NZD OMR PEN PHP PKR PLN PYG QAR RON RUB SAR SEK SGD ' +
    'THB TRY TWD UAH USD VES VND ZAR'
  ).split(' '),
);

const OK = 0;
const PARTIAL = 20001;
const NO_PERMISSION = 40001;
const INVALID = 40002;
const TOO_MANY_REQUESTS = 40100;
const TOKEN_MISSING = 40104;
const TOKEN_WRONG = 40105;
const SYSTEM_ERROR = 50000;

/** TikTok's messages for the most frequent problems. */
const MESSAGES = [
  [/ is missing$/, ': Missing data for required field'],
  [/ is not a string$/, ': Not a valid string'],
  [/ is not a number$/, ': Not a valid number'],
] as const;

/** TikTok's Events API 2.0: every answer of the application is HTTP 200, and `code` contains the result. */
export const double: PlatformDouble = {
  name: 'tiktok',
  dedupWindowMs: 48 * HOUR_MS,

  answer(request) {
    if (request.path !== PATH) return { status: 404, body: '404 page not found' };
    if (request.method !== 'POST') return { status: 405, headers: { allow: 'POST' }, body: '405 method not allowed' };
    switch (credentialOf(request.headers['access-token'])) {
      case 'missing':
        return tokenMissing();
      case 'bad':
        return failures.unauthorized(request);
      case 'forbidden':
        return failures.forbidden(request);
    }
    if (!isJsonContentType(request)) return applicationAnswer(INVALID, 'Content-Type must be application/json');
    const problem = envelopeProblem(parseJson(request.body));
    if (problem !== undefined) return applicationAnswer(INVALID, messageOf(problem));

    const checked = checkedEvents(request);
    const firstInvalid = checked.findIndex(({ problems }) => problems.length > 0);
    const received = receivedEvents(checked, firstInvalid === -1);
    if (firstInvalid === -1) return applicationAnswer(OK, 'OK', received);
    if (checked.length > 1 && modes.take('partial', request.memory)) return partialSuccess(checked);
    const message = messageOf(checked[firstInvalid]?.problems[0] ?? '');
    return applicationAnswer(INVALID, `Batch.${firstInvalid}.${message}`, received);
  },

  fail: (kind, request) => failures[kind](request),
  control: (request, memory) => modes.control(request, memory),
};

/** `partial`: of a batch, the valid events are accepted, and the answer does not say which ones those are. */
const modes = new OwnModes('tiktok', ['partial']);

function partialSuccess(checked: readonly CheckedItem[]): SandboxAnswer {
  const received = receivedItems(checked, identityOf, ({ problems }) => problems.length === 0);
  return applicationAnswer(PARTIAL, 'Partial success.', received);
}

const failures: FailureAnswers = {
  refuse: (request) => applicationAnswer(INVALID, 'Invalid parameter.', refusedEvents(request)),
  refuse_one: (request) =>
    applicationAnswer(INVALID, 'Batch.0.properties.contents.0.content_id: Not a valid string', refusedEvents(request)),
  throttle: () => applicationAnswer(TOO_MANY_REQUESTS, 'Too many requests. Please retry in some time.'),
  server_error: () => applicationAnswer(SYSTEM_ERROR, 'System error. Please retry in some time.'),
  unauthorized: () => applicationAnswer(TOKEN_WRONG, 'Access token is incorrect or has been revoked.'),
  forbidden: (request) => {
    const { event_source_id: pixel } = objectOf(parseJson(request.body));
    const advice = 'You must be an admin or operator of this advertiser account.';
    const message = `No permission to operate pixel code: ${isText(pixel) ? pixel : ''}. ${advice}`;
    return applicationAnswer(NO_PERMISSION, message);
  },
};

function applicationAnswer(code: number, message: string, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(200, { code, message, request_id: randomUUID(), data: {} }, received);
}

function tokenMissing(): SandboxAnswer {
  const message = 'Access token is null, you should set it in http header with key Access-Token.';
  return applicationAnswer(TOKEN_MISSING, message);
}

function messageOf(problem: string): string {
  for (const [ours, theirs] of MESSAGES) if (ours.test(problem)) return problem.replace(ours, theirs);
  return problem.replace(' ', ': ');
}

function envelopeProblem(body: unknown): string | undefined {
  if (!isObject(body)) return 'body is not a JSON object';
  const envelope = new FieldChecks(body);
  envelope.obsolete(OBSOLETE.envelope);
  envelope.required('event_source', check.oneOf(EVENT_SOURCES));
  envelope.required('event_source_id', check.text);
  envelope.optional('test_event_code', check.text);
  envelope.optional('partner_name', check.text);
  return envelope.problems[0] ?? check.batch('data', body['data'], EVENTS_MAX);
}

function checkedEvents({ body, nowMs }: SandboxRequest): readonly CheckedItem[] {
  const envelope = parseJson(body);
  const events = listIn(envelope, 'data');
  const { event_source: source, test_event_code: testCode } = objectOf(envelope);
  const isBatchedTest = testCode !== undefined && events.length > 1;
  return events.map((item) => ({
    item,
    problems: problemsOf('event', item, (fields) => checkEvent(fields, source, nowMs)),
    warnings: [
      ...missingIdWarning('event_id', item, objectOf(item)['event_id']),
      ...(isBatchedTest ? ['test_event_code is for one event at a time'] : []),
    ],
  }));
}

function receivedEvents(checked: readonly CheckedItem[], accepted: boolean): readonly ReceivedItem[] {
  return receivedItems(checked, identityOf, () => accepted);
}

function identityOf({ event_id, event }: JsonObject): ItemIdentity {
  return { eventId: event_id, event, dedupBy: [event] };
}

function refusedEvents(request: SandboxRequest): readonly ReceivedItem[] {
  return receivedEvents(checkedEvents(request), false);
}

function checkEvent(event: FieldChecks, source: unknown, nowMs: number): void {
  event.obsolete(OBSOLETE.event);
  event.required('event', check.text);
  event.required('event_time', check.unixSeconds({ nowMs, ageMaxMs: AGE_MAX_MS[String(source)] }));
  event.optional('event_id', check.text);
  const user = event.object('user', 'nullable');
  const { lead_id } = objectOf(event.value['lead']);
  if (user) checkUser(user, source === 'crm' && isText(lead_id));
  const properties = event.object('properties');
  if (properties) checkProperties(properties);
  const page = event.object('page');
  page?.optional('url', check.url);
  page?.optional('referrer', check.text);
  event.optional('limited_data_use', check.boolean);
}

function checkUser(user: FieldChecks, isKnownLead: boolean): void {
  user.obsolete(OBSOLETE.user);
  user.allOptional(HASHED_LISTS, (value) => (Array.isArray(value) ? check.hashList(value) : check.hash(value)));
  user.allOptional(HASHED, check.hash);
  user.allOptional(RAW, check.raw);
  user.allOptional(['city', 'state'], lowerCase(LETTERS_AND_DIGITS, 'has more than letters and digits'));
  user.optional('country', lowerCase(COUNTRY, 'is not a country code'));
  user.optional('ip', check.ip);
  const hasIpAndUserAgent = user.has('ip') && user.has('user_agent');
  if (!isKnownLead && !hasIpAndUserAgent && !user.has(...IDENTIFIERS)) user.addOwn('has no sufficient identifier');
}

/** For a text in lower case and in this format, not hashed. */
function lowerCase(pattern: RegExp, problem: string): check.Check {
  return (value) => {
    if (check.raw(value) !== undefined) return check.raw(value);
    if (value !== (value as string).toLowerCase()) return 'is not in lower case';
    return pattern.test(value as string) ? undefined : problem;
  };
}

function checkProperties(properties: FieldChecks): void {
  properties.optional('value', check.number);
  properties.optional('currency', (value) =>
    CURRENCIES.has(value as string) ? undefined : 'is not a currency that TikTok accepts',
  );
  properties.optional('content_type', check.oneOf(['product', 'product_group']));
  properties.allOptional(['order_id', 'query', 'description'], check.text);
  properties.each('contents', (content) => {
    content.required('content_id', check.text);
    content.allOptional(['content_name', 'content_category', 'brand'], check.text);
    content.optional('quantity', check.units);
    content.optional('price', check.number);
  });
}

export const signIn: SignIn = {
  consentPath: '/portal/auth',
  consent: { required: {}, clientId: 'app_id', code: 'auth_code' },
  token: { path: '/open_api/v1.3/oauth2/access_token/', answer: oauthAnswer },
};

/** JSON with names of TikTok's own, and HTTP 200 whatever the result is. */
function oauthAnswer(request: SandboxRequest): SandboxAnswer {
  const answer = (code: number, message: string, data: object = {}) =>
    jsonAnswer(200, { code, message, request_id: 'sandbox', data });
  const body = isJsonContentType(request) ? objectOf(parseJson(request.body)) : {};
  const { app_id: clientId, secret, auth_code: code } = body;
  if (request.method !== 'POST' || typeof clientId !== 'string' || typeof secret !== 'string')
    return answer(40002, 'app_id: Missing data for required field.');
  if (secret.includes('bad')) return answer(40105, 'The app secret is not valid.');
  const grant = typeof code === 'string' ? takeGrant(request.memory, { code, clientId }) : undefined;
  if (!grant) return answer(40110, 'Auth_code is used or has expired.');
  const { accessToken } = issueTokens(request.memory, grant);
  return answer(0, 'OK', { access_token: accessToken, advertiser_ids: ['7000000000000000001'], scope: [1, 2, 3] });
}
