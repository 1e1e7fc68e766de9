import { OUTBOUND, type ReportingWindow, type Totals } from '../../events/outbound.events.js';
import type { PositionRange } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import { countedUpTo, type End, streamOf } from '../../outbound/reporting-window.js';
import { COUNTED, COUNTED_BY, sumTotals } from '../../outbound/totals.js';
import type { SiteWebhook } from '../../sites/webhook.js';
import type { Check } from '../verify.js';
import { Violations } from './violations.js';

/** The reporting windows of every webhook follow each other without gap or overlap, and their totals match the log. */
export const pushesCheck: Check = {
  name: 'pushes',
  async examine({ sites, log, until, removedUntil, progress }) {
    const violations = new Violations();
    let acknowledged = 0;
    for (const { host, since, webhook, epoch } of await sites.all()) {
      if (!webhook) continue;
      progress(`pushes of ${host} …`);
      const events = (await log.readStream(OUTBOUND, streamOf(host))).filter(({ position }) => position <= until);
      const closings = events.filter((event) => event.type === 'outbound.closed.v1');
      const closed = closings.map(({ data }) => data);
      const delivered = events.filter((event) => event.type === 'outbound.delivered.v1');
      acknowledged += delivered.length;
      const ranges = await rangesOf(log, { webhook, hasMoved: epoch > 0 }, closings);
      // The events of earlier windows can no longer be counted, and their opening events may be gone.
      const countable = ranges.filter(({ after }) => after >= removedUntil);
      for (const violation of [
        ...gapsIn(
          host,
          closings.filter(({ position }) => position >= (since ?? 0)).map(({ data }) => data),
        ),
        ...(await wrongTotals(log, host, countable)),
      ])
        violations.add(violation);
      const versions = new Set(events.map(({ version }) => version));
      // Unless retention has removed the event that closed the window.
      for (const { version, data: window } of delivered)
        if (!closed.some((candidate) => isSame(candidate, window)) && versions.has(version - window.attempt))
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

type Closing = NonNullable<End> & { readonly data: ReportingWindow };

/** Without windows of which this log cannot tell what they counted: those that a version before 0.3 closed in another one. */
async function rangesOf(
  log: EventLog,
  receiver: { readonly webhook: SiteWebhook; readonly hasMoved: boolean },
  closings: readonly Closing[],
): Promise<Counted[]> {
  const ranges: Counted[] = [];
  let before: Closing | undefined;
  for (const closing of closings) {
    const { data } = closing;
    if (!receiver.hasMoved) ranges.push({ ...data, after: data.fromPosition, until: data.toPosition });
    else if (data.counted !== undefined && (!before || before.data.counted !== undefined)) {
      const after = await countedUpTo(log, receiver, before);
      ranges.push({ ...data, after, until: await countedUpTo(log, receiver, closing) });
    }
    before = closing;
  }
  return ranges;
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
