/** How often a service looks for work, in milliseconds. These are no settings: only specs pass others. */
export interface Intervals {
  /** Followers of the log, which keep sites and other state in memory. A notification wakes them up earlier. */
  readonly followMs: number;
  /** Projections. */
  readonly foldMs: number;
  /** Deliveries that are due. */
  readonly retryMs: number;
  /** Deliveries that are owed. */
  readonly scanMs: number;
  /** Visits that are identified after a conversion. */
  readonly lateMatchMs: number;
  /** Jobs of the management API. */
  readonly jobMs: number;
  /** Pushes to webhooks that are due. */
  readonly pushMs: number;
  /** What needs attention, for those who are told of it. */
  readonly alertMs: number;
  /** How long something needs attention, or no longer does, before anyone is told. */
  readonly alertHoldMs: number;
  /** Batches for Kafka that are not full. */
  readonly relayMs: number;
  readonly attempts: AttemptWindow;
}

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

export const INTERVALS: Intervals = {
  followMs: 250,
  foldMs: 500,
  retryMs: 500,
  scanMs: 1_000,
  lateMatchMs: 1_000,
  jobMs: 1_000,
  pushMs: 500,
  alertMs: 30_000,
  alertHoldMs: 60_000,
  // Larger batches share the cost of a transaction.
  relayMs: 500,
  // A request takes at most 10 s.
  attempts: {
    first: { startWithinMs: 15_000, recordWithinMs: 38_000 },
    owedAfterMs: 40_000,
    lease: { startWithinMs: 25_000, recordWithinMs: 58_000, endsAfterMs: 60_000 },
  },
};
