import { SITE } from '../events/site.events.js';
import type { EventLog } from '../log/event-log.js';

/**
 * The position before all that has come with sites which arrived after `after`, up to `until`: a scan that was further left it out.
 * Earlier arrivals of these sites in other cells name positions of those, so that more may be read than necessary.
 */
export async function beforeArrived(
  log: Pick<EventLog, 'read'>,
  reached: number,
  after: number,
  until: number,
): Promise<number> {
  const arrived = await log.read({ after, until, categories: [SITE], types: ['site.moved_in.v1'] });
  return Math.min(reached, ...arrived.map(({ data }) => data.after));
}
