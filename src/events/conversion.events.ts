import type { ConnectionName } from '../platforms/connection-name.js';
import {
  type Address,
  CONVERSION_SOURCES,
  type ConversionSource,
  type Item,
  type Visit,
} from '../platforms/conversion.js';
import type { SentClickId } from '../platforms/manifests.js';
import type { PersonalHashes } from '../platforms/personal-hashes.js';
import {
  connectionName,
  type DataSchema,
  payloadVersion,
  position,
  type SchemasOf,
  strings,
  time,
  uuid,
} from './event-schema.js';
import { type BotVerdict, botVerdictSchema } from './visitor.events.js';

/** Category of the streams that hold one conversion and all its outcomes. */
export const CONVERSION = 'conversion';

/** `keyId` of conversions that were imported from a file: no API key was used. */
export const IMPORT_KEY_ID = '00000000-0000-0000-0000-000000000000';

/** What platforms are told about the person's consent. `unknown`: never stated, or the record could not be read. */
export type AdConsent = 'granted' | 'denied' | 'unknown';

/** Why stored visit data is not sent with a conversion. */
export type WithheldReason =
  /** The person opted out. */
  | 'opted_out'
  /** The site requires consent, and none was given. */
  | 'consent_missing'
  /** The consent record could not be read: treated as an opt-out, but not reported to platforms as one. */
  | 'consent_unreadable';

/** What any instance needs to deliver a received conversion, at any time. */
export interface DeliveryPlan {
  /** Platforms that were connected when the conversion was received. */
  readonly platforms?: readonly ConnectionName[] | undefined;
  /** Position of the site's newest event at that time: payloads are built with the settings as of this position. */
  readonly settings?: number | undefined;
  /** Version of the payloads, `platforms/payload-version.ts`. Absent before there was a second one. */
  readonly payloadVersion?: number | undefined;
  /** The instance that received the conversion; in events of version 0.2 and earlier. */
  readonly instance?: string | undefined;
}

/** The sender's data without the personal part, which is stored beside the event and can be erased. */
export interface ConversionData extends DeliveryPlan {
  readonly conversionId: string;
  readonly event: string;
  /** As sent; absent when absent. */
  readonly value?: number | undefined;
  readonly currency: string;
  readonly orderId?: string | undefined;
  /** When it occurred, as the sender states; ISO 8601, UTC. */
  readonly occurredAt?: string | undefined;
  readonly source?: ConversionSource | undefined;
  readonly items?: readonly Item[] | undefined;
  readonly keyId: string;
  readonly trial: boolean;
  /** Corrects the conversion of the order, as a connection of the site requests for this event. Counted in no total. */
  readonly correction?: true | undefined;
  /** Matched to a visit, which is in the personal part. */
  readonly matched?: true;
  readonly consent?: AdConsent;
  /** Consent to personalised advertising; absent if it is not known. */
  readonly personalization?: 'granted' | 'denied';
  readonly withheld?: WithheldReason;
  readonly bot?: BotVerdict;
  /** The bot score reached the site's threshold. */
  readonly judged?: true;
  /** Visitors of the person whose identifiers are withheld because of their bot verdict. */
  readonly botVisitors?: number;
}

/** Trial conversions and corrections count nowhere. */
export function isCounted({ trial, correction }: Pick<ConversionData, 'trial' | 'correction'>): boolean {
  return !trial && !correction;
}

export type SentClickIds = Readonly<Partial<Record<SentClickId, string>>>;

/** What the sender stated about the customer's browser. Not stored when consent withholds visits. */
export interface SentIdentifiers {
  readonly clickIds?: SentClickIds | undefined;
  readonly ipAddress?: string | undefined;
  readonly userAgent?: string | undefined;
}

export interface ConversionPersonal extends PersonalHashes, SentIdentifiers {
  readonly externalId?: string | undefined;
  readonly address?: Address | undefined;
  readonly visit?: Visit;
  /** Place of the request in its sender's trace (W3C Trace Context). Personal, because a trace may begin in a person's browser. */
  readonly traceparent?: string | undefined;
  /** Random. The digests of the conversion's payloads are keyed with it. Only of a received conversion. */
  readonly payloadKey?: string | undefined;
}

/** The first event of a conversion's stream: the decision on the request. */
export type ConversionEvent =
  /** Counted in the totals, unless it is a correction, and delivered to the platforms. */
  | { type: 'conversion.received.v1'; data: ConversionData; personal: ConversionPersonal }
  /** A duplicate within the site's dedup window. `differs` names the fields that differ from the first conversion. */
  | {
      type: 'conversion.deduplicated.v1';
      data: ConversionData & { firstConversionId: string; differs: string[] };
      personal: ConversionPersonal;
    }
  /** Recorded and counted as filtered, not delivered. */
  | { type: 'conversion.filtered.v1'; data: ConversionData & { reason: string }; personal: ConversionPersonal };

const itemSchema: DataSchema<Item> = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    name: { type: 'string' },
    quantity: { type: 'integer', minimum: 1 },
    price: { type: 'number', minimum: 0, description: 'Of one unit, in the currency of the conversion.' },
    category: { type: 'string' },
  },
  required: ['id'],
  additionalProperties: false,
};

const properties: DataSchema<ConversionData>['properties'] = {
  conversionId: { ...uuid, description: 'Id of the conversion. Its stream is conversion-<conversionId>.' },
  event: { type: 'string', description: 'Event name chosen by the sender: purchase, lead, signup, or any other.' },
  value: { type: 'number', minimum: 0, description: 'As sent; absent when absent.' },
  currency: { type: 'string', pattern: '^[A-Z]{3}$', description: 'ISO 4217.' },
  orderId: { type: 'string', description: "The sender's order number." },
  occurredAt: {
    ...time,
    description: 'When it occurred, if the sender states it. Totals count by the time of the event.',
  },
  source: { type: 'string', enum: CONVERSION_SOURCES, description: 'Where it happened.' },
  items: { type: 'array', items: itemSchema, description: 'Lines of the order.' },
  keyId: {
    ...uuid,
    description: `Id of the API key that the request carried; ${IMPORT_KEY_ID} if it was imported from a file.`,
  },
  trial: { type: 'boolean', description: 'Sent with a trial key: counted in no total, delivered to no platform.' },
  correction: {
    type: 'boolean',
    const: true,
    description: 'A correction, such as a refund, of the conversion of the order: counted in no total.',
  },
  platforms: {
    type: 'array',
    items: connectionName,
    description: 'Platforms connected when the conversion was received. An outcome follows for each of them.',
  },
  settings: {
    ...position,
    description: "Position of the site's newest event at that time: payloads are built with the settings as of it.",
  },
  payloadVersion,
  instance: {
    type: 'string',
    description: 'The instance that received the conversion. Version 0.3 and later omit it.',
  },
  matched: { type: 'boolean', const: true, description: 'The conversion was matched to a visit.' },
  consent: { type: 'string', enum: ['granted', 'denied', 'unknown'], description: 'What platforms are told.' },
  personalization: {
    type: 'string',
    enum: ['granted', 'denied'],
    description: 'Consent to personalised advertising, if it is known.',
  },
  withheld: {
    type: 'string',
    enum: ['opted_out', 'consent_missing', 'consent_unreadable'],
    description: 'Why stored visit data is not sent.',
  },
  bot: { ...botVerdictSchema, description: "Bot verdict of the person's visitors." },
  judged: { type: 'boolean', const: true, description: "The bot score reached the site's threshold." },
  botVisitors: {
    type: 'integer',
    minimum: 1,
    description: 'How many visitors of the person have their identifiers withheld because of their bot verdict.',
  },
};
const required = ['conversionId', 'event', 'currency', 'keyId', 'trial'] as const;
const common = { type: 'object', required, additionalProperties: false } as const;

export const conversionSchemas: SchemasOf<ConversionEvent> = {
  'conversion.received.v1': {
    summary:
      'A conversion was accepted. It counts, unless it is a correction, and is delivered to the connected platforms.',
    data: { ...common, properties },
  },
  'conversion.deduplicated.v1': {
    summary: 'The same conversion was sent again within the site’s dedup window. It does not count.',
    data: {
      ...common,
      properties: {
        ...properties,
        firstConversionId: { ...uuid, description: 'Id of the conversion that it duplicates.' },
        differs: { ...strings, description: 'Names of fields that differ from the first conversion.' },
      },
      required: [...required, 'firstConversionId', 'differs'],
    },
  },
  'conversion.filtered.v1': {
    summary: 'A conversion was filtered: a bot, or a blocked address. It is recorded and does not count.',
    data: {
      ...common,
      properties: {
        ...properties,
        reason: { type: 'string', description: 'blocked_address, blocked_domain, disposable_address or bot.' },
      },
      required: [...required, 'reason'],
    },
  },
};
