import type { InboundEvent } from '../events/inbound.events.js';
import { INBOUND } from '../events/inbound.events.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { EventLog } from '../log/event-log.js';

export interface CountEvent {
  readonly site: string;
  readonly event: InboundEvent;
}

interface Unstored extends CountEvent {
  readonly stream: string;
}

/** Stores what was counted as one event per key at a time. An append without an answer is repeated unchanged: its stream shows whether it was stored. */
export class StoredCounts {
  private readonly unstored = new Map<string, Unstored>();
  private flushing: Promise<void> | undefined;

  /** `take`: removes what was counted for a key and returns its event; undefined if there is nothing. */
  constructor(
    private readonly log: EventLog,
    private readonly keys: () => Iterable<string>,
    private readonly take: (key: string) => CountEvent,
  ) {}

  /** Rejects if something could not be stored. It is kept for the next call. */
  flush(): Promise<void> {
    this.flushing ??= this.storeAll().finally(() => {
      this.flushing = undefined;
    });
    return this.flushing;
  }

  private async storeAll(): Promise<void> {
    for (const key of [...this.keys()])
      if (!this.unstored.has(key)) this.unstored.set(key, { stream: uuidv7(), ...this.take(key) });
    const appends = await Promise.allSettled([...this.unstored].map(([key, event]) => this.store(key, event)));
    const failed = appends.find((append) => append.status === 'rejected');
    if (failed) throw failed.reason;
  }

  private async store(key: string, { stream, site, event }: Unstored): Promise<void> {
    // A conflict of the first call tells that an earlier one was stored.
    await this.log.append({ category: INBOUND, stream, expected: 0, site, actor: 'system', events: [event] });
    this.unstored.delete(key);
  }
}
