import { randomUUID } from 'node:crypto';
import {
  amountTextProblem,
  countProblem,
  credentialOf,
  hashProblem,
  ipProblem,
  isJsonContentType,
  isObject,
  isoTimeProblem,
  isText,
  type JsonObject,
  jsonAnswer,
  note,
  noteIfGiven,
  numberProblem,
  parseJson,
  rawProblem,
  receivedItem,
  SECOND_MS,
  textProblem,
} from '../checks.js';
import type { FailureKind, PlatformDouble, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';

const PATH = /^\/\d+\/measurement\/conversions\/\w+$/;
const CONVERSIONS_MAX = 500;
/** The event as it was made in the account: its id alone, or with the pixel's before it. */
const EVENT_ID = /^(tw-[a-z0-9]+-)?[a-z0-9]+$/;
const UTC = /(Z|[+-]00:00)$/;
const OAUTH_TOKEN = /^OAuth .*\boauth_token="([^"]*)"/;
/** How long the ordered throttling says it lasts: tests wait for it. */
const THROTTLED_MS = SECOND_MS;

const IDENTIFIER_CHECKS: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  twclid: rawProblem,
  hashed_email: hashProblem,
  hashed_phone_number: hashProblem,
  ip_address: ipProblem,
  user_agent: rawProblem,
};

/** X's Conversion API: an error refuses the whole call and does not say which conversion it was. */
export const x: PlatformDouble = {
  name: 'x',

  answer(request) {
    if (!PATH.test(request.path)) return refused(404, { code: 'ROUTE_NOT_FOUND', message: 'The route is not known' });
    if (request.method !== 'POST') return refused(405, { code: 'METHOD_NOT_ALLOWED', message: 'Use POST' });
    switch (credentialOf(tokenOf(request))) {
      case 'missing':
      case 'bad':
        return refused(401, UNAUTHORIZED);
      case 'forbidden':
        return refused(403, FORBIDDEN);
    }
    const body = parseJson(request.body);
    const problem = isJsonContentType(request) ? envelopeProblem(body) : 'content-type is not application/json';
    if (problem !== undefined) return refused(400, errorOf(problem));

    const judged = judge(body, request.nowMs);
    const errors = judged.flatMap(({ problems }) => problems).map(errorOf);
    const received = judged.map((one) => noted(one, errors.length === 0));
    return errors.length === 0 ? processed(received) : jsonAnswer(400, { errors, request: REQUEST }, received);
  },

  fail(kind, request) {
    return failures[kind](request);
  },
};

const REQUEST = { params: { account_id: 'sandbox' } };
const UNAUTHORIZED = { code: 'UNAUTHORIZED_ACCESS', message: 'This request is not properly authenticated' };
const FORBIDDEN = { code: 'UNAUTHORIZED_CLIENT_APPLICATION', message: 'No access to this account' };

const failures: Record<FailureKind, (request: SandboxRequest) => SandboxAnswer> = {
  refuse: (request) => refused(400, errorOf('conversions is not valid'), leftOut(request)),
  refuse_one: (request) => refused(400, errorOf('event_id is not an event of this pixel'), leftOut(request)),
  throttle: (request) => {
    const answer = refused(429, { code: 'TOO_MANY_REQUESTS', message: 'Rate limit exceeded' });
    const reset = String(Math.ceil((request.nowMs + THROTTLED_MS) / SECOND_MS));
    return {
      ...answer,
      headers: { ...answer.headers, 'x-rate-limit-reset': reset, 'x-account-rate-limit-reset': reset },
    };
  },
  server_error: () => refused(500, { code: 'INTERNAL_ERROR', message: 'An internal error occurred' }),
  unauthorized: () => refused(401, UNAUTHORIZED),
  forbidden: () => refused(403, FORBIDDEN),
};

function processed(received: readonly ReceivedItem[]): SandboxAnswer {
  const data = { conversions_processed: received.length, debug_id: randomUUID() };
  return jsonAnswer(200, { request: REQUEST, data }, received);
}

function refused(status: number, error: JsonObject, received?: readonly ReceivedItem[]): SandboxAnswer {
  return jsonAnswer(status, { errors: [error], request: REQUEST }, received);
}

/** The field without the index of anything around it, as X names parameters. */
function errorOf(problem: string): JsonObject {
  const [parameter = '', ...rest] = problem.split(' ');
  const details = rest.join(' ');
  const code = details === 'is missing' ? 'MISSING_PARAMETER' : 'INVALID_PARAMETER';
  return { code, parameter, message: problem, details };
}

/** The pixel's own token, or that of OAuth 1.0a; its signature is not checked. */
function tokenOf({ headers }: SandboxRequest): string | undefined {
  return headers['x-pixel-token'] ?? OAUTH_TOKEN.exec(headers['authorization'] ?? '')?.[1];
}

function envelopeProblem(body: unknown): string | undefined {
  if (!isObject(body)) return 'body is not a JSON object';
  const { conversions } = body;
  if (!Array.isArray(conversions))
    return conversions === undefined ? 'conversions is missing' : 'conversions is not a list';
  if (conversions.length === 0) return 'conversions is empty';
  return conversions.length > CONVERSIONS_MAX ? `conversions has more than ${CONVERSIONS_MAX} elements` : undefined;
}

interface Judged {
  readonly conversion: unknown;
  /** Each of them is an error. */
  readonly problems: readonly string[];
  /** What X takes without a word, and yet should not be. */
  readonly remarks: readonly string[];
}

function judge(body: unknown, nowMs: number): readonly Judged[] {
  const conversions: readonly unknown[] =
    isObject(body) && Array.isArray(body['conversions']) ? body['conversions'] : [];
  return conversions.map((conversion) => ({
    conversion,
    problems: problemsOf(conversion, nowMs),
    remarks:
      isObject(conversion) && conversion['conversion_id'] === undefined
        ? ['conversion_id is missing, so that repeats cannot be told']
        : [],
  }));
}

function noted({ conversion, problems, remarks }: Judged, taken: boolean): ReceivedItem {
  const { conversion_id: eventId, event_id: event } = isObject(conversion) ? conversion : {};
  return receivedItem(conversion, {
    eventId,
    event,
    problems: [...problems, ...remarks],
    taken,
    ...(isText(eventId) ? { dedupKey: `${event} ${eventId}` } : {}),
  });
}

function leftOut(request: SandboxRequest): readonly ReceivedItem[] {
  return judge(parseJson(request.body), request.nowMs).map((one) => noted(one, false));
}

function problemsOf(conversion: unknown, nowMs: number): readonly string[] {
  if (!isObject(conversion)) return ['conversion is not an object'];
  const problems: string[] = [];
  note(problems, 'conversion_time', timeProblem(conversion['conversion_time'], nowMs));
  note(problems, 'event_id', eventIdProblem(conversion['event_id']));
  noteIfGiven(problems, 'conversion_id', conversion['conversion_id'], textProblem);
  noteIfGiven(problems, 'value', conversion['value'], amountTextProblem);
  noteIfGiven(problems, 'number_items', conversion['number_items'], countProblem);
  noteIfGiven(problems, 'description', conversion['description'], textProblem);
  noteIdentifiers(problems, conversion['identifiers']);
  noteContents(problems, conversion['contents']);
  return problems;
}

function timeProblem(value: unknown, nowMs: number): string | undefined {
  return isoTimeProblem(value, { nowMs }) ?? (UTC.test(value as string) ? undefined : 'is not in UTC');
}

function eventIdProblem(value: unknown): string | undefined {
  return textProblem(value) ?? (EVENT_ID.test(value as string) ? undefined : 'is not the id of an event');
}

function noteIdentifiers(problems: string[], identifiers: unknown): void {
  if (!Array.isArray(identifiers)) {
    problems.push(identifiers === undefined ? 'identifiers is missing' : 'identifiers is not a list');
    return;
  }
  if (identifiers.length === 0) problems.push('identifiers is empty');
  for (const [index, identifier] of identifiers.entries()) {
    const field = `identifiers.${index}`;
    if (isObject(identifier)) noteIdentifier(problems, field, identifier);
    else problems.push(`${field} is not an object`);
  }
}

function noteIdentifier(problems: string[], field: string, identifier: JsonObject): void {
  const names = Object.keys(identifier);
  for (const name of names) {
    const check = Object.hasOwn(IDENTIFIER_CHECKS, name) ? IDENTIFIER_CHECKS[name] : undefined;
    if (check === undefined) problems.push(`${field}.${name} is not a known identifier`);
    else note(problems, `${field}.${name}`, check(identifier[name]));
  }
  if (names.length === 0) problems.push(`${field} is empty`);
  // Either one means something only beside another.
  const [only, ...others] = names;
  if (others.length === 0 && (only === 'ip_address' || only === 'user_agent')) {
    problems.push(`${field}.${only} stands alone`);
  }
}

function noteContents(problems: string[], contents: unknown): void {
  if (contents === undefined) return;
  if (!Array.isArray(contents)) {
    problems.push('contents is not a list');
    return;
  }
  for (const [index, content] of contents.entries()) {
    const field = `contents.${index}`;
    const { content_id: id, content_price: price, num_items: items } = isObject(content) ? content : {};
    noteIfGiven(problems, `${field}.content_id`, id, textProblem);
    noteIfGiven(problems, `${field}.content_price`, price, numberProblem);
    noteIfGiven(problems, `${field}.num_items`, items, countProblem);
    if (!isObject(content)) problems.push(`${field} is not an object`);
  }
}
