import { fitsCodePoints } from '../../../kernel/code-points.js';
import { containsEmail } from '../../../kernel/email.js';
import { ownTrimmed } from '../../../kernel/own-text.js';

/** Texts that JSON can hold and PostgreSQL cannot, with `\u0000` or half of a surrogate pair, are refused in the whole body. */
export const STORABLE = '^[^\\u0000\\ud800-\\udfff]*$';

/** Such a text with a character that is not white space; other languages do not count \\ufeff as such. */
export const NOT_BLANK = '^[^\\u0000\\ud800-\\udfff]*[^\\s\\ufeff\\u0000\\ud800-\\udfff][^\\u0000\\ud800-\\udfff]*$';

/** Any value whose texts can be stored. Deeper ones are not described: no field has such. */
export function storable(depth: number): object {
  if (depth < 0) return {};
  const inner = storable(depth - 1);
  return {
    type: ['string', 'number', 'boolean', 'null', 'array', 'object'],
    pattern: STORABLE,
    items: inner,
    propertyNames: { pattern: STORABLE },
    additionalProperties: inner,
  };
}

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
