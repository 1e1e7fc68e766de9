import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome } from '../events/delivery.events.js';
import { LogUnavailable, SitePaused } from '../kernel/errors.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import type { OutcomeRecorder } from './outcome-recorder.js';

const APPEND_RETRY_MS = 200;

/**
 * `recorded`: every outcome is recorded, or superseded by another process. `withdrawn`: so are those of the attempts that were made;
 * it was too late for this process to begin the others. `owed`: outcomes were not recorded in time, and the scan of the log finds
 * the deliveries.
 */
export type SagaEnd = 'recorded' | 'withdrawn' | 'owed';

/**
 * The process that attempts to deliver one conversion: to all its platforms when it is received, or to one of them under a lease.
 * Collects one outcome per platform and records them, in one append where they arrive together.
 */
export class DeliverySaga {
  /** Outcomes of attempts that have ended, recorded or not. */
  readonly outcomes = new Map<ConnectionName, Outcome>();
  /** Resolves when the saga has ended, when the log does not answer, or at `respondBy`: the sender does not wait for longer. */
  readonly response: Promise<void>;
  private respond = () => {};
  private underWay = 0;
  private unrecorded: Outcome[] = [];
  private isWithdrawn = false;
  private readonly bugs: unknown[] = [];
  private proceed = () => {};

  constructor(
    private readonly recorder: OutcomeRecorder,
    private readonly respondBy = Number.POSITIVE_INFINITY,
  ) {
    this.response = new Promise((resolve) => {
      this.respond = resolve;
    });
  }

  /**
   * Each attempt resolves with its outcome, or with undefined if nothing was sent. Rejects if the log refuses an outcome for good,
   * and with the error of an attempt: the delivery stays owed.
   */
  async run(attempts: readonly Promise<Outcome | undefined>[]): Promise<SagaEnd> {
    try {
      return await this.collect(attempts);
    } finally {
      this.respond();
    }
  }

  /** Records the outcomes that have arrived without waiting for the others, and responds when the time is up. */
  tick(now: number): void {
    if (now >= this.respondBy) this.respond();
    if (this.unrecorded.length > 0 || !this.recorder.isOpen) this.proceed();
  }

  private async collect(attempts: readonly Promise<Outcome | undefined>[]): Promise<SagaEnd> {
    this.underWay = attempts.length;
    for (const attempt of attempts)
      attempt.then(
        (outcome) => this.settle(outcome),
        (error: unknown) => {
          this.bugs.push(error);
          this.settle(undefined);
        },
      );
    while (this.underWay > 0 || this.unrecorded.length > 0) {
      if (this.underWay > 0) await this.settledOrTicked();
      if (!this.recorder.isOpen) return 'owed';
      const outcomes = this.unrecorded;
      this.unrecorded = [];
      try {
        if (outcomes.length > 0) await this.recorder.record(outcomes);
      } catch (error) {
        // The site has left for another cell, which makes the attempt.
        if (error instanceof SitePaused) return 'owed';
        if (!(error instanceof LogUnavailable)) throw error;
        this.unrecorded.unshift(...outcomes);
        this.respond();
        await sleep(APPEND_RETRY_MS);
      }
    }
    if (this.bugs.length > 0) throw this.bugs[0];
    return this.isWithdrawn ? 'withdrawn' : 'recorded';
  }

  private settledOrTicked(): Promise<void> {
    return new Promise((resolve) => {
      this.proceed = resolve;
    });
  }

  private settle(outcome: Outcome | undefined): void {
    this.underWay -= 1;
    if (!outcome) this.isWithdrawn = true;
    else {
      this.outcomes.set(outcome.platform, outcome);
      this.unrecorded.push(outcome);
    }
    if (this.underWay === 0) this.proceed();
  }
}
