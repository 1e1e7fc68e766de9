import type { StoredEvent } from '../log/event.js';

/** The part of a `conversion.received.v1` event that a delivery needs. */
export type ReceivedConversion = Pick<
  StoredEvent<'conversion.received.v1'>,
  'site' | 'position' | 'time' | 'data' | 'personal'
>;

/** The conversion with the visit and consent of the `conversion.reopened.v1` event that has this version in its stream. */
export function withReopenedVisit(
  received: ReceivedConversion,
  events: readonly StoredEvent[],
  version: number | undefined,
): ReceivedConversion {
  const reopened = version === undefined ? undefined : events.find((event) => event.version === version);
  if (reopened?.type !== 'conversion.reopened.v1') return received;
  const { consent } = reopened.data;
  const visit = reopened.personal?.visit;
  const personal = received.personal && visit ? { ...received.personal, visit } : received.personal;
  return { ...received, data: { ...received.data, consent }, personal };
}
