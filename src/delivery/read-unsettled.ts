import { CONVERSION } from '../events/conversion.events.js';
import type { EventLog } from '../log/event-log.js';
import type { UnsettledConversions } from './owed.js';

const PAGE_EVENTS = 5_000;

/** Folds the log up to a position, page by page. `onPage` is called after each one, and returns whether to continue. */
export async function readUnsettled(
  log: Pick<EventLog, 'readFields'>,
  unsettled: UnsettledConversions,
  until: number,
  onPage: () => boolean,
): Promise<void> {
  unsettled.readMissedAgain();
  while (unsettled.readUpTo < until) {
    const page = await log.readFields({
      after: unsettled.readUpTo,
      until,
      limit: PAGE_EVENTS,
      category: CONVERSION,
      opening: { type: 'conversion.received.v1', field: 'platforms' },
      field: 'platform',
    });
    for (const event of page) unsettled.apply(event);
    if (page.length < PAGE_EVENTS) unsettled.skipTo(until);
    if (!onPage()) return;
  }
}
