import { z } from 'zod';
import { STATUSES } from '../../history/conversions/conversion-filter.js';
import { OUTCOMES } from '../../kernel/outcome-words.js';
import { CONSENT_FIELDS } from '../../platforms/conversion.js';
import { eventSchema, pageQuery } from '../events/event-pages.js';
import { bound, time } from '../schemas.js';
import { attemptFields } from './attempts.schemas.js';

export const conversionIdSchema = z.uuid();

const { conversion, order, platform, connection } = attemptFields;

/** How conversions are selected. */
export const conversionFields = {
  ...{ order, platform, connection },
  event: z.string().min(1).max(200).optional().meta({ description: 'As the sender names it, such as `purchase`.' }),
  source: z.string().min(1).max(100).optional().meta({
    description: 'Where it happened, such as `website`, or the source whose webhook it was made of, such as `shopify`.',
  }),
  status: z.enum(STATUSES).optional().meta({ description: 'What the receipt was.' }),
  outcome: z.enum(OUTCOMES).optional().meta({
    description:
      'What became of a delivery, with "platform" or "connection" of one to it; "filtered" and "duplicate" of the conversion itself.',
  }),
};

export const conversionsQuery = pageQuery
  .extend({
    conversion,
    ...conversionFields,
    from: bound.optional().meta({ description: 'A time or a position, inclusive.' }),
    to: bound.optional().meta({ description: 'A time or a position, exclusive.' }),
  })
  .strict();

const botSchema = z.object({
  score: z.number().meta({ description: '0 to 100.' }),
  reasons: z.array(z.string()),
  list: z.string(),
});

const itemSchema = z.object({
  id: z.string(),
  name: z.string().optional(),
  quantity: z.int().optional(),
  price: z.number().optional(),
  category: z.string().optional(),
});

/** The public part of the event that opened the conversion's stream. */
const facts = z.object({
  conversionId: z.uuid(),
  status: z.enum(STATUSES),
  time,
  event: z.string(),
  value: z.number().optional(),
  currency: z.string(),
  orderId: z.string().optional(),
  eventId: z.string().optional().meta({ description: 'As the sender, or its browser pixel, names the event.' }),
  occurredAt: time.optional(),
  source: z.string().optional().meta({ description: 'Where it happened.' }),
  delivery: z
    .object({ source: z.string(), topic: z.string() })
    .optional()
    .meta({ description: 'The webhook that it was made of.' }),
  items: z.array(itemSchema).optional(),
  sentConsent: z
    .partialRecord(z.enum(CONSENT_FIELDS), z.enum(['granted', 'denied']))
    .optional()
    .meta({ description: 'Consent to this conversion, as its sender states it.' }),
  dropped: z
    .array(z.string())
    .optional()
    .meta({ description: 'Optional fields that were not valid, and are not used as far as they are not.' }),
  unknown: z
    .array(z.string())
    .optional()
    .meta({ description: 'Common misspellings of fields that were sent; `other` stands for all other unknown names.' }),
  keyId: z.uuid(),
  trial: z.boolean(),
  correction: z.literal(true).optional(),
  platforms: z.array(z.string()).optional().meta({ description: 'The connections that it is delivered to.' }),
  matched: z.literal(true).optional().meta({ description: 'It was matched to a visit.' }),
  consent: z.enum(['granted', 'denied', 'unknown']).optional(),
  personalization: z.enum(['granted', 'denied']).optional(),
  withheld: z.string().optional().meta({ description: 'Why stored visit data is not sent.' }),
  bot: botSchema.optional(),
  judged: z.literal(true).optional().meta({ description: "The bot score reached the site's threshold." }),
  botVisitors: z.int().optional(),
  reason: z.string().optional().meta({ description: 'Why it was filtered.' }),
  firstConversionId: z.uuid().optional().meta({ description: 'The conversion that it duplicates.' }),
  differs: z.array(z.string()).optional().meta({ description: 'Fields that are not as in that conversion.' }),
});

export const conversionSchema = facts
  .extend({
    position: z.int(),
    deliveries: z
      .array(z.object({ platform: z.string(), status: z.string(), reason: z.string().optional() }))
      .meta({ description: 'What became of each delivery, as of now; `queued` before its first outcome.' }),
  })
  .meta({ id: 'Conversion' });

export const personSchema = z.union([
  z.object({ hash: z.string().max(64).meta({ description: 'SHA-256 of the normalised email address.' }) }).strict(),
  z.object({ phone: z.string().max(64) }).strict(),
  z.object({ clickId: z.string().max(500).meta({ description: 'Id of a click of the person.' }) }).strict(),
]);

export const foundSchema = z
  .object({
    items: z.array(conversionSchema).meta({ description: 'The newest 20, newest first.' }),
    complete: z.boolean().meta({
      description: 'False: a phone or click id that was sent with an email was looked for in the newest events only.',
    }),
  })
  .meta({ id: 'ConversionsOfPerson' });

const visitSchema = z.object({
  pageUrl: z.string().optional(),
  referrer: z.string().optional(),
  ip: z.string().optional(),
  userAgent: z.string().optional(),
  visitorId: z.string().optional(),
  clicks: z.record(z.string(), z.object({ id: z.string(), timeMs: z.number() })),
  cookies: z.record(z.string(), z.string()),
  utm: z.record(z.string(), z.string()),
});

const attemptSchema = z.object({
  time,
  attempt: z.int(),
  status: z.string(),
  reason: z.string().optional(),
  durationMs: z.number().optional(),
  httpStatus: z.int().optional(),
  requestId: z.string().optional(),
  response: z.string().optional().meta({ description: "The platform's answer, truncated and redacted." }),
  nextTry: time.optional(),
  eventId: z.string().optional(),
  bodySha256: z.string().optional(),
  without: z
    .array(z.string())
    .optional()
    .meta({ description: 'Identifiers that the platform refused, and that payloads leave out since.' }),
  unknown: z.boolean().optional().meta({ description: 'The platform may have accepted it without saying so.' }),
  unknownSince: time.optional(),
  giveUpAt: time.optional(),
});

const deliverySchema = z.object({
  platform: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  attempts: z.array(attemptSchema).meta({ description: 'Oldest first; the last may be a confirmation.' }),
  payload: z.unknown().optional().meta({ description: 'Rebuilt; absent if none was sent or the person was erased.' }),
  payloadIsExact: z.boolean().optional().meta({ description: 'It has the digest of the payload that was sent.' }),
});

export const historySchema = z
  .object({
    conversion: facts.extend({ key: z.object({ name: z.string(), prefix: z.string() }).optional() }),
    masked: z.boolean().meta({ description: 'Personal values are replaced by •••, and events have no personal part.' }),
    match: visitSchema.nullable().meta({ description: 'The matched visit.' }),
    consent: z.enum(['granted', 'denied', 'unknown']).nullable(),
    deliveries: z.array(deliverySchema),
    events: z
      .array(eventSchema.extend({ personal: z.record(z.string(), z.unknown()).nullable().optional() }))
      .meta({ description: 'Of the conversion, and the receipt of its duplicates and corrections.' }),
  })
  .meta({ id: 'ConversionHistory' });
