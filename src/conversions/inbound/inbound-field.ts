import type { SentIdentifiers } from '../../events/conversion.events.js';
import type { Clock } from '../../kernel/clock.js';
import type { Address, ConversionSource, Custom, Item, SentConsent } from '../../platforms/conversion.js';
import type { PersonalHashes } from '../../platforms/personal-hashes.js';

/** The fields of one conversion, validated and normalised. An optional field that was not sent is absent. */
export interface InboundFields {
  /** Trimmed, lower case. Absent when the sender hashed it. */
  email?: string;
  /** SHA-256, hex, lower case. Absent when an email was sent, which takes precedence. */
  hashedEmail?: string;
  /** Canonical, as the order id is. */
  event: string;
  value?: number;
  /** ISO 4217, upper case. */
  currency: string;
  orderId?: string;
  firstName?: string;
  lastName?: string;
  phone?: string;
  /** ISO 8601, UTC, with milliseconds. */
  occurredAt?: string;
  source?: ConversionSource;
  items?: readonly Item[];
  externalId?: string;
  /** `city`, `region`, `postalCode` and `country`. */
  address?: Address;
  clickIds?: NonNullable<SentIdentifiers['clickIds']>;
  ipAddress?: string;
  userAgent?: string;
  /** Of the browser pixel, or the sender's own. Canonical, as the order id is. */
  eventId?: string;
  consent?: SentConsent;
  pageUrl?: string;
  referrer?: string;
  cookies?: NonNullable<SentIdentifiers['cookies']>;
  utm?: NonNullable<SentIdentifiers['utm']>;
  custom?: Custom;
  /** Digests of what the sender hashed. A plain value takes precedence. */
  hashed?: HashedFields;
  /** Present if the event or the order was sent in another form than the canonical one. */
  sent?: { event?: string; orderId?: string };
}

export type HashedField = 'phone' | 'firstName' | 'lastName' | keyof Address;
export type HashedFields = Readonly<Partial<Pick<PersonalHashes, HashedField>>>;

/** One field of the request body; the parser and the OpenAPI schema both derive from it. */
export interface InboundField {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Writes the value (undefined: absent or null) to `fields`, or returns the error message. */
  readonly read: (sent: unknown, fields: InboundFields, rawBody: Buffer | string, clock: Clock) => string | undefined;
}
