import { CONVERSION } from '../events/conversion.events.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import { foldDeliveries } from './delivery.js';
import { type ReceivedConversion } from './received.js';

const PAGE_EVENTS = 2_000;

/** A conversion that some of its platforms have no outcome for. */
export interface Unfinished {
  readonly received: ReceivedConversion;
  readonly missing: readonly PlatformName[];
  /** What its stream has reached. */
  readonly version: number;
}

/** Received by an instance in a stretch of the log, and not settled up to now. */
export async function unfinishedAfter(
  log: Pick<EventLog, 'read'>,
  after: number,
  until: number,
  instance: string,
): Promise<Unfinished[]> {
  const open = new Map<string, [StoredEvent<'conversion.received.v1'>, ...StoredEvent[]]>();
  for (let position = after; ; ) {
    // To the head, not to `until`: the outcomes come later than what they are about.
    const events = await log.read({ after: position, categories: [CONVERSION], limit: PAGE_EVENTS });
    for (const event of events) {
      const known = open.get(event.stream);
      if (known) {
        known.push(event);
        // Settled ones are let go of at once: a long stretch need not fit into memory.
        if (missingOf(known).length === 0) open.delete(event.stream);
      } else if (event.position <= until && isOf(event, instance)) open.set(event.stream, [event]);
    }
    const last = events.at(-1);
    if (!last) break;
    position = last.position;
  }
  return [...open.values()].map((events) => ({
    received: events[0],
    missing: missingOf(events),
    version: events.length,
  }));
}

function isOf(event: StoredEvent, instance: string): event is StoredEvent<'conversion.received.v1'> {
  return event.type === 'conversion.received.v1' && event.data.instance === instance && missingOf([event]).length > 0;
}

/** One that an operator wants sent again waits in the projection, for the retries. */
function missingOf(events: readonly StoredEvent[]): PlatformName[] {
  return foldDeliveries(events)
    .filter(({ last, attempts }) => last === undefined && attempts === 0)
    .map(({ platform }) => platform);
}
