import type { StoredEvent } from './event.js';
import { type Queryable, readEvents, readHead } from './event-reader.js';
import type { WakeUp } from './wake-up.js';

const POLL_EVERY_MS = 250;
const PAGE_EVENTS = 1_000;

export interface FollowOptions {
  readonly name: string;
  /** Exclusive. */
  readonly after: number;
  /** Only events of these; without it, all. */
  readonly categories?: readonly string[];
}

/**
 * A reader at the log's tail. It looks every 250 ms whatever else happens, and at once when told that something came:
 * the telling may be lost, the looking may not. Since position order is commit order, one number is all it remembers.
 */
export class Follower {
  position: number;
  /** How many positions lay before it at its last look. */
  lag = 0;
  private lookedAtMs = Number.NEGATIVE_INFINITY;
  private looking: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private stopWaking: (() => void) | undefined;
  private stopped = false;

  constructor(
    private readonly source: Queryable,
    private readonly options: FollowOptions,
    private readonly apply: (events: StoredEvent[]) => void | Promise<void>,
    private readonly onStop: () => void,
  ) {
    this.position = options.after;
  }

  get name(): string {
    return this.options.name;
  }

  /** Milliseconds since it last knew that it had seen everything: a process that was frozen finds a large number here. */
  get ageMs(): number {
    return performance.now() - this.lookedAtMs;
  }

  async start(wakeUp: WakeUp): Promise<void> {
    await this.look();
    this.stopWaking = wakeUp.on((category) => {
      if (!this.options.categories || this.options.categories.includes(category)) this.lookQuietly();
    });
    this.timer = setInterval(() => this.lookQuietly(), POLL_EVERY_MS);
  }

  /** Reads on to the log's head as it is at some moment after the call. Rejects when the database cannot be asked. */
  async look(): Promise<void> {
    // One that began before the call may have read the head before it: it is waited for, then a new one begins.
    const earlier = this.looking;
    if (earlier) await earlier.catch(() => {});
    this.looking ??= this.catchUp().finally(() => {
      this.looking = undefined;
    });
    return this.looking;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    this.stopWaking?.();
    this.onStop();
    await this.looking?.catch(() => {});
  }

  private lookQuietly(): void {
    // The next look finds what this one could not; whoever must know meanwhile asks for the age.
    if (!this.looking && !this.stopped) this.look().catch(() => {});
  }

  private async catchUp(): Promise<void> {
    const beganMs = performance.now();
    const head = await readHead(this.source);
    this.lag = Math.max(0, head - this.position);
    while (this.position < head && !this.stopped) {
      const events = await readEvents(this.source, {
        after: this.position,
        until: head,
        limit: PAGE_EVENTS,
        ...(this.options.categories && { categories: this.options.categories }),
      });
      if (events.length > 0) await this.apply(events);
      this.position = events.length < PAGE_EVENTS ? head : (events.at(-1) as StoredEvent).position;
    }
    this.lag = 0;
    this.lookedAtMs = beganMs;
  }
}
