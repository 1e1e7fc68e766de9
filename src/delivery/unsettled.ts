import { CONVERSION } from '../events/conversion.events.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import { foldDeliveries } from './delivery.js';
import type { ReceivedConversion } from './received-conversion.js';

const PAGE_EVENTS = 2_000;

/** A conversion without an outcome for some of its platforms. */
export interface UnsettledConversion {
  readonly received: ReceivedConversion;
  /** Those without an outcome. */
  readonly platforms: readonly PlatformName[];
  /** Version of the last event in its stream. */
  readonly version: number;
}

/** Conversions that an instance received in a position range (`after` exclusive, `until` inclusive) and that are unsettled. */
export async function findUnsettled(
  log: Pick<EventLog, 'read'>,
  after: number,
  until: number,
  instance: string,
): Promise<UnsettledConversion[]> {
  const streams = new Map<string, [StoredEvent<'conversion.received.v1'>, ...StoredEvent[]]>();
  for (let position = after; ; ) {
    // Up to the head, not to `until`: outcomes have later positions than their conversions.
    const events = await log.read({ after: position, categories: [CONVERSION], limit: PAGE_EVENTS });
    for (const event of events) {
      const stream = streams.get(event.stream);
      if (stream) {
        stream.push(event);
        // Drop settled conversions at once, so that a long range fits into memory.
        if (unsettledPlatforms(stream).length === 0) streams.delete(event.stream);
      } else if (event.position <= until && isUnsettledOf(event, instance)) streams.set(event.stream, [event]);
    }
    const last = events.at(-1);
    if (!last) break;
    position = last.position;
  }
  return [...streams.values()].map((events) => ({
    received: events[0],
    platforms: unsettledPlatforms(events),
    version: events.length,
  }));
}

function isUnsettledOf(event: StoredEvent, instance: string): event is StoredEvent<'conversion.received.v1'> {
  if (event.type !== 'conversion.received.v1' || event.data.instance !== instance) return false;
  return unsettledPlatforms([event]).length > 0;
}

/** Excludes deliveries that an operator requested again: the retry scheduler carries those out. */
function unsettledPlatforms(events: readonly StoredEvent[]): PlatformName[] {
  return foldDeliveries(events)
    .filter(({ last, attempts }) => last === undefined && attempts === 0)
    .map(({ platform }) => platform);
}
