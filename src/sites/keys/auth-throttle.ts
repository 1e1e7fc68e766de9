import { type AuthEvent, type AuthFailure } from '../../events/auth.events.js';
import type { NewEvent, StoredEvent } from '../../log/event.js';

export interface ThrottleOptions {
  readonly limit: number;
  readonly windowMs: number;
  readonly instance: string;
  /** Stores an event. It is not awaited, because a rejection must not depend on the log. */
  readonly record: (site: string, event: AuthEvent & NewEvent) => void;
}

interface SiteFailures {
  /** Times of the newest failures, oldest first, at most `limit`: enough to decide whether one more exceeds it. */
  readonly times: number[];
  /** Throttled failures since the last flush. */
  throttled: number;
}

/**
 * Counts a site's failed authentications in a sliding window. Only failures are throttled: a valid key is accepted
 * whatever other callers send. Up to the limit each failure is an event, so that all instances count it, also after a
 * restart. Above the limit one event covers many failures, so that a flood of wrong keys cannot fill the log.
 */
export class AuthThrottle {
  private readonly sites = new Map<string, SiteFailures>();

  constructor(private readonly options: ThrottleOptions) {}

  /** Counts a failure. Returns the seconds until the throttle ends, or undefined when the site is not throttled. */
  fail(site: string, reason: AuthFailure, nowMs: number): number | undefined {
    const failures = this.of(site);
    const oldest = failures.times[0];
    const isThrottled =
      failures.times.length === this.options.limit && oldest !== undefined && oldest > nowMs - this.options.windowMs;
    this.push(failures, nowMs);
    const { instance } = this.options;
    if (!isThrottled) {
      this.options.record(site, { type: 'auth.failed.v1', data: { reason, instance } });
      return undefined;
    }
    if (failures.throttled === 0)
      this.options.record(site, { type: 'auth.throttled.v1', data: { count: 1, instance } });
    failures.throttled += 1;
    const endsAt = (failures.times[0] as number) + this.options.windowMs;
    return Math.max(1, Math.ceil((endsAt - nowMs) / 1_000));
  }

  /** Counts a failure that another instance stored, or this one before a restart. */
  apply(event: StoredEvent): void {
    if (event.type !== 'auth.failed.v1' && event.type !== 'auth.throttled.v1') return;
    if (event.data.instance === this.options.instance) return;
    const failures = this.of(event.site);
    const count = event.type === 'auth.throttled.v1' ? Math.min(event.data.count, this.options.limit) : 1;
    for (let counted = 0; counted < count; counted += 1) this.push(failures, Date.parse(event.time));
  }

  /** Stores the failures throttled since the last flush and drops sites without a failure in the window. */
  flush(nowMs: number): void {
    for (const [site, failures] of this.sites) {
      // The first of them was stored at once.
      const count = failures.throttled - 1;
      if (count > 0)
        this.options.record(site, { type: 'auth.throttled.v1', data: { count, instance: this.options.instance } });
      failures.throttled = 0;
      if ((failures.times.at(-1) ?? 0) <= nowMs - this.options.windowMs) this.sites.delete(site);
    }
  }

  private of(site: string): SiteFailures {
    let failures = this.sites.get(site);
    if (!failures) {
      failures = { times: [], throttled: 0 };
      this.sites.set(site, failures);
    }
    return failures;
  }

  private push(failures: SiteFailures, timeMs: number): void {
    failures.times.push(timeMs);
    // Events of other instances may arrive late, but the times must stay sorted.
    if (timeMs < (failures.times.at(-2) ?? 0)) failures.times.sort((a, b) => a - b);
    if (failures.times.length > this.options.limit) failures.times.shift();
  }
}
