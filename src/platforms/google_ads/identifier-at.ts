import type { OptionalIdentifier } from '../optional-identifiers.js';

/** Google writes names of fields in both styles. */
const FIELDS: readonly (readonly [field: RegExp, identifier: OptionalIdentifier])[] = [
  [/\b(?:email_?address|hashed_?email)\b/i, 'email'],
  [/\b(?:hashed_?)?phone_?number\b/i, 'phone'],
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

/** Click ids that Google cannot decode. */
const CLICK_CODES = /^(?:UNPARSEABLE|INVALID)_(?:GCLID|GBRAID|WBRAID)$/;
const USER_CODES = ['INVALID_USER_IDENTIFIER', 'UNSUPPORTED_USER_IDENTIFIER'];

/**
 * The identifiers that a code of the upload, or of the status of a request, is about. Of user identifiers it is all, unless `path` names
 * the field: their index does not tell which it is.
 */
export function identifiersOfCode(code: string, path = ''): readonly OptionalIdentifier[] {
  if (CLICK_CODES.test(code)) return ['click'];
  if (!USER_CODES.includes(code)) return [];
  const identifier = identifierAt(path, code);
  return identifier ? [identifier] : ['email', 'phone'];
}
