import type { SentIdentifiers } from '../../events/conversion.events.js';
import type { Clock } from '../../kernel/clock.js';
import type { Address, ConversionSource, Item } from '../../platforms/conversion.js';

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
  /** Present if the event or the order was sent in another form than the canonical one. */
  sent?: { event?: string; orderId?: string };
}

/** One field of the request body; the parser and the OpenAPI schema both derive from it. */
export interface InboundField {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Writes the value (undefined: absent or null) to `fields`, or returns the error message. */
  readonly read: (sent: unknown, fields: InboundFields, rawBody: Buffer | string, clock: Clock) => string | undefined;
}
