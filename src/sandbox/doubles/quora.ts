import { bearerToken, credentialFailure, isJsonContentType, receivedItems } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { type CheckedItem, type FieldChecks, problemsOf } from '../field-checks.js';
import { HOUR_MS, isObject, isSha256Hex, objectOf, parseJson } from '../values.js';

const EVENT_NAMES = [
  ...['Generic', 'AppInstall', 'Purchase', 'GenerateLead', 'CompleteRegistration'],
  ...['AddPaymentInfo', 'AddToCart', 'AddToWishlist', 'InitiateCheckout', 'Search'],
];
const USER = new Set(
  'email phone_number name ip country region city postal_code company_name job_title date_of_birth'.split(' '),
);
const DEVICE = new Set(['mobile_device_id', 'user_agent', 'referer', 'language']);
const CONVERSION = new Set(['event_name', 'timestamp', 'value', 'event_id', 'click_id']);
const RETRY_AFTER_SECONDS = '1';

/** Quora's `POST /ads/v0/conversion`: https://www.quora.com/ads/conversion_api_doc. It answers with text. */
export const double: PlatformDouble = {
  name: 'quora',

  answer(request) {
    if (request.path !== '/ads/v0/conversion') return text(404, 'Not found');
    if (request.method !== 'POST') return text(405, 'Method not allowed');
    const failure = credentialFailure(bearerToken(request));
    if (failure) return failures[failure](request);
    const items = itemsOf(request);
    if (items.some(({ problems }) => problems.length > 0)) return invalid(request);
    return text(
      200,
      'OK',
      receivedItems(items, identify, () => true),
    );
  },

  fail: (kind, request) => failures[kind](request),
};

const invalid = (request: SandboxRequest) => text(400, 'Invalid request', refusedItems(request));

const failures: FailureAnswers = {
  refuse: invalid,
  refuse_one: invalid,
  throttle: (request) => {
    const answer = text(429, 'Too many requests', refusedItems(request));
    return { ...answer, headers: { ...answer.headers, 'retry-after': RETRY_AFTER_SECONDS } };
  },
  server_error: (request) => text(500, 'Internal error', refusedItems(request)),
  unauthorized: (request) => text(401, 'Unauthorized', refusedItems(request)),
  forbidden: (request) => text(403, 'Forbidden', refusedItems(request)),
};

function text(status: number, body: string, received?: readonly ReceivedItem[]): SandboxAnswer {
  return { status, headers: { 'content-type': 'text/plain' }, body, ...(received && { received }) };
}

function identify(item: Readonly<Record<string, unknown>>) {
  const { event_id: eventId, event_name: event } = objectOf(item['conversion']);
  return { eventId, event };
}

function refusedItems(request: SandboxRequest): readonly ReceivedItem[] {
  return receivedItems(itemsOf(request), identify, () => false);
}

function itemsOf(request: SandboxRequest): CheckedItem[] {
  const item = parseJson(request.body);
  const ofRequest = isJsonContentType(request) ? [] : ['content-type is not application/json'];
  const problems = isObject(item) ? problemsOf('event', item, (event) => checkEvent(event, request.nowMs)) : [];
  return [{ item, problems: [...ofRequest, ...problems, ...(isObject(item) ? [] : ['is no object'])], warnings: [] }];
}

function checkEvent(event: FieldChecks, nowMs: number): void {
  event.required('account_id', check.count);
  const conversion = event.object('conversion', 'required');
  conversion?.known(CONVERSION);
  conversion?.required('event_name', check.oneOf(EVENT_NAMES));
  conversion?.optional('timestamp', (value) => microsecondsProblem(value, nowMs));
  conversion?.optional('value', check.number);
  conversion?.optional('event_id', check.text);
  conversion?.optional('click_id', check.raw);
  const user = event.object('user', 'required');
  user?.known(USER);
  user?.optional('email', emailProblem);
  user?.optional('ip', check.ip);
  const device = event.object('device', 'required');
  device?.known(DEVICE);
  device?.optional('user_agent', check.raw);
  device?.optional('referer', check.url);
}

function microsecondsProblem(value: unknown, nowMs: number): string | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1e15)
    return 'is not a Unix time in microseconds';
  return value / 1_000 > nowMs + HOUR_MS ? 'is in the future' : undefined;
}

/** Plain, or as a digest. */
function emailProblem(value: unknown): string | undefined {
  return check.text(value) ?? (isSha256Hex(value) || String(value).includes('@') ? undefined : 'is no email address');
}
