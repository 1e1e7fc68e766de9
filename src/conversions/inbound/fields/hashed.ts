import { ownTrimmed } from '../../../kernel/own-text.js';
import type { HashedField, InboundField, InboundFields, ReadResult } from '../inbound-field.js';

export const DIGEST_PATTERN = '^[0-9A-Fa-f]{64}$';
const DIGEST = new RegExp(DIGEST_PATTERN);
/** SHA-256 of an empty text, which would match unrelated people. */
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const FIELDS: readonly (readonly [name: string, field: HashedField, description: string])[] = [
  [
    'hashed_phone',
    'phone',
    'SHA-256 hex digest of the phone in E.164. Google, TikTok, Microsoft, Reddit and X know it with `+`, Meta, Pinterest and Snapchat without.',
  ],
  ['hashed_first_name', 'firstName', 'SHA-256 hex digest of the trimmed, lowercased first name.'],
  ['hashed_last_name', 'lastName', 'SHA-256 hex digest of the trimmed, lowercased last name.'],
  ['hashed_city', 'city', 'SHA-256 hex digest of the city in lower case, without spaces and punctuation.'],
  ['hashed_region', 'region', 'SHA-256 hex digest of the region, of two letters where it has such a code.'],
  ['hashed_postal_code', 'postalCode', 'SHA-256 hex digest of the postal code in lower case, without spaces.'],
  ['hashed_country', 'country', 'SHA-256 hex digest of the ISO 3166 alpha-2 code in lower case.'],
];

export const HASHED_NAMES = FIELDS.map(([name]) => name);

/** What the sender hashed. A plain value takes precedence, because platforms differ in what they hash. */
export const hashedFields: readonly InboundField[] = FIELDS.map(([name, field, description], index) => ({
  name,
  schema: {
    type: 'string',
    pattern: DIGEST_PATTERN,
    description: `${description} Ignored where the plain value is sent.`,
    example: '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d'.replace(/^8/, String(index + 1)),
  },
  read: (sent, fields) => {
    const digest = digestIn(sent);
    if (digest !== undefined) return addDigest(fields, field, digest, name);
    return typeof sent === 'string' && sent.trim() === '' ? undefined : `${name} must be a SHA-256 hex digest`;
  },
}));

/** The digest that a field has, a plain one, too: some senders hash every personal field. */
export function digestIn(sent: unknown): string | undefined {
  if (typeof sent !== 'string' || sent.length < 64) return undefined;
  const text = ownTrimmed(sent);
  return DIGEST.test(text) ? text.toLowerCase() : undefined;
}

/** `name`: the field of the request. */
export function addDigest(fields: InboundFields, field: HashedField, digest: string, name: string = field): ReadResult {
  if (digest === EMPTY) return [`${name} is the hash of an empty text: dropped`];
  fields.hashed ??= {};
  fields.hashed[field] ??= digest;
  return undefined;
}
