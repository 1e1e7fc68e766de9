import { type AuthEvent, type AuthFailure } from '../events/auth.events.js';
import type { NewEvent, StoredEvent } from '../log/event.js';

export interface ThrottleOptions {
  readonly limit: number;
  readonly windowMs: number;
  readonly instance: string;
  /** Stores an event; not waited for, because a refusal must not depend on it. */
  readonly record: (site: string, event: AuthEvent & NewEvent) => void;
}

interface SiteFailures {
  /** Times of the newest failures, oldest first, as many as the limit. Enough to tell whether one more is too many. */
  readonly times: number[];
  /** Refused since the last `auth.throttled.v1`. */
  uncounted: number;
}

/**
 * Wrong keys of a site within a sliding window. Only failures come here: a correct key is never held up by others' wrong
 * ones. Up to the limit each failure is an event, so that every instance and every restart knows of it; past the limit
 * they are summed up, so that a storm of wrong keys cannot fill the log.
 */
export class AuthThrottle {
  private readonly sites = new Map<string, SiteFailures>();

  constructor(private readonly options: ThrottleOptions) {}

  /** Counts a failure. Returns the seconds until the site is off the throttle again, or undefined when it is not on it. */
  fail(site: string, reason: AuthFailure, nowMs: number): number | undefined {
    const failures = this.of(site);
    const oldest = failures.times[0];
    const throttled =
      failures.times.length === this.options.limit && oldest !== undefined && oldest > nowMs - this.options.windowMs;
    this.push(failures, nowMs);
    const { instance } = this.options;
    if (!throttled) {
      this.options.record(site, { type: 'auth.failed.v1', data: { reason, instance } });
      return undefined;
    }
    if (failures.uncounted === 0)
      this.options.record(site, { type: 'auth.throttled.v1', data: { count: 1, instance } });
    failures.uncounted += 1;
    const freeAt = (failures.times[0] as number) + this.options.windowMs;
    return Math.max(1, Math.ceil((freeAt - nowMs) / 1_000));
  }

  /** What other instances counted, or this one before a restart. */
  apply(event: StoredEvent): void {
    if (event.type !== 'auth.failed.v1' && event.type !== 'auth.throttled.v1') return;
    if (event.data.instance === this.options.instance) return;
    const failures = this.of(event.site);
    const count = event.type === 'auth.throttled.v1' ? Math.min(event.data.count, this.options.limit) : 1;
    for (let counted = 0; counted < count; counted += 1) this.push(failures, Date.parse(event.time));
  }

  /** Called now and then: stores what was counted since, and forgets sites that have been quiet for a window. */
  sumUp(nowMs: number): void {
    for (const [site, failures] of this.sites) {
      // The first of them was stored when it came.
      const count = failures.uncounted - 1;
      if (count > 0)
        this.options.record(site, { type: 'auth.throttled.v1', data: { count, instance: this.options.instance } });
      failures.uncounted = 0;
      if ((failures.times.at(-1) ?? 0) <= nowMs - this.options.windowMs) this.sites.delete(site);
    }
  }

  private of(site: string): SiteFailures {
    let failures = this.sites.get(site);
    if (!failures) {
      failures = { times: [], uncounted: 0 };
      this.sites.set(site, failures);
    }
    return failures;
  }

  private push(failures: SiteFailures, timeMs: number): void {
    failures.times.push(timeMs);
    // Others' events may arrive late: their times still have to stand in order.
    if (timeMs < (failures.times.at(-2) ?? 0)) failures.times.sort((a, b) => a - b);
    if (failures.times.length > this.options.limit) failures.times.shift();
  }
}
