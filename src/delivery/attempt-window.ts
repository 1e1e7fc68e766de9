import type { AttemptWindow } from '../kernel/intervals.js';

export type { AttemptWindow };

export const WINDOW = Symbol('attempt window');

/**
 * The right to make an attempt and to record its outcome. Measured with this process's monotonic clock, which continues while
 * the process is frozen; the append also states the deadline in the database's time, which holds however late it arrives.
 */
export class AttemptPermit {
  constructor(
    private readonly startUntil: number,
    private readonly recordUntil: number,
    /** In the database's time. */
    readonly notAfterMs: number,
    /** ISO time at which the holder of an earlier lease may have sent the conversion without recording an outcome. */
    readonly maybeSentAt?: string | undefined,
  ) {}

  get mayStart(): boolean {
    return performance.now() < this.startUntil;
  }

  get mayRecord(): boolean {
    return performance.now() < this.recordUntil;
  }
}

/** Permit of the instance that received a conversion. `receivedMs` and `databaseMs` (now) are the database's time. */
export function permitFirstAttempts(receivedMs: number, databaseMs: number, { first }: AttemptWindow): AttemptPermit {
  // Computed once: a later step of the database's clock does not extend it.
  const began = monotonicMs(receivedMs, databaseMs);
  return new AttemptPermit(
    began + first.startWithinMs,
    began + first.recordWithinMs,
    receivedMs + first.recordWithinMs,
  );
}

/** A time of the database by the monotonic clock of this process. `databaseMs` is the database's time now. */
export function monotonicMs(timeMs: number, databaseMs: number): number {
  return performance.now() - Math.max(0, databaseMs - timeMs);
}

/** Permit of the holder of a delivery lease that was requested at `requestedMs` (monotonic) and ends at `untilMs` (database). */
export function permitLeased(
  requestedMs: number,
  untilMs: number,
  { lease }: AttemptWindow,
  maybeSentAt?: string,
): AttemptPermit {
  return new AttemptPermit(
    requestedMs + lease.startWithinMs,
    requestedMs + lease.recordWithinMs,
    untilMs - (lease.endsAfterMs - lease.recordWithinMs),
    maybeSentAt,
  );
}
