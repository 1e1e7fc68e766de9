import { type DataSchema, position, type SchemasOf, uuid } from '../log/event-schema.js';
import { PLATFORM_NAMES } from '../platforms/platform.js';
import { judgementSchema } from '../visitors/visitor.schemas.js';
import type { ConversionData, ConversionEvent } from './conversion.js';

const properties: DataSchema<ConversionData>['properties'] = {
  conversionId: { ...uuid, description: 'Of the conversion; its stream is conversion-<conversionId>.' },
  event: { type: 'string', description: 'The name the sender gave it: purchase, lead, signup, or any other.' },
  value: { type: 'number', minimum: 0, description: 'As it was sent; absent when absent.' },
  currency: { type: 'string', pattern: '^[A-Z]{3}$', description: 'ISO 4217.' },
  orderId: { type: 'string', description: "The sender's order number." },
  keyId: { ...uuid, description: 'Of the API key it came with.' },
  trial: { type: 'boolean', description: 'It came with a trial key: it is in no total and nothing is sent.' },
  platforms: {
    type: 'array',
    items: { type: 'string', enum: PLATFORM_NAMES },
    description: 'Those that were connected when it came in. An outcome follows for each of them.',
  },
  settings: {
    ...position,
    description: "Of the site's newest event then: payloads are built with the settings of that time.",
  },
  instance: { type: 'string', description: 'The process that took it.' },
  matched: { type: 'boolean', const: true, description: 'It was joined to a visit.' },
  consent: { type: 'string', enum: ['granted', 'denied', 'unknown'], description: 'What platforms are told of it.' },
  withheld: {
    type: 'string',
    enum: ['opted_out', 'consent_missing', 'consent_unreadable'],
    description: 'Why nothing that is stored about visits goes along.',
  },
  bot: { ...judgementSchema, description: "What was thought of the person's visit." },
  judged: { type: 'boolean', const: true, description: "The site's threshold for bots was reached." },
};
const required = ['conversionId', 'event', 'currency', 'keyId', 'trial'] as const;
const common = { type: 'object', required, additionalProperties: false } as const;

export const conversionSchemas: SchemasOf<ConversionEvent> = {
  'conversion.received.v1': {
    summary: 'A conversion was accepted. It counts, and goes to the connected platforms.',
    data: { ...common, properties },
  },
  'conversion.deduplicated.v1': {
    summary: 'The same conversion came again within the site’s duplicate window. It does not count.',
    data: {
      ...common,
      properties: {
        ...properties,
        firstConversionId: { ...uuid, description: 'The one it repeats.' },
        differs: {
          type: 'array',
          items: { type: 'string' },
          description: 'Names of fields that are not as in the first.',
        },
      },
      required: [...required, 'firstConversionId', 'differs'],
    },
  },
  'conversion.filtered.v1': {
    summary: 'A conversion that the site does not want. It is kept, and does not count.',
    data: {
      ...common,
      properties: {
        ...properties,
        reason: { type: 'string', description: 'Why: blocked_address, blocked_domain, disposable_address, bot.' },
      },
      required: [...required, 'reason'],
    },
  },
};
