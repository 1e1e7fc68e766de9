import { integerText } from '../../http/strict-json.js';
import { canonicalText } from '../../kernel/canonical-text.js';
import { fitsCodePoints } from '../../kernel/code-points.js';
import { CURRENCIES, readCurrency } from '../../kernel/codes/currencies.js';
import { isEmail, normaliseEmail } from '../../kernel/email.js';
import { ownTrimmed } from '../../kernel/own-text.js';
import { sentClickIds } from '../../platforms/sent-clicks.js';
import { e164Of, isName } from '../hash-personal.js';
import { fieldRejection, type RejectionReason } from '../rejection-reason.js';
import { addDigest, DIGEST_PATTERN, digestIn } from './fields/hashed.js';
import { OPTIONAL_FIELDS, TOO_FAR_AHEAD } from './fields/optional-fields.js';
import { NOT_BLANK, STORABLE } from './fields/texts.js';
import { UNNAMED, UnknownFields } from './fields/unknown-fields.js';
import type { BodyReading, FieldWarning, InboundField, InboundFields } from './inbound-field.js';

export type InboundReading =
  | { ok: true; fields: InboundFields }
  | { ok: false; error: string; reason: RejectionReason };

const NO_EMAIL = 'email or hashed_email required';
const NO_IDENTIFIER = 'email, phone, externalId or a click id required';

/** Those of the specification. Fields are checked in this order, and the response contains the message of the first that fails. */
export const SPECIFIED_FIELDS: readonly InboundField[] = [
  {
    name: 'email',
    schema: {
      type: 'string',
      format: 'email',
      maxLength: 254,
      description: 'Customer email, hashed (SHA-256) on arrival and never stored. Takes precedence over hashed_email.',
      example: 'jane.doe@example.com',
    },
    read: (sent, fields) => {
      if (sent === undefined) return;
      if (typeof sent !== 'string') return 'email is invalid';
      const email = normaliseEmail(sent);
      if (email === '') return; // Blank counts as absent, because form tools send empty inputs.
      if (!isEmail(email)) return 'email is invalid';
      fields.email = email;
    },
  },
  {
    name: 'hashed_email',
    schema: {
      type: 'string',
      pattern: DIGEST_PATTERN,
      description: 'SHA-256 hex digest of the trimmed, lowercased email, for senders that do not share the address.',
      example: '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d',
    },
    read: (sent, fields, { withoutEmail }) => {
      if (fields.email !== undefined) return;
      if (sent === undefined) return withoutEmail ? undefined : NO_EMAIL;
      if (typeof sent !== 'string') return 'hashed_email must be a SHA-256 hex digest';
      const digest = ownTrimmed(sent);
      if (digest === '') return withoutEmail ? undefined : NO_EMAIL;
      if (!/^[0-9a-f]{64}$/i.test(digest)) return 'hashed_email must be a SHA-256 hex digest';
      fields.hashedEmail = digest.toLowerCase();
    },
  },
  {
    name: 'event',
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: 100,
      pattern: NOT_BLANK,
      description:
        'Event name, e.g. purchase, lead, signup. Compared in Unicode NFC and without white space at both ends; case is significant.',
      example: 'purchase',
    },
    read: (sent, fields) => {
      const event = typeof sent === 'string' ? canonicalText(sent) : sent;
      // A blank name counts as missing.
      if (event === undefined || event === '') return 'event required';
      if (typeof event !== 'string' || !fitsCodePoints(sent as string, 100) || !fitsCodePoints(event, 100))
        return 'event must be 1 to 100 characters';
      fields.event = event;
      if (event !== sent) fields.sent = { event: sent as string };
    },
  },
  {
    name: 'value',
    schema: {
      type: 'number',
      minimum: 0,
      description: 'Monetary value of the conversion, in units of the currency.',
      example: 129.9,
    },
    read: (sent, fields) => {
      if (sent === undefined) return;
      if (typeof sent !== 'number' || !(sent >= 0 && sent < Infinity)) return 'value must be a non-negative number';
      fields.value = sent;
    },
  },
  {
    name: 'currency',
    schema: {
      type: 'string',
      enum: [...CURRENCIES],
      default: 'USD',
      description:
        'ISO 4217 code of the value. Lower case is accepted too. A site can set what it is where it is absent (`sites set --currency`).',
      example: 'EUR',
    },
    read: (sent, fields, reading) => {
      // An empty currency is an error, not the default, so that no amount becomes dollars by accident.
      const missing = reading.currency ?? 'USD';
      const currency = sent === undefined ? missing : typeof sent === 'string' ? readCurrency(sent) : undefined;
      if (currency === undefined) return 'currency must be an ISO 4217 code';
      fields.currency = currency;
    },
  },
  {
    name: 'orderId',
    schema: {
      anyOf: [
        { type: 'string', minLength: 1, maxLength: 255, pattern: NOT_BLANK },
        { type: 'integer', minimum: 0, exclusiveMaximum: 1e21 },
      ],
      description:
        'Order or transaction identifier; a repeat within the dedup window is not counted again. Compared as the event name is.',
      example: 'ORD-1001',
    },
    read: (sent, fields, { rawBody }) => {
      if (sent === undefined) return;
      const text = typeof sent === 'number' ? integerText(sent, rawBody, 'orderId') : sent;
      const orderId = typeof text === 'string' ? canonicalText(text) : '';
      // A blank id is rejected: all orders with it would be duplicates of the first.
      if (orderId === '' || !fitsCodePoints(text as string, 255) || !fitsCodePoints(orderId, 255))
        return 'orderId must be 1 to 255 characters';
      fields.orderId = orderId;
      if (orderId !== text) fields.sent = { ...fields.sent, orderId: text as string };
    },
  },
  textField('firstName', 255, 'Customer first name; stored and sent only as a hash.', 'Jane'),
  textField('lastName', 255, 'Customer last name; stored and sent only as a hash.', 'Doe'),
  textField(
    'phone',
    64,
    "Customer phone; a national number needs the site's default country. Stored and sent only as a hash.",
    '+1 (555) 010-4477',
  ),
];

function textField(
  name: 'firstName' | 'lastName' | 'phone',
  maxLength: number,
  description: string,
  example: string,
): InboundField {
  return {
    name,
    schema: { type: 'string', maxLength, pattern: STORABLE, description, example },
    read: (sent, fields) => {
      if (sent === undefined || sent === '') return undefined;
      const digest = digestIn(sent);
      if (digest !== undefined) return addDigest(fields, name, digest);
      if (typeof sent !== 'string' || !fitsCodePoints(sent, maxLength))
        return `${name} must be text of at most ${maxLength} characters`;
      fields[name] = sent;
      return undefined;
    },
  };
}

export const UNKNOWN_FIELDS = new UnknownFields([...SPECIFIED_FIELDS, ...OPTIONAL_FIELDS].map(({ name }) => name));

const NO_CURRENCY: FieldWarning = {
  kind: 'assumed',
  field: 'currency',
  text: 'value has no currency: USD is assumed',
};

/** `body` is the parsed `reading.rawBody`. */
export function readInboundFields(body: Record<string, unknown>, reading: BodyReading): InboundReading {
  const fields = {} as InboundFields; // The required fields are set below, or an error is returned.
  let unused: Unused[] | undefined;
  for (const { name, read } of SPECIFIED_FIELDS) {
    const result = read(body[name] ?? undefined, fields, reading);
    if (result === undefined) continue;
    if (typeof result === 'string') return { ok: false, error: result, reason: fieldRejection(name, result) };
    unused = [...(unused ?? []), { name, texts: result }];
  }
  for (const { name, read } of OPTIONAL_FIELDS) {
    const sent = body[name];
    if (sent === undefined || sent === null || sent === '') continue; // Most requests have none of them.
    const result = read(sent, fields, reading);
    if (result === undefined) continue;
    if (typeof result === 'string' && (reading.isStrict || result === TOO_FAR_AHEAD))
      return { ok: false, error: result, reason: fieldRejection(name, result) };
    unused = [...(unused ?? []), { name, texts: typeof result === 'string' ? [`${result}: dropped`] : result }];
  }
  const unusable = unusableOf(fields, reading.country);
  if (reading.withoutEmail && !isIdentified(fields, unusable))
    return { ok: false, error: NO_IDENTIFIER, reason: 'identifier_missing' };
  const warnings = warningsOf(body, unusable ? [...unusable, ...(unused ?? [])] : unused, reading);
  if (warnings.length > 0) fields.warnings = warnings;
  return { ok: true, fields };
}

/** Whether the person is known by something: a phone that no one can dial is not enough. */
function isIdentified(fields: InboundFields, unusable: readonly Unused[] = []): boolean {
  const { email, hashedEmail, externalId, clickIds, phone, hashed } = fields;
  if (email !== undefined || hashedEmail !== undefined || externalId !== undefined) return true;
  if (clickIds && sentClickIds(clickIds).length > 0) return true;
  if (hashed?.phone !== undefined) return true;
  return phone !== undefined && !unusable.some(({ name }) => name === 'phone');
}

const NO_PHONE: Unused = { name: 'phone', texts: ['phone is no possible number, or lacks its country code: dropped'] };

/** Texts of which nothing remains to be hashed. Blank ones count as absent. Read last: the country completes a phone number. */
function unusableOf(fields: InboundFields, country: string | undefined): Unused[] | undefined {
  const { firstName = '', lastName = '', phone = '' } = fields;
  let unusable: Unused[] | undefined;
  if (!isName(firstName) && firstName.trim() !== '') unusable = [noName('firstName')];
  if (!isName(lastName) && lastName.trim() !== '') unusable = [...(unusable ?? []), noName('lastName')];
  const number = phone === '' ? undefined : e164Of(phone, fields.address?.country ?? country);
  // Parsed once: what hashes it recognises this form without the library.
  if (number !== undefined) fields.phone = number;
  else if (phone.trim() !== '') unusable = [...(unusable ?? []), NO_PHONE];
  return unusable;
}

function noName(name: string): Unused {
  return { name, texts: [`${name} has only punctuation: dropped`] };
}

/** A field of which not everything is used. */
interface Unused {
  readonly name: string;
  readonly texts: readonly string[];
}

/** In the order of the request. */
function warningsOf(
  body: Readonly<Record<string, unknown>>,
  unused: readonly Unused[] | undefined,
  reading: BodyReading,
): FieldWarning[] {
  const warnings: FieldWarning[] = [];
  let hasUnnamed = false;
  for (const name of Object.keys(body)) {
    const sent = body[name];
    if (sent === null || sent === '') continue;
    if (UNKNOWN_FIELDS.has(name)) {
      const warning = UNKNOWN_FIELDS.warningOf(name);
      if (warning !== UNNAMED || !hasUnnamed) warnings.push(warning);
      hasUnnamed ||= warning === UNNAMED;
    } else if (name === 'value' && (body['currency'] ?? reading.currency) === undefined) warnings.push(NO_CURRENCY);
    else if (unused) warnings.push(...droppedOf(name, unused));
  }
  return warnings;
}

function droppedOf(name: string, unused: readonly Unused[]): FieldWarning[] {
  const texts = unused.find((field) => field.name === name)?.texts ?? [];
  return texts.map((text) => ({ kind: 'dropped', field: /^[\w.]+/.exec(text)?.[0] as string, text }));
}
