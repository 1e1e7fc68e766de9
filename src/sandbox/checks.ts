import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import type { ReceivedItem, SandboxAnswer, SandboxRequest } from './double.js';

export type JsonObject = Readonly<Record<string, unknown>>;

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const SHA256_HEX = /^[0-9a-f]{64}$/;
const SHA256_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const CURRENCY = /^[A-Z]{3}$/;
const DECIMAL = /^\d+(\.\d+)?$/;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const TOKEN = /^[\x21-\x7e]+$/;
const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** For keys and the like. Unlike `String` it takes whatever JSON can hold, an object with a `toString` of its own too. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

export function isSha256Hex(value: unknown): value is string {
  return typeof value === 'string' && SHA256_HEX.test(value);
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** Ten digits: from 2001 on, and nothing that is meant in milliseconds. */
export function isUnixSeconds(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1e9 && (value as number) < 1e10;
}

export function isUnixMillis(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1e12 && (value as number) < 1e13;
}

/**
 * The checks below give what is wrong in a few words that follow the field's name, or undefined. They never repeat the
 * value: it may be personal.
 */
export function note(problems: string[], field: string, problem: string | undefined): void {
  if (problem !== undefined) problems.push(`${field} ${problem}`);
}

/** The same for a field that may be left out. */
export function noteIfGiven(
  problems: string[],
  field: string,
  value: unknown,
  check: (value: unknown) => string | undefined,
): void {
  if (value !== undefined) note(problems, field, check(value));
}

export function textProblem(value: unknown, lengthMax = Number.POSITIVE_INFINITY): string | undefined {
  if (value === undefined) return 'is missing';
  if (typeof value !== 'string') return 'is not a text';
  if (value === '') return 'is empty';
  if (value.length > lengthMax) return `is longer than ${lengthMax} characters`;
  return undefined;
}

export function numberProblem(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return isNumber(value) ? undefined : 'is not a number';
}

export function countProblem(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return Number.isInteger(value) && (value as number) >= 0 ? undefined : 'is not a whole number';
}

/** An amount that the platform wants as text, `129.90`. */
export function amountTextProblem(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  if (typeof value !== 'string') return 'is not a text';
  return DECIMAL.test(value) ? undefined : 'is not a decimal number';
}

export function currencyProblem(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return typeof value === 'string' && CURRENCY.test(value)
    ? undefined
    : 'is not a currency of three upper-case letters';
}

export function oneOfProblem(value: unknown, values: readonly string[]): string | undefined {
  if (value === undefined) return 'is missing';
  return values.includes(value as string) ? undefined : `is none of ${values.join(', ')}`;
}

export function hashProblem(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  if (!isSha256Hex(value)) return 'is not a SHA-256 of 64 lower-case hexadecimal digits';
  return value === SHA256_OF_NOTHING ? 'is the hash of nothing' : undefined;
}

/** For fields that must not be hashed: click ids, cookies, user agents. */
export function rawProblem(value: unknown): string | undefined {
  return textProblem(value) ?? (isSha256Hex(value) ? 'is hashed and must not be' : undefined);
}

export function ipProblem(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return typeof value === 'string' && isIP(value) !== 0 ? undefined : 'is not an IP address';
}

export function urlProblem(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)
    ? undefined
    : 'is not an http or https address';
}

/** How far from now a time may lie. Not given: as far as it likes. */
export interface TimeLimits {
  readonly nowMs: number;
  readonly ageMaxMs?: number;
  readonly aheadMaxMs?: number;
}

export function ageProblem(timeMs: number, limits: TimeLimits): string | undefined {
  if (limits.ageMaxMs !== undefined && limits.nowMs - timeMs > limits.ageMaxMs) {
    return `is older than ${Math.round(limits.ageMaxMs / HOUR_MS)} hours`;
  }
  if (limits.aheadMaxMs !== undefined && timeMs - limits.nowMs > limits.aheadMaxMs) return 'lies in the future';
  return undefined;
}

export function unixSecondsProblem(value: unknown, limits: TimeLimits): string | undefined {
  if (value === undefined) return 'is missing';
  return isUnixSeconds(value) ? ageProblem(value * SECOND_MS, limits) : 'is not a unix time in seconds';
}

export function unixMillisProblem(value: unknown, limits: TimeLimits): string | undefined {
  if (value === undefined) return 'is missing';
  return isUnixMillis(value) ? ageProblem(value, limits) : 'is not a unix time in milliseconds';
}

/** RFC 3339, with `Z` or an offset. */
export function isoTimeProblem(value: unknown, limits: TimeLimits): string | undefined {
  if (value === undefined) return 'is missing';
  if (typeof value !== 'string' || !ISO_TIME.test(value)) return 'is not an ISO 8601 time with a zone';
  const timeMs = Date.parse(value);
  return Number.isNaN(timeMs) ? 'is not a time that exists' : ageProblem(timeMs, limits);
}

/** For platforms that refuse what they do not know. */
export function noteUnknown(problems: string[], field: string, value: JsonObject, known: ReadonlySet<string>): void {
  for (const name of Object.keys(value)) {
    if (!known.has(name)) problems.push(`${field === '' ? name : `${field}.${name}`} is not a known property`);
  }
}

/** The body as JSON, undefined when it is none. JSON has no undefined of its own. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

export function isJsonContentType(request: SandboxRequest): boolean {
  return JSON_TYPE.test(request.headers['content-type'] ?? '');
}

export function isFormContentType(request: SandboxRequest): boolean {
  return FORM_TYPE.test(request.headers['content-type'] ?? '');
}

/** The token of an `authorization: Bearer` header. */
export function bearerToken(request: SandboxRequest): string | undefined {
  const header = request.headers['authorization'];
  return header?.startsWith('Bearer ') === true ? header.slice('Bearer '.length) : undefined;
}

export type Credential = 'good' | 'missing' | 'bad' | 'forbidden';

/** Every token is good, except one that says of itself that it is not. */
export function credentialOf(token: string | undefined | null): Credential {
  if (token === undefined || token === null || token === '') return 'missing';
  if (token.includes('bad') || !TOKEN.test(token)) return 'bad';
  return token.includes('forbidden') ? 'forbidden' : 'good';
}

export function jsonAnswer(status: number, body: unknown, received?: readonly ReceivedItem[]): SandboxAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(received === undefined ? {} : { received }),
  };
}

/** What is written down of one conversion. `item` is what the platform counts as one, without the envelope around it. */
export function receivedItem(
  item: unknown,
  about: {
    readonly eventId: unknown;
    readonly event: unknown;
    readonly problems?: readonly string[];
    readonly taken: boolean;
    readonly dedupKey?: string;
  },
): ReceivedItem {
  return {
    eventId: typeof about.eventId === 'string' ? about.eventId : '',
    event: typeof about.event === 'string' ? about.event : '',
    problems: about.problems ?? [],
    taken: about.taken,
    bodySha256: hash('sha256', JSON.stringify(item) ?? ''),
    ...(about.dedupKey === undefined ? {} : { dedupKey: about.dedupKey }),
  };
}
