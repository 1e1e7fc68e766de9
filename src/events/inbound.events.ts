import * as z from 'zod/mini';
import {
  count,
  type DataOf,
  described,
  type EventsOf,
  event,
  integerFrom,
  recordOf,
  text,
  time,
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

export const inboundEvents = {
  'inbound.rejected.v1': event(
    'Conversions of the site were refused, because a field was invalid or the body could not be read.',
    rejections,
  ),
};
export type InboundEvent = EventsOf<typeof inboundEvents>;
