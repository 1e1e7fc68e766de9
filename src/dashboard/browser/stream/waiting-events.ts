import type { LiveEvent } from './live-events.js';

/** Duration of a task of the browser: at four times this, a slow device is still below what a user notices. */
const BUDGET_MS = 20;
/** What a device keeps that cannot read as fast as events arrive. */
const WAITING_MAX = 5_000;

/** Events that have arrived as text. Reading them takes bounded time, and what is not read waits for the next turn. */
export class WaitingEvents {
  private texts: string[] = [];
  private dropped = 0;
  private last: number | undefined;

  constructor(private readonly now: () => number = () => performance.now()) {}

  add(texts: readonly string[]): void {
    this.texts.push(...texts);
    const excess = this.texts.length - WAITING_MAX;
    if (excess <= 0) return;
    this.texts = this.texts.slice(excess);
    this.dropped += excess;
  }

  get isEmpty(): boolean {
    return this.texts.length === 0;
  }

  /** The position of the last event that was taken. What still waits comes after it. */
  get position(): number | undefined {
    return this.last;
  }

  /** As many of the oldest as there is time for, and how many were dropped since the last call. */
  take(): { readonly events: LiveEvent[]; readonly dropped: number } {
    const untilMs = this.now() + BUDGET_MS;
    const { texts, dropped } = this;
    const events: LiveEvent[] = [];
    let count = 0;
    this.dropped = 0;
    try {
      while (count < texts.length && (count === 0 || this.now() < untilMs)) {
        count += 1;
        events.push(JSON.parse(texts[count - 1] as string) as LiveEvent);
      }
    } finally {
      // Also what cannot be read: it would be read again for ever.
      this.texts = texts.slice(count);
    }
    this.last = events.at(-1)?.position ?? this.last;
    return { events, dropped };
  }
}
