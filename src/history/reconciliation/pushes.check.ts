import { OUTBOUND, type ReportingWindow, type Totals } from '../../events/outbound.events.js';
import type { PositionRange } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import { streamOf } from '../../outbound/reporting-window.js';
import { COUNTED, COUNTED_BY, sumTotals } from '../../outbound/totals.js';
import type { Check } from '../verify.js';
import { Violations } from './violations.js';

/** The reporting windows of every webhook follow each other without gap or overlap, and their totals match the log. */
export const pushesCheck: Check = {
  name: 'pushes',
  async examine({ sites, log, until, removedUntil, progress }) {
    const violations = new Violations();
    let acknowledged = 0;
    for (const { host, since, webhook } of await sites.all()) {
      if (!webhook) continue;
      progress(`pushes of ${host} …`);
      const events = (await log.readStream(OUTBOUND, streamOf(host))).filter(({ position }) => position <= until);
      const closed = events.filter((event) => event.type === 'outbound.closed.v1').map(({ data }) => data);
      const delivered = events.filter((event) => event.type === 'outbound.delivered.v1').map(({ data }) => data);
      acknowledged += delivered.length;
      const ranges = await rangesOf(log, host, closed);
      // The events of earlier windows can no longer be counted, and their opening events may be gone.
      const countable = ranges.filter(({ after }) => after >= removedUntil);
      for (const violation of [
        ...gapsIn(
          host,
          closed.filter(({ fromPosition }) => fromPosition >= (since?.place ?? 0)),
        ),
        ...(await wrongTotals(log, host, countable)),
      ])
        violations.add(violation);
      for (const window of delivered)
        if (!closed.some((candidate) => isSame(candidate, window)) && (await isKept(log, host, window, removedUntil)))
          violations.add(
            `${host}: reporting window ${window.stretchId} was pushed with other totals than it was closed with`,
          );
    }
    return violations.finding(`${acknowledged} reporting windows were delivered, and their totals match the log`);
  },
};

function gapsIn(host: string, closed: readonly ReportingWindow[]): string[] {
  return closed.slice(1).flatMap(({ stretchId, fromPosition }, index) => {
    const { toPosition } = closed[index] as ReportingWindow;
    if (fromPosition === toPosition) return [];
    return [`${host}: reporting window ${stretchId} starts at ${fromPosition}, the previous one ends at ${toPosition}`];
  });
}

/** A window with its range of positions in this log. */
type Counted = ReportingWindow & PositionRange;

/** Windows refer to places in the order of the site's events, which are positions of the log that the site was in. */
async function rangesOf(log: EventLog, host: string, closed: readonly ReportingWindow[]): Promise<Counted[]> {
  const ranges: Counted[] = [];
  for (const window of closed) {
    const after = await log.positionOf(host, window.fromPosition);
    ranges.push({ ...window, after, until: await log.positionOf(host, window.toPosition) });
  }
  return ranges;
}

/** Whether retention has left the event that closed the window. */
async function isKept(log: EventLog, host: string, { toPosition }: ReportingWindow, removedUntil: number) {
  return (await log.positionOf(host, toPosition)) > removedUntil;
}

async function wrongTotals(log: EventLog, host: string, windows: readonly Counted[]): Promise<string[]> {
  const violations: string[] = [];
  for (const { stretchId, after, until, body } of windows) {
    const range = { after, until };
    const counted = sumTotals(await log.count({ ...range, site: host, types: COUNTED, by: COUNTED_BY }));
    if (!isEqual(counted, body))
      violations.push(
        `${host}: reporting window ${stretchId} has the totals ${JSON.stringify(body)}, the log has ${JSON.stringify(counted)}`,
      );
  }
  return violations;
}

function isSame(one: ReportingWindow, other: ReportingWindow): boolean {
  return one.stretchId === other.stretchId && isEqual(one.body, other.body);
}

function isEqual(one: Totals, other: Totals): boolean {
  return one.conversions === other.conversions && one.bot_traffic_removed === other.bot_traffic_removed;
}
