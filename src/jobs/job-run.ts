import { messageOf } from '../kernel/errors.js';
import type { JobProgress } from './job.js';
import { type Claim, JobLost, type JobStore } from './job-store.js';

const RENEW_EVERY_MS = 1_000;

/** Where another process continues. A kind of job may add what it needs. */
export interface Checkpoint {
  readonly position: number;
  readonly events: number;
}

/** The job was cancelled. */
export class JobCancelled extends Error {
  override readonly name = 'JobCancelled';
}

/** This process stops: another one continues the job. */
export class JobInterrupted extends Error {
  override readonly name = 'JobInterrupted';
}

/**
 * One run of a job by this process. It ends as soon as the lease is not certain any more, by the monotonic clock of this process,
 * at half of the lease: a process that was frozen or disconnected stops before another one has taken the job over.
 */
export class JobRun {
  private readonly ended = new AbortController();
  private readonly startedMs = performance.now();
  private readonly firstItems: number;
  private renewedMs: number;
  private progress: JobProgress | undefined;
  private renewing: Promise<void> | undefined;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly store: JobStore,
    readonly claim: Claim,
    /** The time of the database at a moment of the monotonic clock. */
    private readonly databaseMs: (monotonicMs: number) => number,
  ) {
    this.renewedMs = claim.requestedMs;
    this.firstItems = claim.job.progress?.items ?? 0;
    this.timer = setInterval(() => this.renew(), RENEW_EVERY_MS);
  }

  /** Aborted when the run must end; its reason says why. */
  get signal(): AbortSignal {
    return this.ended.signal;
  }

  /** The database's time after which this run may write nothing any more. */
  get notAfterMs(): number {
    return this.databaseMs(this.renewedMs) + this.store.leaseMs / 2;
  }

  /** Throws if the run must end. */
  check(): void {
    if (performance.now() - this.renewedMs > this.store.leaseMs / 2) this.end(new JobLost(this.claim.job.id));
    this.signal.throwIfAborted();
  }

  report(position: number, items: number): void {
    const seconds = Math.max(1, (performance.now() - this.startedMs) / 1_000);
    this.progress = { position, items, perSecond: Math.round((items - this.firstItems) / seconds) };
    this.check();
  }

  /** Stores bytes of the file, and the checkpoint that includes them. */
  async save(bytes: Uint8Array, checkpoint: Checkpoint): Promise<void> {
    this.report(checkpoint.position, checkpoint.events);
    await this.store.addPage(this.claim, { bytes, checkpoint, progress: this.progress as JobProgress });
  }

  end(reason: Error): void {
    this.ended.abort(reason);
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.renewing;
  }

  private renew(): void {
    const requestedMs = performance.now();
    this.renewing ??= this.store
      .renew(this.claim, this.progress, requestedMs)
      .then((isCancelled) => {
        this.renewedMs = requestedMs;
        if (isCancelled) this.end(new JobCancelled());
      })
      .catch((error: unknown) => {
        // Unless the job is lost, the database is unreachable: `check` ends the run when half of the lease is over.
        if (error instanceof JobLost) this.end(error);
        else if (performance.now() - this.renewedMs > this.store.leaseMs / 2) this.end(new JobLost(messageOf(error)));
      })
      .finally(() => {
        this.renewing = undefined;
      });
  }
}
