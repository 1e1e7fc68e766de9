import { publishedFields } from '../events/unpublished-fields.js';
import type { StoredEvent } from '../log/event.js';

export type RedactedEvent = Omit<StoredEvent, 'data' | 'personal'> & {
  readonly data: object;
  readonly personal: object | null;
};

/** The event as it is printed and exported: without what stays in the database. */
export function redactEvent(event: StoredEvent): RedactedEvent {
  const data = publishedFields(event.type, event.data);
  return data === event.data ? event : { ...event, data };
}
