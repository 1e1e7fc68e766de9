/**
 * Checks of single values. Each returns the problem as the end of a sentence that starts with the field's name, or
 * undefined. The text never contains the value, because it may be personal data.
 */
import { hash as digestOf } from 'node:crypto';
import { isIP } from 'node:net';
import { HOUR_MS, isNumber, isSha256Hex, isText, isUnixMillis, isUnixSeconds, SECOND_MS } from './values.js';

export type Check = (value: unknown) => string | undefined;

const SHA256_OF_EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
const COUNTRY_HASHES: ReadonlySet<string> = new Set(
  LETTERS.flatMap((first) => LETTERS.map((second) => digestOf('sha256', first + second))),
);
const CURRENCY = /^[A-Z]{3}$/;
const DECIMAL = /^\d+(\.\d+)?$/;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export function text(value: unknown, lengthMax = Number.POSITIVE_INFINITY): string | undefined {
  if (value === undefined) return 'is missing';
  if (typeof value !== 'string') return 'is not a string';
  if (value === '') return 'is empty';
  if (value.length > lengthMax) return `is longer than ${lengthMax} characters`;
  return undefined;
}

/** For a non-empty text in this format. */
export function format(pattern: RegExp, problem: string): Check {
  return (value) => text(value) ?? (pattern.test(value as string) ? undefined : problem);
}

export function number(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return isNumber(value) ? undefined : 'is not a number';
}

export function count(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return Number.isInteger(value) && (value as number) >= 0 ? undefined : 'is not a whole number';
}

/** For the quantity of an item. */
export function units(value: unknown): string | undefined {
  return count(value) ?? (value === 0 ? 'is 0' : undefined);
}

export function boolean(value: unknown): string | undefined {
  return typeof value === 'boolean' ? undefined : 'is not a boolean';
}

/** For an amount as a string, such as `129.90`. */
export function amountText(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  if (typeof value !== 'string') return 'is not a string';
  return DECIMAL.test(value) ? undefined : 'is not a decimal number';
}

export function currency(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return typeof value === 'string' && CURRENCY.test(value)
    ? undefined
    : 'is not a currency code of three upper-case letters';
}

export function oneOf(values: readonly string[]): Check {
  return (value) => {
    if (value === undefined) return 'is missing';
    return values.includes(value as string) ? undefined : `is not one of ${values.join(', ')}`;
  };
}

export function hash(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  if (!isSha256Hex(value)) return 'is not a SHA-256 of 64 lower-case hexadecimal digits';
  return value === SHA256_OF_EMPTY ? 'is the hash of an empty string' : undefined;
}

export function hashList(value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'is not a list';
  return value.length === 0 ? 'is empty' : value.map(hash).find((problem) => problem !== undefined);
}

/** For a list of hashes; the hash of anything but two lower-case letters, such as `US` or `usa`, matches no country. */
export function countryHashes(value: unknown): string | undefined {
  if (hashList(value) !== undefined) return undefined;
  const isCountry = (value as string[]).every((each) => COUNTRY_HASHES.has(each));
  return isCountry ? undefined : 'is not the hash of two lower-case letters';
}

/** For fields that must not be hashed: click ids, cookies, user agents. */
export function raw(value: unknown): string | undefined {
  return text(value) ?? (isSha256Hex(value) ? 'must not be hashed' : undefined);
}

export function ip(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return typeof value === 'string' && isIP(value) !== 0 ? undefined : 'is not an IP address';
}

export function url(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  return typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)
    ? undefined
    : 'is not an http or https URL';
}

export function list(value: unknown): string | undefined {
  return Array.isArray(value) ? undefined : 'is not a list';
}

export function textList(value: unknown): string | undefined {
  return Array.isArray(value) && value.every(isText) ? undefined : 'is not a list of strings';
}

/** How far a time may be from now; a limit that is left out does not apply. */
export interface TimeLimits {
  readonly nowMs: number;
  readonly ageMaxMs?: number | undefined;
  readonly aheadMaxMs?: number;
}

export function age(timeMs: number, limits: TimeLimits): string | undefined {
  if (limits.ageMaxMs !== undefined && limits.nowMs - timeMs > limits.ageMaxMs) {
    return `is older than ${Math.round(limits.ageMaxMs / HOUR_MS)} hours`;
  }
  if (limits.aheadMaxMs !== undefined && timeMs - limits.nowMs > limits.aheadMaxMs) return 'is in the future';
  return undefined;
}

export function unixSeconds(limits: TimeLimits): Check {
  return (value) => {
    if (value === undefined) return 'is missing';
    return isUnixSeconds(value) ? age(value * SECOND_MS, limits) : 'is not a Unix time in seconds';
  };
}

export function unixMillis(limits: TimeLimits): Check {
  return (value) => {
    if (value === undefined) return 'is missing';
    return isUnixMillis(value) ? age(value, limits) : 'is not a Unix time in milliseconds';
  };
}

/** For RFC 3339 with `Z` or an offset. */
export function isoTime(limits: TimeLimits): Check {
  return (value) => {
    if (value === undefined) return 'is missing';
    if (typeof value !== 'string' || !ISO_TIME.test(value)) return 'is not an ISO 8601 time with a time zone';
    const timeMs = Date.parse(value);
    return Number.isNaN(timeMs) ? 'is not a valid time' : age(timeMs, limits);
  };
}

/** For the list of a batch request. */
export function batch(name: string, value: unknown, itemsMax: number): string | undefined {
  if (!Array.isArray(value)) return value === undefined ? `${name} is missing` : `${name} is not a list`;
  if (value.length === 0) return `${name} is empty`;
  return value.length > itemsMax ? `${name} has more than ${itemsMax} elements` : undefined;
}
