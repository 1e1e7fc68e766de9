import { integerDigits } from '../http/strict-json.js';
import { fitsCodePoints } from '../kernel/code-points.js';
import { isEmail, normaliseEmail } from '../kernel/email.js';
import { readCurrency } from './currencies.js';

/** What a sender said about one conversion, checked and normalised. An optional field that was not sent is absent. */
export interface InboundFields {
  /** Trimmed and in lower case. Absent when the sender hashed it. */
  email?: string;
  /** SHA-256, hex, lower case. Absent when an email was sent: the email wins. */
  hashedEmail?: string;
  event: string;
  value?: number;
  /** ISO 4217, upper case. */
  currency: string;
  orderId?: string;
  firstName?: string;
  lastName?: string;
  phone?: string;
}

export type InboundReading = { ok: true; fields: InboundFields } | { ok: false; error: string };

interface InboundField {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Puts what was sent (undefined: nothing, or null) into `fields`, or returns the message that refuses it. */
  readonly read: (sent: unknown, fields: InboundFields, rawBody: Buffer | string) => string | undefined;
}

/**
 * Every field of the request body: the parser and the OpenAPI schema both come from here. The order is the order in
 * which fields are checked; the first that fails is the one message of the answer.
 */
const INBOUND_FIELDS: readonly InboundField[] = [
  {
    name: 'email',
    schema: {
      type: 'string',
      format: 'email',
      maxLength: 254,
      description: 'Customer email, hashed (SHA-256) on arrival and never stored. It wins over hashed_email.',
      example: 'jane.doe@example.com',
    },
    read: (sent, fields) => {
      if (sent === undefined) return;
      if (typeof sent !== 'string') return 'email is invalid';
      const email = normaliseEmail(sent);
      if (email === '') return; // Blank is like absent: form tools send empty inputs.
      if (!isEmail(email)) return 'email is invalid';
      fields.email = email;
    },
  },
  {
    name: 'hashed_email',
    schema: {
      type: 'string',
      pattern: '^[0-9A-Fa-f]{64}$',
      description: 'SHA-256 hex digest of the trimmed, lowercased email, for senders that do not pass the address on.',
      example: '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d',
    },
    read: (sent, fields) => {
      if (fields.email !== undefined) return;
      if (sent === undefined) return 'email or hashed_email required';
      if (typeof sent !== 'string') return 'hashed_email must be a SHA-256 hex digest';
      const digest = sent.trim();
      if (digest === '') return 'email or hashed_email required';
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
      description: 'Event name, e.g. purchase, lead, signup.',
      example: 'purchase',
    },
    read: (sent, fields) => {
      // A blank name is a missing one; any other is kept exactly as it was sent.
      if (sent === undefined || (typeof sent === 'string' && isBlank(sent))) return 'event required';
      if (typeof sent !== 'string' || !fitsCodePoints(sent, 100)) return 'event must be 1 to 100 characters';
      fields.event = sent;
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
      pattern: '^[A-Za-z]{3}$',
      default: 'USD',
      description: 'ISO 4217 code of the value, in any case.',
      example: 'EUR',
    },
    read: (sent, fields) => {
      // An empty currency is an error, not the default: an amount must not become dollars by accident.
      const currency = sent === undefined ? 'USD' : typeof sent === 'string' ? readCurrency(sent) : undefined;
      if (currency === undefined) return 'currency must be an ISO 4217 code';
      fields.currency = currency;
    },
  },
  {
    name: 'orderId',
    schema: {
      anyOf: [
        { type: 'string', minLength: 1, maxLength: 255 },
        { type: 'integer', minimum: 0 },
      ],
      description: 'Order or transaction identifier; a repeat within the dedup window is not counted again.',
      example: 'ORD-1001',
    },
    read: (sent, fields, rawBody) => {
      if (sent === undefined) return;
      const orderId = typeof sent === 'number' ? orderNumber(sent, rawBody) : sent;
      // A blank id is refused: every order that carried it would be a duplicate of the first.
      if (typeof orderId !== 'string' || isBlank(orderId) || !fitsCodePoints(orderId, 255)) {
        return 'orderId must be 1 to 255 characters';
      }
      fields.orderId = orderId;
    },
  },
  {
    name: 'firstName',
    schema: {
      type: 'string',
      maxLength: 255,
      description: 'Customer first name; kept and sent only as a hash.',
      example: 'Jane',
    },
    read: (sent, fields) => {
      if (sent === undefined || sent === '') return;
      if (typeof sent !== 'string' || !fitsCodePoints(sent, 255))
        return 'firstName must be text of at most 255 characters';
      fields.firstName = sent;
    },
  },
  {
    name: 'lastName',
    schema: {
      type: 'string',
      maxLength: 255,
      description: 'Customer last name; kept and sent only as a hash.',
      example: 'Doe',
    },
    read: (sent, fields) => {
      if (sent === undefined || sent === '') return;
      if (typeof sent !== 'string' || !fitsCodePoints(sent, 255))
        return 'lastName must be text of at most 255 characters';
      fields.lastName = sent;
    },
  },
  {
    name: 'phone',
    schema: {
      type: 'string',
      maxLength: 64,
      description: "Customer phone; a national number needs the site's default country. Kept and sent only as a hash.",
      example: '+1 (555) 010-4477',
    },
    read: (sent, fields) => {
      if (sent === undefined || sent === '') return;
      if (typeof sent !== 'string' || !fitsCodePoints(sent, 64)) return 'phone must be text of at most 64 characters';
      fields.phone = sent;
    },
  },
];

/** The request body as JSON Schema, for the OpenAPI document. */
export const inboundBodySchema = {
  type: 'object',
  description: 'One conversion. Unknown fields are ignored, and null is the same as absent.',
  properties: Object.fromEntries(INBOUND_FIELDS.map(({ name, schema }) => [name, schema])),
  required: ['event'],
  anyOf: [{ required: ['email'] }, { required: ['hashed_email'] }],
};

/** `body` is what `parseStrictJson` made of `rawBody`, which is looked at only for an order number beyond 2^53. */
export function readInboundFields(body: Record<string, unknown>, rawBody: Buffer | string): InboundReading {
  const fields = {} as InboundFields; // The readers fill it; those of event and currency do so or refuse.
  for (const { name, read } of INBOUND_FIELDS) {
    const error = read(body[name] ?? undefined, fields, rawBody);
    if (error !== undefined) return { ok: false, error };
  }
  return { ok: true, fields };
}

/** Order numbers are identifiers, not amounts: every digit counts. */
function orderNumber(sent: number, rawBody: Buffer | string): string | undefined {
  if (!Number.isInteger(sent) || sent < 0) return undefined;
  return Number.isSafeInteger(sent) ? String(sent) : integerDigits(rawBody, 'orderId');
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}
