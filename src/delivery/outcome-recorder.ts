import { CONVERSION } from '../events/conversion.events.js';
import type { Outcome } from '../events/delivery.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import type { AppendRequest, StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { AttemptPermit } from './attempt-window.js';
import { type Delivery, foldDeliveries, isOutcome, outcomeType } from './delivery.js';

/** The end of a conversion's stream as this process knows it. */
export interface StreamEnd {
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

  /** Whether an outcome can still be recorded. */
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
export function stillCounting(outcomes: readonly Outcome[], events: readonly StoredEvent[], after: number): Outcome[] {
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
