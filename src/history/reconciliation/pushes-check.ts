import type { StoredEvent } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import { OUTBOUND, type Stretch, streamOf } from '../../outbound/stretch.js';
import { addUp, COUNTED, DECIDING, type Totals } from '../../outbound/totals.js';
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
      const closed = stretchesOf(events, 'outbound.closed.v1');
      const delivered = stretchesOf(events, 'outbound.delivered.v1');
      acknowledged += delivered.length;
      for (const wrong of [...tiling(host, closed), ...(await counting(log, host, closed))]) wrongs.add(wrong);
      for (const stretch of delivered)
        if (!closed.some((one) => isSame(one, stretch)))
          wrongs.add(`${host}: stretch ${stretch.stretchId} was not pushed as it was closed`);
    }
    return wrongs.finding(`${acknowledged} stretches were taken, and add up to what the log holds`);
  },
};

function stretchesOf(events: readonly StoredEvent[], type: string): Stretch[] {
  return events.filter((event) => event.type === type).map(({ data }) => data as unknown as Stretch);
}

function tiling(host: string, closed: readonly Stretch[]): string[] {
  return closed.slice(1).flatMap(({ stretchId, fromPosition }, index) => {
    const { toPosition } = closed[index] as Stretch;
    if (fromPosition === toPosition) return [];
    return [`${host}: stretch ${stretchId} begins at ${fromPosition}, the one before ends at ${toPosition}`];
  });
}

async function counting(log: EventLog, host: string, closed: readonly Stretch[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const { stretchId, fromPosition, toPosition, body } of closed) {
    const range = { after: fromPosition, until: toPosition };
    const counted = addUp(await log.count({ ...range, site: host, types: COUNTED, by: DECIDING }));
    if (!isEqual(counted, body))
      wrong.push(`${host}: stretch ${stretchId} says ${JSON.stringify(body)}, the log ${JSON.stringify(counted)}`);
  }
  return wrong;
}

function isSame(one: Stretch, other: Stretch): boolean {
  return one.stretchId === other.stretchId && isEqual(one.body, other.body);
}

function isEqual(one: Totals, other: Totals): boolean {
  return one.conversions === other.conversions && one.bot_traffic_removed === other.bot_traffic_removed;
}
