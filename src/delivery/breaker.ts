const FAILURES_TO_OPEN = 5;
const DOUBLINGS_MAX = 3;

/**
 * Stops sending to a platform that does not answer. Open, it lets nothing pass; after a while it lets one call try, and
 * that one decides: the way is free again, or closed for twice as long. All times are of one steady clock.
 */
export class Breaker {
  private failures = 0;
  private opened = 0;
  private openUntil = Number.NEGATIVE_INFINITY;
  private heldUntil = Number.NEGATIVE_INFINITY;

  constructor(private readonly openMs: number) {}

  /** Why nothing may pass now. */
  refusal(now: number): 'circuit_open' | 'throttled' | undefined {
    if (now < this.openUntil) return 'circuit_open';
    return now < this.heldUntil ? 'throttled' : undefined;
  }

  /** How many calls may be under way at the same time. */
  callsMax(usual: number): number {
    return this.opened > 0 ? 1 : usual;
  }

  answered(): void {
    this.failures = 0;
    this.opened = 0;
    this.openUntil = Number.NEGATIVE_INFINITY;
  }

  failed(now: number): void {
    this.failures += 1;
    if (this.failures >= FAILURES_TO_OPEN || this.opened > 0) this.open(now);
  }

  open(now: number): void {
    // Calls that were under way already add nothing.
    if (now < this.openUntil) return;
    this.openUntil = now + this.openMs * 2 ** Math.min(this.opened, DOUBLINGS_MAX);
    this.opened += 1;
  }

  /** The platform asked for patience. */
  hold(now: number, ms: number): void {
    this.heldUntil = Math.max(this.heldUntil, now + ms);
  }
}
