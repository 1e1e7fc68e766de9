import { isUtf8 } from 'node:buffer';

/** The root object is level 1. */
export const MAX_JSON_DEPTH = 8;

/** The message for each kind of malformed body. It never contains text of the body, which holds personal data. */
const MESSAGES = {
  empty: 'The body is empty: send a JSON object.',
  encoding: 'The body is not valid UTF-8: encode the JSON as UTF-8.',
  syntax: 'The body is not valid JSON: send one complete JSON object.',
  not_an_array: 'The body is not a JSON array: send the conversions inside [ ].',
  too_many: 'The body has too many conversions: send several batches.',
  not_an_object: 'The body is not a JSON object: send the fields inside { }.',
  too_deep: `The body is nested more than ${MAX_JSON_DEPTH} levels deep: send a flatter object.`,
  duplicate_key: 'The body has an object with the same key twice: send every key once.',
  forbidden_key: 'The body has a key named __proto__: remove it.',
  forbidden_character:
    'The body has a \\u0000 or half of a surrogate pair in a text: send whole Unicode characters only.',
} as const;

export type MalformedBodyKind = keyof typeof MESSAGES;

export class MalformedBody extends Error {
  override readonly name = 'MalformedBody';

  constructor(
    readonly kind: MalformedBodyKind,
    message: string = MESSAGES[kind],
  ) {
    super(message);
  }
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Parses a request body and rejects JSON that parsers interpret differently (duplicate keys, broken characters) or that
 * PostgreSQL cannot store (`\u0000`).
 */
export function parseStrictJson(body: Buffer): Record<string, unknown> {
  if (body.length === 0) throw new MalformedBody('empty');
  if (!isUtf8(body)) throw new MalformedBody('encoding');
  const outline = scan(body);
  const value = parse(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new MalformedBody('not_an_object');
  // JSON.parse keeps one of two equal keys, so there are more colons than keys exactly if a key is repeated.
  if (countKeys(value, outline.hasUnicodeEscape) !== outline.colons) throw new MalformedBody('duplicate_key');
  return value as Record<string, unknown>;
}

/**
 * One pass over the bytes, before JSON.parse sees them: 64 KiB of `[` must not become 64 Ki nested arrays.
 * The counts of invalid JSON are meaningless and not used.
 */
function scan(body: Buffer): { colons: number; hasUnicodeEscape: boolean } {
  const end = body.length;
  let colons = 0;
  let depth = 0;
  let hasUnicodeEscape = false;
  for (let i = 0; i < end; i++) {
    const byte = body[i];
    if (byte === QUOTE) {
      for (i++; i < end && body[i] !== QUOTE; i++) {
        if (body[i] === BACKSLASH && body[++i] === LOWER_U) hasUnicodeEscape = true;
      }
    } else if (byte === COLON) {
      colons++;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > MAX_JSON_DEPTH) throw new MalformedBody('too_deep');
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--;
    }
  }
  return { colons, hasUnicodeEscape };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(withoutByteOrderMark(body).toString('utf8'));
  } catch (error) {
    // The parser's message quotes the body; only the position at its end is safe to return.
    const position = /at position (\d+)(?: \(line \d+ column \d+\))?$/.exec((error as Error).message)?.[1];
    if (position === undefined) throw new MalformedBody('syntax');
    throw new MalformedBody('syntax', `The body is not valid JSON at position ${position}: correct it there.`);
  }
}

/** Ignores a byte order mark, as RFC 8259 allows and .NET clients need. */
function withoutByteOrderMark(body: Buffer): Buffer {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}

/**
 * Counts the keys at all levels and rejects forbidden keys and characters. The bytes are valid UTF-8 and JSON allows no raw
 * control character in a string, so a forbidden character can only come from a `\u` escape.
 */
function countKeys(value: unknown, checkTexts: boolean): number {
  if (typeof value !== 'object' || value === null) {
    if (checkTexts && typeof value === 'string') checkText(value);
    return 0;
  }
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item, checkTexts);
    return count;
  }
  // `for in` costs half of Object.keys; a parsed object inherits no enumerable properties.
  for (const key in value) {
    if (key === '__proto__') throw new MalformedBody('forbidden_key');
    if (checkTexts) checkText(key);
    count += 1 + countKeys((value as Record<string, unknown>)[key], checkTexts);
  }
  return count;
}

function checkText(text: string): void {
  // With the u flag a surrogate pair is one character, so that only unpaired surrogates match.
  if (text.includes('\0') || /\p{Surrogate}/u.test(text)) throw new MalformedBody('forbidden_character');
}

/**
 * The digits of a non-negative integer, exactly as in the body: JSON.parse rounds beyond 2^53. `path`: the keys that lead to it.
 * The body must have passed `parseStrictJson`. Undefined if the field has another value, such as `1e21` or `5.0`.
 */
export function integerDigits(body: Buffer | string, ...path: readonly string[]): string | undefined {
  const text = typeof body === 'string' ? body : body.toString('utf8');
  let depth = 0;
  let entered = 0; // How many of the keys hold the object that is being read.
  for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') entered = Math.min(entered, --depth - 1);
    else if (depth === entered + 1 && JSON.parse(token) === path[entered]) {
      const value = /\s*:\s*(\{|\d+(?![\d.eE]))/y;
      value.lastIndex = index + token.length;
      const found = value.exec(text)?.[1];
      const isLast = entered === path.length - 1;
      if (found === '{' && !isLast) entered++;
      else if (found !== undefined && found !== '{' && isLast) return found;
    }
  }
  return undefined;
}

/** A parsed non-negative integer with every digit of the body: it is an identifier. Undefined if it is no such number. */
export function integerText(sent: number, body: Buffer | string, ...path: readonly string[]): string | undefined {
  if (!Number.isInteger(sent) || sent < 0) return undefined;
  return Number.isSafeInteger(sent) ? String(sent) : integerDigits(body, ...path);
}
