import type { LiveEvent } from './live-events.js';

/** Of a task of the browser: at four times this, a slow device is still below what a user notices. */
const BUDGET_MS = 20;
/** What a device keeps that cannot read as fast as events arrive. */
const WAITING_MAX = 5_000;

/** Events that have arrived as text. Reading them takes bounded time, and what is not read waits for the next turn. */
export class WaitingEvents {
  private texts: string[] = [];
  private dropped = 0;

  constructor(private readonly now: () => number = () => performance.now()) {}

  add(texts: readonly string[]): void {
    this.texts.push(...texts);
    const excess = this.texts.length - WAITING_MAX;
    if (excess <= 0) return;
    this.texts = this.texts.slice(excess);
    this.dropped += excess;
  }

  /** As many of the oldest as there is time for, and how many were dropped since the last call. */
  take(): { readonly events: LiveEvent[]; readonly dropped: number } {
    const untilMs = this.now() + BUDGET_MS;
    const events: LiveEvent[] = [];
    for (const text of this.texts) {
      events.push(JSON.parse(text) as LiveEvent);
      if (this.now() >= untilMs) break;
    }
    this.texts = this.texts.slice(events.length);
    const { dropped } = this;
    this.dropped = 0;
    return { events, dropped };
  }
}
