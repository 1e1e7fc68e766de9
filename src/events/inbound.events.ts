import * as z from 'zod/mini';
import type { PersonalHashes } from '../platforms/personal-hashes.js';
import { type ConversionPersonal, sourceDelivery } from './conversion.events.js';
import {
  count,
  type DataOf,
  described,
  type EventsOf,
  event,
  integerFrom,
  personal,
  recordOf,
  strings,
  text,
  time,
  uuid,
} from './event-declaration.js';

/** Category of the streams about conversions that were refused. */
export const INBOUND = 'inbound';

const rejected = z.strictObject({
  time,
  reason: text('The invalid field, such as email; or what was wrong with the body, such as syntax.'),
  by: text('Who sent it: key:<id>, or cli:<user>.'),
});
/** What one instance refused since its last such event. The last one was refused just before the event was appended. */
const rejections = {
  since: described(time, 'When the first of them was refused.'),
  count: integerFrom(1),
  reasons: described(recordOf(count), 'How many for each reason.'),
  sample: described(z.array(rejected), 'Some of them, without any value that was sent.'),
};
export type RejectedConversions = DataOf<typeof rejections>;

const ignoredDelivery = {
  ...sourceDelivery,
  keyId: described(uuid, 'Id of the connection of the source.'),
  reason: text(
    'Why it is no conversion: a condition of the mapping, a missing or invalid field, or an order that is known.',
  ),
  conversionId: z.exactOptional(described(uuid, 'The conversion of that order.')),
};
export type IgnoredDelivery = DataOf<typeof ignoredDelivery>;

/** Of the person: hashes, as a conversion has them. */
export type IgnoredDeliveryPersonal = Pick<
  ConversionPersonal,
  'subject' | 'person' | 'delivery' | Exclude<keyof PersonalHashes, 'subject'>
>;

const refusals = {
  keyId: described(uuid, 'Id of the connection of the source.'),
  source: sourceDelivery.source,
  since: described(time, 'When the first of them was refused.'),
  count: integerFrom(1),
  reasons: described(recordOf(count), 'How many for each reason.'),
  topics: described(strings, 'Some topics that the mapping does not have, without those that are no plain names.'),
};
export type RefusedDeliveries = DataOf<typeof refusals>;

export const inboundEvents = {
  'inbound.delivery_ignored.v1': event(
    'An authentic delivery of a source was stored and is no conversion.',
    ignoredDelivery,
    personal<IgnoredDeliveryPersonal>(),
  ),
  'inbound.deliveries_refused.v1': event(
    'Deliveries of a source were refused: not authentic, too large, repeated, or of a topic that the mapping does not have.',
    refusals,
  ),
  'inbound.rejected.v1': event(
    'Conversions of the site were refused, because a field was invalid or the body could not be read.',
    rejections,
  ),
};
export type InboundEvent = EventsOf<typeof inboundEvents>;
