import { SITE, streamIdOf } from '../events/site.events.js';
import type { LogReads } from '../log/event-log.js';

type Log = Pick<LogReads, 'positionBefore' | 'read' | 'readStreams'>;

/**
 * The last position before a time that separates the events of a site. Those that came with it from another cell count from when they were
 * stored there: their times increase with their positions here, as all times of the site do.
 */
export async function positionBefore(log: Log, time: Date, site: string | undefined): Promise<number> {
  let position = await log.positionBefore(time);
  if (site === undefined) return position;
  for (const event of await log.readStreams(SITE, [streamIdOf(site)]))
    if (event.type === 'site.moved_in.v1')
      position = Math.max(position, await lastBefore(log, time, site, event.data.after, event.position));
  return position;
}

async function lastBefore(log: Log, time: Date, site: string, after: number, until: number): Promise<number> {
  let last = 0;
  for (let [low, high] = [after, until]; low < high; ) {
    const middle = Math.floor((low + high) / 2);
    const [next] = await log.read({ site, after: middle, until: high, limit: 1 });
    if (next && Date.parse(next.time) < time.getTime()) {
      last = next.position;
      low = next.position;
    } else high = middle;
  }
  return last;
}
