import { OUTBOUND, type ReportingWindow, type Totals } from '../../events/outbound.events.js';
import type { EventLog } from '../../log/event-log.js';
import { streamOf } from '../../outbound/reporting-window.js';
import { COUNTED, COUNTED_BY, sumTotals } from '../../outbound/totals.js';
import type { Check } from '../verify.js';
import { Wrongs } from './wrongs.js';

/** The totals that receivers took add up to what the log holds, stretch by stretch, without gap or overlap. */
export const pushesCheck: Check = {
  name: 'pushes',
  async examine({ sites, log, until, progress }) {
    const wrongs = new Wrongs();
    let acknowledged = 0;
    for (const { host, webhook } of await sites.all()) {
      if (!webhook) continue;
      progress(`pushes of ${host} …`);
      const events = (await log.readStream(OUTBOUND, streamOf(host))).filter(({ position }) => position <= until);
      const closed = events.filter((event) => event.type === 'outbound.closed.v1').map(({ data }) => data);
      const delivered = events.filter((event) => event.type === 'outbound.delivered.v1').map(({ data }) => data);
      acknowledged += delivered.length;
      for (const wrong of [...tiling(host, closed), ...(await counting(log, host, closed))]) wrongs.add(wrong);
      for (const stretch of delivered)
        if (!closed.some((one) => isSame(one, stretch)))
          wrongs.add(`${host}: stretch ${stretch.stretchId} was not pushed as it was closed`);
    }
    return wrongs.finding(`${acknowledged} stretches were taken, and add up to what the log holds`);
  },
};

function tiling(host: string, closed: readonly ReportingWindow[]): string[] {
  return closed.slice(1).flatMap(({ stretchId, fromPosition }, index) => {
    const { toPosition } = closed[index] as ReportingWindow;
    if (fromPosition === toPosition) return [];
    return [`${host}: stretch ${stretchId} begins at ${fromPosition}, the one before ends at ${toPosition}`];
  });
}

async function counting(log: EventLog, host: string, closed: readonly ReportingWindow[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const { stretchId, fromPosition, toPosition, body } of closed) {
    const range = { after: fromPosition, until: toPosition };
    const counted = sumTotals(await log.count({ ...range, site: host, types: COUNTED, by: COUNTED_BY }));
    if (!isEqual(counted, body))
      wrong.push(`${host}: stretch ${stretchId} says ${JSON.stringify(body)}, the log ${JSON.stringify(counted)}`);
  }
  return wrong;
}

function isSame(one: ReportingWindow, other: ReportingWindow): boolean {
  return one.stretchId === other.stretchId && isEqual(one.body, other.body);
}

function isEqual(one: Totals, other: Totals): boolean {
  return one.conversions === other.conversions && one.bot_traffic_removed === other.bot_traffic_removed;
}
