import { publishedFields, UNPUBLISHED_FIELDS } from '../events/unpublished-fields.js';
import type { StoredEvent } from '../log/event.js';

/** Whether events of this type are printed and exported without some of their data. */
export function isRedacted(type: string): boolean {
  return type in UNPUBLISHED_FIELDS;
}

export type RedactedEvent = Omit<StoredEvent, 'data' | 'personal'> & {
  readonly data: object;
  readonly personal: object | null;
};

/** The event as it is printed and exported: without the hash of an API key, which only authentication needs. */
export function redactEvent(event: StoredEvent): RedactedEvent {
  return isRedacted(event.type) ? { ...event, data: publishedFields(event.type, event.data) } : event;
}
