import type { StoredOpening } from '../../conversions/conversion.js';
import { foldDeliveries } from '../../delivery/delivery.js';
import { CONVERSION } from '../../events/conversion.events.js';
import type { StoredEvent } from '../../log/event.js';
import type { LogReads } from '../../log/event-log.js';
import type { DeliveryState } from './conversion-filter.js';

/** The events of these conversions by stream, in the order of the openings: those after the opening without personal parts. */
export async function readConversionStreams<Opening extends StoredOpening>(
  log: Pick<LogReads, 'readStreams'>,
  openings: readonly Opening[],
): Promise<Map<string, [Opening, ...StoredEvent[]]>> {
  const streams = new Map<string, [Opening, ...StoredEvent[]]>(openings.map((opening) => [opening.stream, [opening]]));
  // The others are not delivered.
  const ids = openings.filter(({ type }) => type === 'conversion.received.v1').map(({ data }) => data.conversionId);
  const events = ids.length === 0 ? [] : await log.readStreams(CONVERSION, ids);
  for (const event of events) if (event.version > 1) streams.get(event.stream)?.push(event);
  return streams;
}

/** What became of the deliveries of a conversion, from its stream. */
export function deliveryStates(events: readonly StoredEvent[]): DeliveryState[] {
  return foldDeliveries(events).map(({ platform, last }) => ({
    platform,
    status: last?.status ?? 'queued',
    ...(last?.reason !== undefined && { reason: last.reason }),
  }));
}
