import * as z from 'zod/mini';
import type { Visit } from '../platforms/conversion.js';
import { OPTIONAL_IDENTIFIERS } from '../platforms/optional-identifiers.js';
import { adConsent } from './conversion.events.js';
import {
  amount,
  count,
  type DataOf,
  described,
  type EventDeclaration,
  type EventsOf,
  event,
  integerFrom,
  payloadVersion,
  personal,
  connectionName as platform,
  position,
  settingsPosition,
  siteVersion,
  text,
  time,
  uuid,
} from './event-declaration.js';
import type { NamedPerson } from './person-keys.js';

const OUTCOMES = {
  delivered: 'The platform accepted the conversion.',
  accepted: 'The platform accepted the request, and reports later or never whether the conversion counts.',
  confirmed: 'The platform reported later that the conversion counts.',
  rejected: 'The platform reported later that the conversion does not count.',
  skipped: 'Not sent to this platform, for a reason that does not change without intervention.',
  deferred: 'The delivery will be retried.',
  failed: 'The delivery to this platform failed for good.',
  validated: 'Trial key: the payload was built and checked, nothing was sent.',
};
export type OutcomeStatus = keyof typeof OUTCOMES;
export type OutcomeType = `conversion.${OutcomeStatus}.v1`;

const earlierAttempts = described(count, 'Number of earlier attempts.');
const reopened = z.optional(
  described(
    integerFrom(2),
    'Version of the event in the stream that added the visit, when the visitor was identified later.',
  ),
);
const bodySha256 = z.optional(
  described(
    z.string().check(z.regex(/^([\w-]{43}|[0-9a-f]{64})$/)),
    'HMAC-SHA256 of the payload with the key in the personal part of the conversion. It stays the same after an attempt that the platform may have accepted. Of conversions from before version 0.3 a plain digest, which is omitted wherever events are shown.',
  ),
);
// The delivery is bound to the account and payload of that attempt.
const unknownSince = z.optional(
  described(time, 'Time of the first attempt that the platform may have accepted without saying so.'),
);

const without = z.optional(
  described(
    z.array(z.enum(OPTIONAL_IDENTIFIERS)),
    'Identifiers that the platform refused. Payloads leave them out since; the digest is that of the payload without them.',
  ),
);

/** The outcome of one attempt to deliver a conversion to a platform. */
const outcome = (status: OutcomeStatus) => ({
  conversionId: uuid,
  platform,
  attempt: described(integerFrom(1), 'Number of this outcome at this platform, from 1.'),
  status: z.literal(status),
  reason: z.optional(text('Why the delivery was skipped, deferred or failed.')),
  durationMs: z.optional(described(amount, 'Duration of the request.')),
  httpStatus: z.optional(z.int()),
  requestId: z.optional(text("The platform's request id.")),
  bodySha256,
  response: z.optional(text("The platform's response, truncated and redacted.")),
  nextTry: z.optional(described(time, 'Time of the next attempt, or of the next status request.')),
  // So that the response concerns this conversion alone.
  alone: z.optional(described(z.boolean(), 'The next attempt is sent in a request of its own.')),
  eventId: z.optional(text('Event id sent to the platform, when an operator forced a new delivery.')),
  // Absent if the settings are those of the receipt.
  siteVersion: z.optional(siteVersion),
  settings: z.optional(settingsPosition),
  // Version of a delivery that an operator requested, if it is not that of the receipt.
  payloadVersion: z.optional(payloadVersion),
  reopened,
  without,
  unknown: z.optional(
    described(z.boolean(), 'Whether the platform may have accepted the conversion in this attempt without saying so.'),
  ),
  unknownSince,
  giveUpAt: z.optional(described(time, 'Time after which the delivery is not sent any more.')),
  // Earlier versions did not record it.
  uncounted: z.optional(
    described(z.literal(true), 'Of a trial conversion or a correction: statistics do not count it.'),
  ),
});
type OutcomeFields = ReturnType<typeof outcome>;
export type Outcome = DataOf<OutcomeFields>;

export const outcomeEvents = Object.fromEntries(
  Object.entries(OUTCOMES).map(([status, summary]) => [
    `conversion.${status}.v1`,
    event(summary, outcome(status as OutcomeStatus)),
  ]),
) as { [Type in OutcomeType]: EventDeclaration<OutcomeFields, undefined> };
export type OutcomeEvent = EventsOf<typeof outcomeEvents>;

/** With the same event id if the platform has not accepted it, with a new one when forced. */
const sendRequest = {
  conversionId: uuid,
  platform,
  eventId: z.optional(text('A new event id, so that the platform counts the conversion again.')),
  attempt: earlierAttempts,
  // The newest one; of a bound delivery, the one as of which its settings apply.
  siteVersion: z.optional(siteVersion),
  settings: z.optional(settingsPosition),
  payloadVersion: z.optional(payloadVersion),
  reopened,
  without,
  unknownSince,
  bodySha256,
};
export type SendRequest = DataOf<typeof sendRequest>;

const reopening = {
  conversionId: uuid,
  platform,
  attempt: earlierAttempts,
  by: described(position, 'Position of the event that identified the visitor, in the log that stored this one first.'),
  consent: adConsent,
  // Used by the match rate.
  joins: z.exactOptional(described(z.iso.date(), 'Day of the conversion, if this first matches it.')),
  trial: z.boolean(),
};
export type Reopening = DataOf<typeof reopening>;

export const deliveryEvents = {
  ...outcomeEvents,
  'conversion.send_requested.v1': event(
    'An operator requested a delivery to a platform that has not accepted the conversion, or a repeat of one.',
    sendRequest,
  ),
  'conversion.reopened.v1': event(
    'A visitor was identified after the conversion: a platform that lacked an identifier gets one more attempt.',
    reopening,
    personal<NamedPerson & { readonly visit?: Visit | undefined }>(),
  ),
};
export type DeliveryEvent = EventsOf<typeof deliveryEvents>;
