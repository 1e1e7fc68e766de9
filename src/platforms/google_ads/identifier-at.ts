import type { OptionalIdentifier } from '../optional-identifiers.js';

/** Google writes names of fields in both styles. */
const FIELDS: readonly (readonly [field: RegExp, identifier: OptionalIdentifier])[] = [
  [/\bemail_?address\b/i, 'email'],
  [/\bphone_?number\b/i, 'phone'],
  [/\baddress\b/i, 'address'],
  [/\b(?:gclid|gbraid|wbraid)\b/i, 'click'],
];
/** Reasons that only an address can have. */
const ADDRESS_REASONS = ['INVALID_POSTAL_CODE', 'INVALID_COUNTRY_CODE'];

/** The identifier that an error of one event is about; undefined if it is about something else. */
export function identifierAt(path: string, reason: string): OptionalIdentifier | undefined {
  if (ADDRESS_REASONS.includes(reason)) return 'address';
  return FIELDS.find(([field]) => field.test(path))?.[1];
}
