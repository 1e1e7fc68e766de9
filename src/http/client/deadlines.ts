const TICK_MS = 25;

export interface Expiring {
  /** On the clock of `performance.now()`. */
  readonly dueMs: number;
  /** Its index in the list; maintained by `Deadlines`. */
  index: number;
  expire(): void;
}

/**
 * One timer for all exchanges, and none while there are none. Coarse: an item expires up to two ticks late, never early. Checking
 * every item once per tick costs less than keeping them sorted: nearly all are removed long before they are due.
 */
export class Deadlines {
  private readonly items: Expiring[] = [];
  private timer: NodeJS.Timeout | undefined;

  add(item: Expiring): void {
    item.index = this.items.length;
    this.items.push(item);
    // If the event loop was blocked, responses that have arrived are read before deadlines are checked.
    this.timer ??= setTimeout(() => setImmediate(() => this.check()), TICK_MS);
  }

  /** The last item moves to its index. */
  delete(item: Expiring): void {
    if (this.items[item.index] !== item) return;
    const last = this.items.pop() as Expiring;
    if (last === item) return;
    this.items[item.index] = last;
    last.index = item.index;
  }

  private check(): void {
    const nowMs = performance.now();
    // From the end, so that an item that moves to a lower index was checked already.
    for (let index = this.items.length - 1; index >= 0; index -= 1) {
      const item = this.items[index];
      if (item === undefined || item.dueMs > nowMs) continue;
      this.delete(item);
      item.expire();
    }
    if (this.items.length > 0) this.timer?.refresh();
    else this.timer = undefined;
  }
}
