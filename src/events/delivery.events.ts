import type { ConnectionName } from '../platforms/connection-name.js';
import type { Visit } from '../platforms/conversion.js';
import type { AdConsent } from './conversion.events.js';
import {
  type DataSchema,
  type EventSchema,
  type JsonSchema,
  payloadVersion,
  connectionName as platform,
  position,
  type SchemasOf,
  time,
  uuid,
} from './event-schema.js';

export type OutcomeStatus =
  /** The platform accepted the conversion. */
  | 'delivered'
  /** The platform accepted the request, and reports later or never whether the conversion counts. */
  | 'accepted'
  /** The platform reported later that the conversion counts. */
  | 'confirmed'
  /** The platform reported later that the conversion does not count. */
  | 'rejected'
  /** Not sent, for a reason that does not change without intervention. */
  | 'skipped'
  /** Will be retried. */
  | 'deferred'
  /** Final. */
  | 'failed'
  /** Trial key: the payload was built and checked, nothing was sent. */
  | 'validated';

/** The outcome of one attempt to deliver a conversion to a platform. */
export interface Outcome {
  readonly conversionId: string;
  readonly platform: ConnectionName;
  /** Number of this outcome among all of this conversion at this platform, from 1. */
  readonly attempt: number;
  readonly status: OutcomeStatus;
  readonly reason?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly httpStatus?: number | undefined;
  /** The platform's request id. */
  readonly requestId?: string | undefined;
  /** Keyed digest of the payload. Every attempt after one that the platform may have accepted has the same one. */
  readonly bodySha256?: string | undefined;
  /** The platform's response, truncated and redacted. */
  readonly response?: string | undefined;
  /** ISO time of the next attempt, or, when accepted, of the next status request to the platform. */
  readonly nextTry?: string | undefined;
  /** The next attempt is sent in a request of its own, so that the response concerns this conversion alone. */
  readonly alone?: boolean | undefined;
  /** The event id sent to the platform, when an operator forced a new delivery. */
  readonly eventId?: string | undefined;
  /** Position as of which the settings apply, if they are not those of the receipt. */
  readonly settings?: number | undefined;
  /** Of a delivery that an operator requested, if the payload has another version than the receipt. */
  readonly payloadVersion?: number | undefined;
  /** Version of the event in the stream that added the visit, when the visitor was identified later. */
  readonly reopened?: number | undefined;
  /** Whether the platform may have accepted the conversion in this attempt, although it did not say so. */
  readonly unknown?: boolean | undefined;
  /** ISO time of the first attempt with such an outcome. The delivery is bound to the account and payload of that attempt. */
  readonly unknownSince?: string | undefined;
  /** ISO time after which a deferred delivery is not sent any more. */
  readonly giveUpAt?: string | undefined;
  /** Of a trial conversion or a correction, which statistics do not count. Earlier versions did not record it. */
  readonly uncounted?: true | undefined;
}

/** An operator requested a delivery: with the same event id if the platform has not accepted it, with a new one when forced. */
export interface SendRequest {
  readonly conversionId: string;
  readonly platform: ConnectionName;
  readonly eventId?: string | undefined;
  /** Number of earlier attempts. */
  readonly attempt: number;
  /** Position of the site's newest event; of a bound delivery, the position as of which its settings apply. */
  readonly settings: number;
  /** Of the payload to send, if it is not that of the receipt. */
  readonly payloadVersion?: number | undefined;
  readonly reopened?: number | undefined;
  /** As in the outcomes: the platform may have accepted this event id in an earlier attempt. */
  readonly unknownSince?: string | undefined;
  readonly bodySha256?: string | undefined;
}

/** A visitor was identified after the conversion: a platform skipped for lack of an identifier gets one more attempt. */
export interface Reopening {
  readonly conversionId: string;
  readonly platform: ConnectionName;
  /** Number of earlier attempts. */
  readonly attempt: number;
  /** Position of the event that identified the visitor. */
  readonly by: number;
  readonly consent: AdConsent;
  /** Day on which the conversion was received, if this first matches it to a visit. Used by the match rate. */
  readonly joins?: string;
  readonly trial: boolean;
}

export type OutcomeType = `conversion.${OutcomeStatus}.v1`;

export type OutcomeEvent = {
  [Status in OutcomeStatus]: { type: `conversion.${Status}.v1`; data: Outcome };
}[OutcomeStatus];

export type DeliveryEvent =
  | OutcomeEvent
  | { type: 'conversion.send_requested.v1'; data: SendRequest }
  | {
      type: 'conversion.reopened.v1';
      data: Reopening;
      personal: { readonly subject: string; readonly visit?: Visit | undefined };
    };

const SUMMARIES: Readonly<Record<OutcomeStatus, string>> = {
  delivered: 'The platform accepted the conversion.',
  accepted: 'The platform accepted the request, and reports later or never whether the conversion counts.',
  confirmed: 'The platform reported later that the conversion counts.',
  rejected: 'The platform reported later that the conversion does not count.',
  skipped: 'Not sent to this platform, for a reason that does not change without intervention.',
  deferred: 'The delivery will be retried.',
  failed: 'The delivery to this platform failed for good.',
  validated: 'Trial key: the payload was built and checked, nothing was sent.',
};

const earlierAttempts: JsonSchema = { type: 'integer', minimum: 0, description: 'Number of earlier attempts.' };
const reopened: JsonSchema = {
  type: 'integer',
  minimum: 2,
  description: 'Version of the event in the stream that added the visit, when the visitor was identified later.',
};

const bodySha256: JsonSchema = {
  type: 'string',
  pattern: '^([\\w-]{43}|[0-9a-f]{64})$',
  description:
    'HMAC-SHA256 of the payload with the key in the personal part of the conversion. It stays the same after an attempt that the platform may have accepted. Of conversions from before version 0.3 a plain digest, which is omitted wherever events are shown.',
};
const unknownSince: JsonSchema = {
  ...time,
  description: 'Time of the first attempt that the platform may have accepted without saying so.',
};

const outcome = (status: OutcomeStatus): DataSchema<Outcome> => ({
  type: 'object',
  properties: {
    conversionId: uuid,
    platform,
    attempt: { type: 'integer', minimum: 1, description: 'Number of this outcome at this platform, from 1.' },
    status: { type: 'string', const: status },
    reason: { type: 'string', description: 'Why the delivery was skipped, deferred or failed.' },
    durationMs: { type: 'number', minimum: 0, description: 'Duration of the request.' },
    httpStatus: { type: 'integer' },
    requestId: { type: 'string', description: "The platform's request id." },
    bodySha256,
    response: { type: 'string', description: "The platform's response, truncated and redacted." },
    nextTry: { ...time, description: 'Time of the next attempt, or of the next status request.' },
    alone: { type: 'boolean', description: 'The next attempt is sent in a request of its own.' },
    eventId: { type: 'string', description: 'Event id sent to the platform, when an operator forced a new delivery.' },
    settings: { ...position, description: 'As of which the settings apply, if they are not those of the receipt.' },
    payloadVersion,
    reopened,
    unknown: {
      type: 'boolean',
      description: 'Whether the platform may have accepted the conversion in this attempt without saying so.',
    },
    unknownSince,
    giveUpAt: { ...time, description: 'Time after which the delivery is not sent any more.' },
    uncounted: {
      type: 'boolean',
      const: true,
      description: 'Of a trial conversion or a correction: statistics do not count it.',
    },
  },
  required: ['conversionId', 'platform', 'attempt', 'status'],
  additionalProperties: false,
});

const sendRequested: SchemasOf<{ type: 'conversion.send_requested.v1'; data: SendRequest }> = {
  'conversion.send_requested.v1': {
    summary: 'An operator requested a delivery to a platform that has not accepted the conversion, or a repeat of one.',
    data: {
      type: 'object',
      properties: {
        conversionId: uuid,
        platform,
        eventId: { type: 'string', description: 'A new event id, so that the platform counts the conversion again.' },
        attempt: earlierAttempts,
        settings: position,
        payloadVersion,
        reopened,
        unknownSince,
        bodySha256,
      },
      required: ['conversionId', 'platform', 'attempt', 'settings'],
      additionalProperties: false,
    },
  },
};

const reopening: SchemasOf<{ type: 'conversion.reopened.v1'; data: Reopening }> = {
  'conversion.reopened.v1': {
    summary:
      'A visitor was identified after the conversion: a platform that lacked an identifier gets one more attempt.',
    data: {
      type: 'object',
      properties: {
        conversionId: uuid,
        platform,
        attempt: earlierAttempts,
        by: { ...position, description: 'Position of the event that identified the visitor.' },
        consent: { type: 'string', enum: ['granted', 'denied', 'unknown'] },
        joins: {
          type: 'string',
          format: 'date',
          description: 'Day of the conversion, if this first matches it.',
        },
        trial: { type: 'boolean' },
      },
      required: ['conversionId', 'platform', 'attempt', 'by', 'consent', 'trial'],
      additionalProperties: false,
    },
  },
};

const outcomeSchema = (status: OutcomeStatus) => ({ summary: SUMMARIES[status], data: outcome(status) });

export const outcomeSchemas: Record<OutcomeType, EventSchema> = {
  'conversion.delivered.v1': outcomeSchema('delivered'),
  'conversion.accepted.v1': outcomeSchema('accepted'),
  'conversion.confirmed.v1': outcomeSchema('confirmed'),
  'conversion.rejected.v1': outcomeSchema('rejected'),
  'conversion.skipped.v1': outcomeSchema('skipped'),
  'conversion.deferred.v1': outcomeSchema('deferred'),
  'conversion.failed.v1': outcomeSchema('failed'),
  'conversion.validated.v1': outcomeSchema('validated'),
};

export const deliverySchemas = { ...outcomeSchemas, ...sendRequested, ...reopening };
