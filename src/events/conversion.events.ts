import * as z from 'zod/mini';
import {
  type Address,
  CONSENT_FIELDS,
  CONVERSION_SOURCES,
  type Custom,
  type SentClickIds,
  type Visit,
} from '../platforms/conversion.js';
import type { PersonalHashes } from '../platforms/personal-hashes.js';
import {
  amount,
  connectionName,
  type DataOf,
  described,
  type EventsOf,
  event,
  integerFrom,
  payloadVersion,
  personal,
  settingsPosition,
  siteVersion,
  strings,
  text,
  time,
  uuid,
  type ValueOf,
} from './event-declaration.js';
import type { PersonKey } from './person-keys.js';
import { botVerdict } from './visitor.events.js';

/** Category of the streams that hold one conversion and all its outcomes. */
export const CONVERSION = 'conversion';

/** `keyId` of conversions that were imported from a file: no API key was used. */
export const IMPORT_KEY_ID = '00000000-0000-0000-0000-000000000000';

/** What platforms are told about the person's consent. `unknown`: never stated, or the record could not be read. */
export const adConsent = z.enum(['granted', 'denied', 'unknown']);
export type AdConsent = ValueOf<typeof adConsent>;

/**
 * `consent_missing`: the site requires consent, and none was given. `consent_unreadable`: the record could not be read, which is
 * treated as an opt-out, but not reported to platforms as one. `undecided`: the page denies by default, and the visitor has not
 * decided. `denied_by_sender`: the sender denied it for this conversion.
 */
const withheld = z.enum(['opted_out', 'consent_missing', 'consent_unreadable', 'undecided', 'denied_by_sender']);
export type WithheldReason = ValueOf<typeof withheld>;

/** What any instance needs to deliver a received conversion, at any time. */
const plan = {
  platforms: z.optional(
    described(
      z.array(connectionName),
      'Platforms connected when the conversion was received. An outcome follows for each of them.',
    ),
  ),
  siteVersion: z.optional(siteVersion),
  settings: z.optional(settingsPosition),
  // `platforms/payload-version.ts`
  payloadVersion: z.optional(payloadVersion),
  instance: z.optional(text('The instance that received the conversion. Version 0.3 and later omit it.')),
};
export type DeliveryPlan = DataOf<typeof plan>;

const item = z.strictObject({
  id: z.string(),
  name: z.exactOptional(z.string()),
  quantity: z.exactOptional(integerFrom(1)),
  price: z.exactOptional(described(amount, 'Of one unit, in the currency of the conversion.')),
  category: z.exactOptional(z.string()),
});

const sentConsent = z.partialRecord(z.enum(CONSENT_FIELDS), z.enum(['granted', 'denied']));

/** What a delivery of a source is, whether it becomes a conversion or not. */
export const sourceDelivery = {
  source: text('Name of the source: shopify, stripe, woocommerce or segment.'),
  topic: text('What it is about, as the sender names it.'),
  deliveryId: z.optional(text('Id of the delivery, as the sender states it.')),
  digest: described(z.string(), 'Identifies what the sender signed. Keyed, so that it reveals nothing.'),
};

export type SourceDelivery = DataOf<typeof sourceDelivery>;

/** The sender's data without the personal part, which is stored beside the event and can be erased. */
const conversion = {
  conversionId: described(uuid, 'Id of the conversion. Its stream is conversion-<conversionId>.'),
  event: text('Event name chosen by the sender: purchase, lead, signup, or any other.'),
  value: z.optional(described(amount, 'As sent; absent when absent.')),
  currency: described(z.string().check(z.regex(/^[A-Z]{3}$/)), 'ISO 4217.'),
  orderId: z.optional(text("The sender's order number.")),
  eventId: z.optional(
    text('The id that the sender, or its browser pixel, gave the event. Not compared to find duplicates.'),
  ),
  // UTC
  occurredAt: z.optional(
    described(time, 'When it occurred, if the sender states it. Totals count by the time of the event.'),
  ),
  source: z.optional(described(z.enum(CONVERSION_SOURCES), 'Where it happened.')),
  items: z.optional(described(z.array(item), 'Lines of the order.')),
  sentConsent: z.optional(described(sentConsent, 'Consent to this conversion, as its sender states it.')),
  dropped: z.optional(
    described(
      strings,
      'Names of optional fields that were sent, were not valid in whole or in part, and are not used as far as they are not.',
    ),
  ),
  unknown: z.optional(
    described(
      strings,
      'Common misspellings of fields that were sent and ignored; "other" stands for all other names that no field has.',
    ),
  ),
  keyId: described(
    uuid,
    `Id of the API key that the request carried; ${IMPORT_KEY_ID} if it was imported from a file.`,
  ),
  trial: described(z.boolean(), 'Sent with a trial key: counted in no total, delivered to no platform.'),
  // As a connection of the site requests for this event.
  correction: z.optional(
    described(z.literal(true), 'A correction, such as a refund, of the conversion of the order: counted in no total.'),
  ),
  delivery: z.optional(described(z.strictObject(sourceDelivery), 'The webhook that the conversion was made of.')),
  ...plan,
  // The visit is in the personal part.
  matched: z.exactOptional(described(z.literal(true), 'The conversion was matched to a visit.')),
  consent: z.exactOptional(described(adConsent, 'What platforms are told.')),
  personalization: z.exactOptional(
    described(z.enum(['granted', 'denied']), 'Consent to personalised advertising, if it is known.'),
  ),
  withheld: z.exactOptional(described(withheld, 'Why stored visit data is not sent.')),
  bot: z.exactOptional(described(botVerdict, "Bot verdict of the person's visitors.")),
  judged: z.exactOptional(described(z.literal(true), "The bot score reached the site's threshold.")),
  botVisitors: z.exactOptional(
    described(
      integerFrom(1),
      'How many visitors of the person have their identifiers withheld because of their bot verdict.',
    ),
  ),
};
export type ConversionData = DataOf<typeof conversion>;

/** Trial conversions and corrections count nowhere. */
export function isCounted({ trial, correction }: Pick<ConversionData, 'trial' | 'correction'>): boolean {
  return !trial && !correction;
}

/** What the sender stated about the customer's visit and browser. Not stored when consent withholds visits. */
export interface SentIdentifiers {
  readonly clickIds?: SentClickIds | undefined;
  readonly ipAddress?: string | undefined;
  readonly userAgent?: string | undefined;
  /** Without query and fragment, except click ids and UTM fields. */
  readonly pageUrl?: string | undefined;
  readonly referrer?: string | undefined;
  /** By kind, in the form in which the browser tag reports them. */
  readonly cookies?: Visit['cookies'] | undefined;
  /** Where no visit is matched: by name without `utm_`. */
  readonly utm?: Visit['utm'] | undefined;
}

/** What is stored of a delivery of a source besides the conversion, so that a changed mapping can be tried and applied. */
export interface StoredDelivery {
  /** By JSON pointer. Nothing of the person's identity or visit. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Names and kinds of values, without the values. Of some deliveries only. */
  readonly shape?: unknown;
}

export interface ConversionPersonal extends PersonalHashes, SentIdentifiers {
  /** The key of the person, if there is no email. */
  readonly person?: PersonKey | undefined;
  readonly externalId?: string | undefined;
  readonly address?: Address | undefined;
  /** Free text, so it may be about the person. */
  readonly custom?: Custom | undefined;
  readonly visit?: Visit;
  /** Place of the request in its sender's trace (W3C Trace Context). Personal, because a trace may begin in a person's browser. */
  readonly traceparent?: string | undefined;
  /** Of a conversion that was made of a webhook. */
  readonly delivery?: StoredDelivery | undefined;
  /** Random. The digests of the conversion's payloads are keyed with it. Only of a received conversion. */
  readonly payloadKey?: string | undefined;
}

/** The first event of a conversion's stream: the decision on the request. */
export const conversionEvents = {
  'conversion.received.v1': event(
    'A conversion was accepted. It counts, unless it is a correction, and is delivered to the connected platforms.',
    conversion,
    personal<ConversionPersonal>(),
  ),
  'conversion.deduplicated.v1': event(
    'The same conversion was sent again within the site’s dedup window. It does not count.',
    {
      ...conversion,
      firstConversionId: described(uuid, 'Id of the conversion that it duplicates.'),
      differs: described(strings, 'Names of fields that differ from the first conversion.'),
    },
    personal<ConversionPersonal>(),
  ),
  'conversion.filtered.v1': event(
    'A conversion was filtered: a bot, or a blocked address. It is recorded and does not count.',
    { ...conversion, reason: text('blocked_address, blocked_domain, disposable_address or bot.') },
    personal<ConversionPersonal>(),
  ),
};
export type ConversionEvent = EventsOf<typeof conversionEvents>;
