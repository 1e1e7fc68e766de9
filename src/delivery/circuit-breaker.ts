const FAILURES_TO_OPEN = 5;
const DOUBLINGS_MAX = 3;

/**
 * Stops requests to a platform that does not respond. While open it refuses all requests; afterwards it admits one. If
 * that one succeeds the breaker closes, otherwise it opens for twice as long. All times come from one monotonic clock.
 */
export class CircuitBreaker {
  private failures = 0;
  private timesOpened = 0;
  private openUntil = Number.NEGATIVE_INFINITY;
  private throttledUntil = Number.NEGATIVE_INFINITY;

  constructor(private readonly openMs: number) {}

  /** Why requests are refused now; undefined if they are not. */
  refusal(now: number): 'circuit_open' | 'throttled' | undefined {
    if (now < this.openUntil) return 'circuit_open';
    return now < this.throttledUntil ? 'throttled' : undefined;
  }

  /** How many requests may be in flight: one until the breaker has closed again. */
  concurrency(usual: number): number {
    return this.timesOpened > 0 ? 1 : usual;
  }

  succeeded(): void {
    this.failures = 0;
    this.timesOpened = 0;
    this.openUntil = Number.NEGATIVE_INFINITY;
  }

  failed(now: number): void {
    this.failures += 1;
    if (this.failures >= FAILURES_TO_OPEN || this.timesOpened > 0) this.open(now);
  }

  open(now: number): void {
    // Requests that were in flight when it opened must not extend the time.
    if (now < this.openUntil) return;
    this.openUntil = now + this.openMs * 2 ** Math.min(this.timesOpened, DOUBLINGS_MAX);
    this.timesOpened += 1;
  }

  /** The platform asked for a pause (Retry-After). */
  throttle(now: number, ms: number): void {
    this.throttledUntil = Math.max(this.throttledUntil, now + ms);
  }
}
