export type JsonObject = Readonly<Record<string, unknown>>;

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const SHA256_HEX = /^[0-9a-f]{64}$/;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object itself, or an empty one for any other value. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The list in this field; empty when there is none. */
export function listIn(value: unknown, name: string): readonly unknown[] {
  const list = objectOf(value)[name];
  return Array.isArray(list) ? list : [];
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** A text for use in keys. Unlike `String`, it does not call a `toString` that the JSON may contain. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

export function isSha256Hex(value: unknown): value is string {
  return typeof value === 'string' && SHA256_HEX.test(value);
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** Ten digits: times after 2001, and no times in milliseconds. */
export function isUnixSeconds(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1e9 && (value as number) < 1e10;
}

export function isUnixMillis(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1e12 && (value as number) < 1e13;
}

/** Parses JSON; undefined when it is invalid. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}
