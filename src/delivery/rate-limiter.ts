import type { RateLimit } from '../platforms/platform.js';

/** Counts the requests of a connection, so that this process sends no more than its limit. All times come from one monotonic clock. */
export class RateLimiter {
  /** Undefined: any number. */
  limit: RateLimit | undefined;
  /** When the requests were sent that still count, oldest first. */
  private readonly sent: number[] = [];

  /** How long the next request has to wait. */
  waitMs(now: number): number {
    if (!this.limit) return 0;
    this.forget(now);
    const { requests, perMs } = this.limit;
    const earlier = this.sent.at(-requests);
    return earlier === undefined ? 0 : earlier + perMs - now;
  }

  count(now: number): void {
    if (this.limit) this.sent.push(now);
  }

  /** About how many requests can be sent in the time that follows. */
  possibleIn(ms: number, now: number): number {
    if (!this.limit) return Number.POSITIVE_INFINITY;
    this.forget(now);
    const { requests, perMs } = this.limit;
    return Math.max(0, requests - this.sent.length) + Math.floor((requests * ms) / perMs);
  }

  private forget(now: number): void {
    const { perMs } = this.limit as RateLimit;
    while ((this.sent[0] ?? Number.POSITIVE_INFINITY) <= now - perMs) this.sent.shift();
  }
}
