import type { StoredEvent } from '../log/event.js';

const WITH_KEY = 'site.key_issued.v1';

/** Whether nothing of an event of this type is left out where events are shown. */
export function isShownWhole(type: string): boolean {
  return type !== WITH_KEY;
}

export type ShownEvent = Omit<StoredEvent, 'data'> & { readonly data: object };

/** An event as it is shown: whole, but for the hash of an API key, which nobody outside has a use for. */
export function shown(event: StoredEvent): ShownEvent {
  if (event.type !== WITH_KEY) return event;
  const { hash: _, ...data } = event.data;
  return { ...event, data };
}
