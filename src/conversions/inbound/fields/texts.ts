import { MAX_JSON_DEPTH } from '../../../http/strict-json.js';
import { fitsCodePoints } from '../../../kernel/code-points.js';
import { containsEmail, EMAIL_INSIDE } from '../../../kernel/email.js';
import { ownTrimmed } from '../../../kernel/own-text.js';

/** Texts that JSON can hold and PostgreSQL cannot, with `\u0000` or half of a surrogate pair, are refused in the whole body. */
export const STORABLE = '^[^\\u0000\\ud800-\\udfff]*$';

/** Such a text with a character that is not white space; other languages do not count \\ufeff as such. */
export const NOT_BLANK = '^[^\\u0000\\ud800-\\udfff]*[^\\s\\ufeff\\u0000\\ud800-\\udfff][^\\u0000\\ud800-\\udfff]*$';

/** A text that has no email address in it. */
export const NO_EMAIL_INSIDE = { not: { type: 'string', pattern: EMAIL_INSIDE.source } };

/** Names of an object, which are texts, too. */
export const NAMES = { pattern: STORABLE, not: { const: '__proto__' } };

/** Any value that a body may have at a level of nesting, of which the body itself is the first. */
export function anyValue(level: number): object {
  return { $ref: `#/components/schemas/${nameOf(level)}` };
}

function nameOf(level: number): string {
  return level > MAX_JSON_DEPTH ? 'PlainValue' : `ValueOfLevel${level}`;
}

function schemaOf(level: number): object {
  const plain = ['string', 'number', 'boolean', 'null'];
  if (level > MAX_JSON_DEPTH) return { type: plain, pattern: STORABLE };
  const inner = anyValue(level + 1);
  return {
    type: [...plain, 'array', 'object'],
    pattern: STORABLE,
    items: inner,
    propertyNames: NAMES,
    additionalProperties: inner,
  };
}

/** What the schemas of bodies refer to, for the components of the document. */
export const ANY_VALUES: Readonly<Record<string, object>> = Object.fromEntries(
  Array.from({ length: MAX_JSON_DEPTH }, (_, index) => index + 2).map((level) => [nameOf(level), schemaOf(level)]),
);

/** A text that is stored as it is sent, without an email address; undefined if it is none. */
export function readPlainText(sent: unknown, maxLength: number): string | undefined {
  const text = typeof sent === 'string' ? ownTrimmed(sent) : undefined;
  return text === undefined || !fitsCodePoints(text, maxLength) || containsEmail(text) ? undefined : text;
}

/** Whether the sender leaves a field empty. */
export function isAbsent(sent: unknown): sent is undefined | null | '' {
  return sent === undefined || sent === null || sent === '';
}

/** The fields of an object; undefined if it is none. */
export function fieldsOf(sent: unknown): [name: string, value: unknown][] | undefined {
  return typeof sent === 'object' && sent !== null && !Array.isArray(sent) ? Object.entries(sent) : undefined;
}
