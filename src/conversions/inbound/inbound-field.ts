import type { SentIdentifiers } from '../../events/conversion.events.js';
import type { Clock } from '../../kernel/clock.js';
import type { Address, ConversionSource, Custom, Item, SentConsent } from '../../platforms/conversion.js';
import type { PersonalHashes } from '../../platforms/personal-hashes.js';
import type { Site } from '../../sites/site.js';

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
  /** In E.164; as it was sent if it is not a possible number. */
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
  /** Of the browser pixel, or the sender's own. */
  eventId?: string;
  consent?: SentConsent;
  /** Without query and fragment, except click ids and UTM fields. */
  pageUrl?: string;
  referrer?: string;
  cookies?: NonNullable<SentIdentifiers['cookies']>;
  utm?: NonNullable<SentIdentifiers['utm']>;
  custom?: Custom;
  /** Digests of what the sender hashed. A plain value takes precedence. */
  hashed?: HashedFields;
  /** In place of all that is hashed: of a delivery that was stored. */
  hashes?: PersonalHashes;
  /** What the sender should change, in the order of the request. Absent if there is nothing. */
  warnings?: readonly FieldWarning[];
  /** Present if the event or the order was sent in another form than the canonical one. */
  sent?: { event?: string; orderId?: string };
}

export type HashedField = 'phone' | 'firstName' | 'lastName' | keyof Address;
export type HashedFields = Partial<Pick<PersonalHashes, HashedField>>;

export interface FieldWarning {
  /** `dropped`: not valid in whole or in part. `unknown`: not the name of a field. `assumed`: what was not sent has a default. */
  readonly kind: 'dropped' | 'unknown' | 'assumed';
  /** The name of the field or of its part, one of a fixed list: never a name that the sender chose. */
  readonly field: string;
  /** For the sender. Quotes no value that was sent. */
  readonly text: string;
}

/** The fields that have a warning of a kind, each once; undefined if there are none. */
export function fieldsWith(kind: FieldWarning['kind'], { warnings }: InboundFields): string[] | undefined {
  const fields = warnings?.filter((warning) => warning.kind === kind).map(({ field }) => field);
  return fields && fields.length > 0 ? [...new Set(fields)] : undefined;
}

/** The request body besides its fields, and how it is read. */
export interface BodyReading {
  /** Needed only for the exact digits of numbers above 2^53. */
  readonly rawBody: Buffer | string;
  /** That of the database. */
  readonly clock: Clock;
  /** The site refuses a conversion with an optional field that is not valid. */
  readonly isStrict: boolean;
  /** What a value without a currency is in, if the site has set it. */
  readonly currency?: string | undefined;
  /** Of phone numbers without a country code, if the site has set it. */
  readonly country?: string | undefined;
  /** A conversion needs no email where the person is known by something else. */
  readonly withoutEmail?: boolean;
}

/** What a site decides of it. */
export function siteReading({ settings }: Pick<Site, 'settings'>): Omit<BodyReading, 'rawBody' | 'clock'> {
  const { strictFields: isStrict, currency, identifyBy, country } = settings;
  const withoutEmail = identifyBy === 'any';
  return { isStrict, currency: currency ?? undefined, country: country ?? undefined, withoutEmail };
}

/**
 * Undefined: everything is used. A text: why the field is not valid; nothing was read. A list, unless the reading is strict: what is
 * not used, each with what becomes of it; the rest was read.
 */
export type ReadResult = string | readonly string[] | undefined;

/** One field of the request body; the parser and the OpenAPI schema both derive from it. */
export interface InboundField {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Writes the value (undefined: absent or null) to `fields`. */
  readonly read: (sent: unknown, fields: InboundFields, reading: BodyReading) => ReadResult;
}
