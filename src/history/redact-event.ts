import type { StoredEvent } from '../log/event.js';

const KEY_ISSUED = 'site.key_issued.v1';

/** Whether events of this type are printed and exported without some of their data. */
export function isRedacted(type: string): boolean {
  return type === KEY_ISSUED;
}

export type RedactedEvent = Omit<StoredEvent, 'data'> & { readonly data: object };

/** The event as it is printed and exported: without the hash of an API key, which only authentication needs. */
export function redactEvent(event: StoredEvent): RedactedEvent {
  if (event.type !== KEY_ISSUED) return event;
  const { hash: _, ...data } = event.data;
  return { ...event, data };
}
