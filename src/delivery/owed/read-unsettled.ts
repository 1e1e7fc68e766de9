import { CONVERSION } from '../../events/conversion.events.js';
import { SITE } from '../../events/site.events.js';
import type { EventLog } from '../../log/event-log.js';
import type { UnsettledConversions } from './owed.js';

const PAGE_EVENTS = 5_000;

/** Folds the log up to a position, page by page. `onPage` is called after each one, and returns whether to continue. */
export async function readUnsettled(
  log: Pick<EventLog, 'readFields' | 'read'>,
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
  await forgetEarlier(log, unsettled, until);
}

/** Nothing is sent any more for a site whose host another one has got. */
async function forgetEarlier(
  log: Pick<EventLog, 'read'>,
  unsettled: UnsettledConversions,
  until: number,
): Promise<void> {
  const types = ['site.registered.v1'] as const;
  const registered = await log.read({ after: unsettled.settledUpTo, until, categories: [SITE], types });
  for (const { site: host, position: begins, data } of registered)
    if (data.id !== undefined) unsettled.forget((site, position) => site === host && position < begins);
}
