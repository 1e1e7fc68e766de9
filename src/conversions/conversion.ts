import type { ConversionEvent } from '../events/conversion.events.js';
import type { NewEvent, StoredEvent } from '../log/event.js';

/** The event that opens a conversion's stream, before it is appended. */
export type OpeningEvent = ConversionEvent & NewEvent;

export type StoredOpening = StoredEvent<ConversionEvent['type']>;

export function isOpening(event: StoredEvent): event is StoredOpening {
  switch (event.type) {
    case 'conversion.received.v1':
    case 'conversion.deduplicated.v1':
    case 'conversion.filtered.v1':
      return true;
    default:
      return false;
  }
}
