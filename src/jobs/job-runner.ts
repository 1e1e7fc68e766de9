import { messageOf, UserError } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';
import type { DatabaseClock } from '../postgres/database-clock.js';
import { isDatabaseOutage, isDatabaseTimeout, isRecoveryConflict } from '../postgres/outage.js';
import type { Job } from './job.js';
import { JobCancelled, JobInterrupted, JobRun } from './job-run.js';
import { type Claim, JobLost, type JobStore } from './job-store.js';

const AT_ONCE_MAX = 2;

/** Carries a job out and returns its result. Calls `check` or `report` often, and ends when that throws. */
export type Execute = (job: Job, run: JobRun) => Promise<object>;

/** Runs the jobs that no other process runs, few at a time. */
export class JobRunner {
  private readonly running = new Map<JobRun, Promise<void>>();
  private timer: NodeJS.Timeout | undefined;
  private polling: Promise<void> | undefined;
  private isStopping = false;

  constructor(
    private readonly store: JobStore,
    private readonly clock: DatabaseClock,
    private readonly execute: Execute,
    private readonly logger: Pick<Logger, 'warn' | 'error'>,
  ) {}

  start(everyMs: number): void {
    this.timer = setInterval(() => this.poll(), everyMs);
  }

  /** Jobs are given back: another process continues them at once. */
  async stop(): Promise<void> {
    this.isStopping = true;
    clearInterval(this.timer);
    await this.polling;
    for (const run of this.running.keys()) run.end(new JobInterrupted());
    await Promise.all(this.running.values());
  }

  /** Looks for work now, for example because a job was just created. */
  poll(): void {
    this.polling ??= this.takeJobs()
      // The database is unreachable: the next round tries again.
      .catch((error: unknown) => this.logger.warn('Jobs cannot be looked up', { error: messageOf(error) }))
      .finally(() => {
        this.polling = undefined;
      });
  }

  private async takeJobs(): Promise<void> {
    while (!this.isStopping && this.running.size < AT_ONCE_MAX) {
      const claim = await this.store.claim();
      if (!claim) return;
      const run = new JobRun(this.store, claim, (monotonicMs) => this.clock.at(monotonicMs));
      // It may have been claimed while `stop` waited.
      if (this.isStopping) run.end(new JobInterrupted());
      this.running.set(
        run,
        this.carryOut(run, claim).finally(() => this.running.delete(run)),
      );
    }
  }

  private async carryOut(run: JobRun, claim: Claim): Promise<void> {
    try {
      run.check();
      const result = await this.execute(claim.job, run);
      await run.close();
      await this.store.finish(claim, 'succeeded', { result });
    } catch (error) {
      await run.close();
      // What ended the run, not the error that followed from it, such as a closed connection.
      const cause: unknown = run.signal.aborted ? run.signal.reason : error;
      await this.handle(claim, cause).catch((failure: unknown) => {
        // The lease ends, and another process takes the job.
        if (!(failure instanceof JobLost))
          this.logger.warn('The end of a job was not stored', describe(claim, failure));
      });
    }
  }

  private async handle(claim: Claim, cause: unknown): Promise<void> {
    if (cause instanceof JobLost) return;
    if (cause instanceof JobCancelled) return this.store.finish(claim, 'cancelled', {});
    if (cause instanceof JobInterrupted) return this.store.release(claim, false);
    if (cause instanceof UserError) return this.store.finish(claim, 'failed', { reason: messageOf(cause) });
    if (isRecoveryConflict(cause)) {
      this.logger.warn('A query of a job was cancelled by the database', describe(claim, cause));
      return this.store.release(
        claim,
        'The database cancelled a query of it, as a standby does that has to go on replaying.',
      );
    }
    if (isDatabaseOutage(cause)) {
      this.logger.warn('A job was interrupted by the database', describe(claim, cause));
      // A job that always takes too long must not be tried for ever.
      return this.store.release(claim, isDatabaseTimeout(cause) && 'The database took too long.');
    }
    this.logger.error('A job failed', describe(claim, cause));
    return this.store.release(claim, 'An error in the service ended it, which is in its log.');
  }
}

function describe({ job }: Claim, error: unknown) {
  return { job: job.id, kind: job.request.kind, error: messageOf(error) };
}
