const TICK_MS = 25;

export interface Expiring {
  /** By the clock of `performance.now()`. */
  readonly dueMs: number;
  /** Where it stands among the others; kept by `Deadlines`. */
  place: number;
  expire(): void;
}

/**
 * One timer for everything that is under way, and none when nothing is. Coarse: what is due expires up to two ticks
 * late, never early. A look at each once a tick costs less than keeping them in order: nearly all are gone long before
 * they are due.
 */
export class Deadlines {
  private readonly items: Expiring[] = [];
  private timer: NodeJS.Timeout | undefined;

  add(item: Expiring): void {
    item.place = this.items.length;
    this.items.push(item);
    // Where the process was held up, what has arrived meanwhile is read first, and only then somebody judged late.
    this.timer ??= setTimeout(() => setImmediate(() => this.look()), TICK_MS);
  }

  /** The last one takes its place. */
  delete(item: Expiring): void {
    if (this.items[item.place] !== item) return;
    const last = this.items.pop() as Expiring;
    if (last === item) return;
    this.items[item.place] = last;
    last.place = item.place;
  }

  private look(): void {
    const nowMs = performance.now();
    // From the end, so that what takes a place was looked at already.
    for (let place = this.items.length - 1; place >= 0; place -= 1) {
      const item = this.items[place];
      if (item === undefined || item.dueMs > nowMs) continue;
      this.delete(item);
      item.expire();
    }
    if (this.items.length > 0) this.timer?.refresh();
    else this.timer = undefined;
  }
}
