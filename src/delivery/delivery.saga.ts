import { setTimeout as sleep } from 'node:timers/promises';
import { CONVERSION } from '../events/conversion.events.js';
import type { Outcome } from '../events/delivery.events.js';
import { LogUnavailable, SitePaused } from '../kernel/errors.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import type { AppendRequest, StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import type { AttemptPermit } from './attempt-window.js';
import { type Delivery, foldDeliveries, isOutcome, outcomeType } from './delivery.js';

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

/** The end of a conversion's stream as this process knows it. */
interface StreamEnd {
  readonly version: number;
  readonly position: number;
}

/**
 * Records outcomes of one conversion, at the end of its stream as it was when the attempts began. If another process has
 * written to the stream since, what it wrote decides whether an outcome still counts: a late one never follows a final one.
 */
export class OutcomeRecorder {
  /** Later events of a platform supersede the attempt. */
  private readonly began: number;
  /** The stream as it was when another process was found to have written to it. */
  private read: readonly StoredEvent[] = [];

  constructor(
    private readonly log: Pick<EventLog, 'append' | 'readStream'>,
    private readonly conversion: { readonly id: string; readonly site: string },
    private end: StreamEnd,
    private readonly permit: AttemptPermit,
  ) {
    this.began = end.position;
  }

  get isOpen(): boolean {
    return this.permit.mayRecord;
  }

  /**
   * Resolves when each outcome is recorded, or superseded by what another process wrote. Rejects with `LogUnavailable` if it can be
   * tried again, as long as `isOpen`, and with another error if the log refuses an outcome.
   */
  async record(outcomes: readonly Outcome[]): Promise<void> {
    let counting = outcomes;
    for (;;) {
      if (this.read.length > 0) counting = stillCounting(outcomes, this.read, this.began);
      if (counting.length === 0) return;
      if (!this.isOpen) throw new LogUnavailable('The attempt may no longer be recorded');
      if (await this.append(counting)) return;
      await this.readAgain();
      // A failover has lost the conversion: there is nothing that this would be an outcome of.
      if (this.read.length === 0) return;
    }
  }

  /** False if another process has written to the stream. */
  private async append(outcomes: readonly Outcome[]): Promise<boolean> {
    try {
      return await this.appendAs(outcomes);
    } catch (error) {
      if (error instanceof LogUnavailable) throw error;
      // The log stores no such text. Without the outcome the attempt would be repeated forever.
      return this.appendAs(outcomes.map(withoutTexts));
    }
  }

  private async appendAs(outcomes: readonly Outcome[]): Promise<boolean> {
    const events = outcomes.map((data) => ({ type: outcomeType(data.status), data }));
    const { version, position } = this.end;
    const outcome = await this.log.append({
      category: CONVERSION,
      stream: this.conversion.id,
      // Without any event only after retention has removed them.
      expected: version === 0 ? 'new' : { owned: version, position },
      site: this.conversion.site,
      actor: 'system',
      events: events as unknown as AppendRequest['events'],
      notAfterMs: this.permit.notAfterMs,
    });
    if (outcome.status !== 'appended') return false;
    this.end = { version: version + outcomes.length, position: outcome.position };
    return true;
  }

  /** Reads what another process has written to the stream, which decides what still counts. */
  private async readAgain(): Promise<void> {
    this.read = await withLogTimeout(this.log.readStream(CONVERSION, this.conversion.id));
    const { version, position } = this.read.at(-1) ?? { version: 0, position: 0 };
    this.end = { version, position };
  }
}

/** Outcomes that no event after a position supersedes. Their attempts are numbered after those of others. */
function stillCounting(outcomes: readonly Outcome[], events: readonly StoredEvent[], after: number): Outcome[] {
  const newer = events.filter(({ position }) => position > after);
  const deliveries = new Map<string, Delivery>(foldDeliveries(events).map((delivery) => [delivery.platform, delivery]));
  return outcomes.flatMap((outcome) => {
    const others = newer.filter((event) => 'platform' in event.data && event.data.platform === outcome.platform);
    if (others.length === 0) return [outcome];
    // Another process made the attempt, or this process did and the answer to its append was lost.
    if (others.some(isOutcome)) return [];
    const delivery = deliveries.get(outcome.platform);
    // An operator requested a delivery under another event id: the outcome says nothing about that one.
    if (!delivery || delivery.eventId !== outcome.eventId) return [];
    return [{ ...outcome, attempt: nextAttempt(delivery.attempts) }];
  });
}

/** Never 1 after another event: the projection `deliveries` does not read how first attempts end. */
export function nextAttempt(attempts: number): number {
  return Math.max(attempts, 1) + 1;
}

function withoutTexts({ response: _, requestId: __, nextTry, ...outcome }: Outcome): Outcome {
  const { reason, status } = outcome;
  return {
    ...outcome,
    ...(reason !== undefined && { reason: /^[a-z_]+$/.test(reason) ? reason : 'unreadable_answer' }),
    // An accepted request cannot be confirmed without its id.
    ...(nextTry !== undefined && status !== 'accepted' && { nextTry }),
  };
}
