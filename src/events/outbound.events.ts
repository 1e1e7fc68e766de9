import * as z from 'zod/mini';
import {
  amount,
  count,
  type DataOf,
  described,
  type EventsOf,
  event,
  integerFrom,
  position,
  time,
  uuid,
  type ValueOf,
} from './event-declaration.js';

/** Category of the streams that hold one site's reporting windows, in order, and all attempts to push them. */
export const OUTBOUND = 'outbound';

const totals = z.strictObject({ conversions: count, bot_traffic_removed: count });
export type Totals = ValueOf<typeof totals>;

/** A position range of the log that was counted and closed. It never changes. */
const window = {
  stretchId: described(uuid, 'Id of the reporting window: the webhook-id of every push of it.'),
  fromPosition: described(
    position,
    'Exclusive: the end of the previous window, also after the site has moved to another log.',
  ),
  toPosition: described(position, 'Inclusive.'),
  counted: z.optional(
    described(
      z.nullable(z.strictObject({ stream: uuid, version: integerFrom(1) })),
      'The last event that this window or an earlier one counts: the same in every cell. Null if there is none; absent in events of versions before 0.3.',
    ),
  ),
  windowStart: time,
  windowEnd: time,
  body: described(totals, 'The body of the push.'),
  // Where the log continued after the last restore or failover before the window was closed.
  series: z.optional(
    described(
      position,
      'Windows up to the next restore or failover of the log have it in common, and later ones have a higher one. Absent before the first.',
    ),
  ),
  seriesStart: z.optional(
    described(
      position,
      'With `series`: windows of earlier series that end beyond this position are void. What they counted is lost, or counted again.',
    ),
  ),
};
export type ReportingWindow = DataOf<typeof window>;

const attempt = {
  attempt: described(integerFrom(1), 'Number of this attempt for the window, from 1.'),
  durationMs: amount,
  httpStatus: z.optional(z.int()),
};
export type PushAttempt = DataOf<typeof attempt>;

const failedAttempt = {
  ...attempt,
  reason: z.string(),
  // Since the webhook was last set or enabled. The time is that of the first.
  failures: described(count, 'Consecutive failures.'),
  failingSince: time,
  nextTry: z.optional(described(time, 'Absent when no attempt follows until the webhook is enabled again.')),
};
export type FailedPushAttempt = DataOf<typeof failedAttempt>;

/** Each event holds the whole window, so the last event of a stream alone gives the state of the site. */
export const outboundEvents = {
  'outbound.closed.v1': event('A reporting window was counted and closed. It never changes.', {
    ...window,
    removedUntil: z.optional(
      described(
        position,
        'Retention had removed the events up to there while the webhook was disabled: they are not counted.',
      ),
    ),
  }),
  'outbound.delivered.v1': event('The receiver accepted the totals: the next window starts where this one ends.', {
    ...window,
    ...attempt,
  }),
  'outbound.failed.v1': event('The push of the totals failed.', { ...window, ...failedAttempt }),
};
export type OutboundEvent = EventsOf<typeof outboundEvents>;
