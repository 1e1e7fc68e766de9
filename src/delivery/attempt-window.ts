/** When attempts may start and be recorded, in milliseconds. Together they keep two instances from making the same attempt. */
export interface AttemptWindow {
  /** First attempts, by the instance that received the conversion; from the time of its event. */
  readonly first: {
    readonly startWithinMs: number;
    /** Longer than the start and a request together, so that an attempt that was made is also recorded. */
    readonly recordWithinMs: number;
  };
  /** From here on a conversion without an outcome is owed: any instance may attempt it, under a delivery lease. */
  readonly owedAfterMs: number;
  /** Attempts under a delivery lease; from the time it was taken. */
  readonly lease: { readonly startWithinMs: number; readonly recordWithinMs: number; readonly endsAfterMs: number };
}

/** The injection token. */
export const WINDOW = Symbol('attempt window');

/** A request takes at most 10 s. Specs pass shorter windows. */
export const ATTEMPT_WINDOW: AttemptWindow = {
  first: { startWithinMs: 15_000, recordWithinMs: 38_000 },
  owedAfterMs: 40_000,
  lease: { startWithinMs: 25_000, recordWithinMs: 58_000, endsAfterMs: 60_000 },
};

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
  const began = performance.now() - Math.max(0, databaseMs - receivedMs);
  return new AttemptPermit(
    began + first.startWithinMs,
    began + first.recordWithinMs,
    receivedMs + first.recordWithinMs,
  );
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
