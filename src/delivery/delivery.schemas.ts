import {
  type DataSchema,
  type EventSchema,
  type JsonSchema,
  position,
  type SchemasOf,
  time,
  uuid,
} from '../log/event-schema.js';
import { PLATFORM_NAMES } from '../platforms/platform.js';
import type { Outcome, OutcomeStatus, OutcomeType, Reopening, SendRequest } from './delivery.js';

const SUMMARIES: Readonly<Record<OutcomeStatus, string>> = {
  delivered: 'The platform took the conversion.',
  accepted: 'The platform took the call, and says later or never whether the conversion counts.',
  confirmed: 'The platform said later that it counts.',
  rejected: 'The platform said later that it does not count.',
  skipped: 'It is not sent to this platform, for a reason that will not change by itself.',
  deferred: 'It will be tried again.',
  failed: 'It was given up for this platform.',
  validated: 'It came with a trial key: built and checked, nothing was sent.',
};

const platform = { type: 'string', enum: PLATFORM_NAMES } as const;
const reopened: JsonSchema = {
  type: 'integer',
  minimum: 2,
  description: 'The version of the event in its stream that brought the visit, where that was identified later.',
};

const outcome = (status: OutcomeStatus): DataSchema<Outcome> => ({
  type: 'object',
  properties: {
    conversionId: uuid,
    platform,
    attempt: { type: 'integer', minimum: 1, description: 'Counts every outcome of this conversion at this platform.' },
    status: { type: 'string', const: status },
    reason: { type: 'string', description: 'Why it was skipped, is waiting, or failed.' },
    durationMs: { type: 'number', minimum: 0, description: 'Of the call.' },
    httpStatus: { type: 'integer' },
    requestId: { type: 'string', description: "The platform's own." },
    bodySha256: {
      type: 'string',
      pattern: '^[0-9a-f]{64}$',
      description: 'Of the payload: every attempt carries the same.',
    },
    response: { type: 'string', description: 'What the platform answered, shortened, without anything personal.' },
    nextTry: { ...time, description: 'Of the next try, or of the next question what became of it.' },
    alone: { type: 'boolean', description: 'The next try goes in a call of its own.' },
    eventId: { type: 'string', description: 'Under which the platform knows it, where an operator sent it once more.' },
    settings: { ...position, description: 'As of which its settings count, where an operator asked for it.' },
    reopened,
  },
  required: ['conversionId', 'platform', 'attempt', 'status'],
  additionalProperties: false,
});

const sendRequested: SchemasOf<{ type: 'conversion.send_requested.v1'; data: SendRequest }> = {
  'conversion.send_requested.v1': {
    summary: 'An operator wants a conversion sent to a platform that has not taken it, or once more.',
    data: {
      type: 'object',
      properties: {
        conversionId: uuid,
        platform,
        eventId: { type: 'string', description: 'A new id, so that it counts once more.' },
        attempt: { type: 'integer', minimum: 0, description: 'How many there were before.' },
        settings: position,
        reopened,
      },
      required: ['conversionId', 'platform', 'attempt', 'settings'],
      additionalProperties: false,
    },
  },
};

const reopening: SchemasOf<{ type: 'conversion.reopened.v1'; data: Reopening }> = {
  'conversion.reopened.v1': {
    summary: 'A visit was identified after its conversion: a platform that lacked an identifier is tried once more.',
    data: {
      type: 'object',
      properties: {
        conversionId: uuid,
        platform,
        attempt: { type: 'integer', minimum: 0, description: 'How many there were before.' },
        by: { ...position, description: 'Of the event that brought the visit.' },
        consent: { type: 'string', enum: ['granted', 'denied', 'unknown'] },
        joins: { type: 'string', format: 'date', description: 'The day of the conversion, where this first joins it.' },
        trial: { type: 'boolean' },
      },
      required: ['conversionId', 'platform', 'attempt', 'by', 'consent', 'trial'],
      additionalProperties: false,
    },
  },
};

const told = (status: OutcomeStatus) => ({ summary: SUMMARIES[status], data: outcome(status) });

const outcomes: Record<OutcomeType, EventSchema> = {
  'conversion.delivered.v1': told('delivered'),
  'conversion.accepted.v1': told('accepted'),
  'conversion.confirmed.v1': told('confirmed'),
  'conversion.rejected.v1': told('rejected'),
  'conversion.skipped.v1': told('skipped'),
  'conversion.deferred.v1': told('deferred'),
  'conversion.failed.v1': told('failed'),
  'conversion.validated.v1': told('validated'),
};

export const deliverySchemas = { ...outcomes, ...sendRequested, ...reopening };
