import type { AppendNotifications } from './append/append-notifications.js';
import type { StoredEvent } from './event.js';
import type { ReadOptions } from './event-reader.js';

/** While nothing is appended. What a failover has lost may count for as long. */
const LOST_CHECKED_EVERY_MS = 500;
const PAGE_EVENTS = 1_000;

export interface FollowOptions {
  readonly name: string;
  /** Exclusive. */
  readonly after: number;
  /** Restricts the events to these categories. */
  readonly categories?: readonly string[];
  /** Restricts them to those about a subject of at least this length. */
  readonly subjectBytes?: number;
  /**
   * Called when the log has lost the newest event that was applied, as after a failover to a lagging standby: what was applied
   * must be read again. Resolves with the newest event that was.
   */
  readonly onLost?: () => Promise<StoredEvent | undefined>;
}

export interface FollowerSource {
  head(): Promise<number>;
  read(options: ReadOptions): Promise<StoredEvent[]>;
  isLost?(event: StoredEvent): Promise<boolean>;
}

/**
 * A reader at the tail of the log, which polls it every 250 ms. It also reads when notified of an append; notifications may be
 * lost, polls are not. Position order is commit order, so the last position read is its whole state.
 */
export class Follower {
  position: number;
  /** Number of positions between it and the head at its last read. */
  lag = 0;
  private readAtMs = Number.NEGATIVE_INFINITY;
  private reading: Promise<void> | undefined;
  private lostCheckedMs = Number.NEGATIVE_INFINITY;
  private unsubscribe: (() => void) | undefined;
  private stopped = false;
  private applied: StoredEvent | undefined;

  constructor(
    private readonly source: FollowerSource,
    private readonly options: FollowOptions,
    private readonly apply: (events: StoredEvent[]) => void | Promise<void>,
    private readonly onStop: () => void,
  ) {
    this.position = options.after;
  }

  get name(): string {
    return this.options.name;
  }

  /** Milliseconds since it was known to have read everything. Large after the process was frozen. */
  get ageMs(): number {
    return performance.now() - this.readAtMs;
  }

  async start(notifications: Pick<AppendNotifications, 'on'>): Promise<void> {
    await this.poll();
    this.unsubscribe = notifications.on((category) => {
      if (!this.options.categories || this.options.categories.includes(category)) this.pollQuietly();
    });
  }

  /** Reads up to the head of the log as of some time after the call. Rejects when the database does not answer. */
  async poll(): Promise<void> {
    // A read that started before the call may have read the head before it, so wait for it and start another.
    const earlier = this.reading;
    if (earlier) await earlier.catch(() => {});
    this.reading ??= this.catchUp().finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.unsubscribe?.();
    this.onStop();
    await this.reading?.catch(() => {});
  }

  /** A failed read is repeated by the next poll; callers that need to know check `ageMs`. */
  pollQuietly(): void {
    if (!this.reading && !this.stopped) this.poll().catch(() => {});
  }

  private async catchUp(): Promise<void> {
    const startedMs = performance.now();
    const { categories, subjectBytes } = this.options;
    let head = await this.source.head();
    // Before anything newer is applied: the newest applied event would then be one that exists.
    if (head !== this.position || startedMs - this.lostCheckedMs >= LOST_CHECKED_EVERY_MS) {
      // The head may be that of the log which has lost them.
      if (await this.readLostAgain()) head = await this.source.head();
      this.lostCheckedMs = startedMs;
    }
    this.lag = Math.max(0, head - this.position);
    while (this.position < head && !this.stopped) {
      const events = await this.source.read({
        after: this.position,
        until: head,
        limit: PAGE_EVENTS,
        ...(categories && { categories }),
        ...(subjectBytes !== undefined && { subjectBytes }),
      });
      if (events.length > 0) await this.apply(events);
      this.applied = events.at(-1) ?? this.applied;
      this.position = events.length < PAGE_EVENTS ? head : (events.at(-1) as StoredEvent).position;
    }
    this.lag = 0;
    this.readAtMs = startedMs;
  }

  /** Returns whether anything was lost. */
  private async readLostAgain(): Promise<boolean> {
    const { onLost, after } = this.options;
    if (!onLost || !this.applied || !(await this.source.isLost?.(this.applied))) return false;
    this.applied = await onLost();
    this.position = this.applied?.position ?? after;
    return true;
  }
}
