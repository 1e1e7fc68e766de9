import type { StoredEvent } from '../../src/log/event.js';

/** An event whose data has no static type, for tests that assert on the JSON that is stored. */
export interface LooseEvent
  extends Pick<StoredEvent, 'position' | 'id' | 'stream' | 'version' | 'site' | 'time' | 'actor'> {
  readonly type: string;
  readonly data: Record<string, unknown>;
  readonly personal: ({ readonly subject?: string } & Record<string, unknown>) | null;
}

export function loosely(events: readonly StoredEvent[]): LooseEvent[] {
  return events as readonly unknown[] as LooseEvent[];
}
