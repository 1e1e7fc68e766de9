import type { Outcome } from '../events/delivery.events.js';
import { LogUnavailable, SitePaused } from '../kernel/errors.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import type { AttemptPermit } from './attempt-window.js';
import { type Results, resultOf } from './delivery.js';
import { OutcomeRecorder } from './outcome-recorder.js';
import type { OutcomeWriter } from './outcome-writer.js';
import type { ReceivedConversion } from './received-conversion.js';

/**
 * `settled`: every outcome is recorded. `owed`: some are not, and the scan of the log will find them. `refused`: the log refused
 * an outcome for good.
 */
export type SagaEnd = 'settled' | 'owed' | 'refused';

/**
 * The process that makes the first attempts to deliver one conversion to all its platforms: collects one outcome per platform
 * and records them, in one append where they arrive together. What it has not recorded in time is owed, and found in the log.
 */
export class DeliverySaga {
  private readonly collected: Results = {};
  private readonly unsettled: Set<ConnectionName>;
  private readonly recorder: OutcomeRecorder;
  private unrecorded: Outcome[] = [];
  private recording = false;
  private isWithdrawn = false;
  private hasEnded = false;
  private respond: ((results: Results) => void) | undefined;
  private readonly respondBy: number;

  constructor(
    private readonly received: ReceivedConversion,
    writer: OutcomeWriter,
    permit: AttemptPermit,
    private readonly onEnd: (end: SagaEnd) => void,
    timeoutMs: number,
  ) {
    const { site, position, data } = received;
    this.unsettled = new Set(data.platforms);
    this.recorder = new OutcomeRecorder(writer, { id: data.conversionId, site }, { version: 1, position }, permit);
    this.respondBy = performance.now() + timeoutMs;
  }

  /** Resolves when every platform has settled and the outcomes are recorded, or when the timeout has passed. */
  results(): Promise<Results> {
    return new Promise((resolve) => {
      this.respond = resolve;
    });
  }

  settle(outcome: Outcome): void {
    this.unsettled.delete(outcome.platform);
    this.collected[outcome.platform] = resultOf(outcome, this.received.data.trial);
    this.unrecorded.push(outcome);
    this.proceed();
  }

  /** Nothing was sent to the platform: it is too late for this process to begin. */
  withdraw(platform: ConnectionName): void {
    this.unsettled.delete(platform);
    this.isWithdrawn = true;
    this.proceed();
  }

  /** Records the outcomes that have arrived without waiting for the others, and responds when the time is up. */
  tick(now: number): void {
    if (!this.recorder.isOpen) this.end('owed');
    else if (this.unrecorded.length > 0) this.record();
    if (now >= this.respondBy) this.respondNow();
  }

  private respondNow(): void {
    if (!this.respond) return;
    const { platforms = [], trial } = this.received.data;
    const results: Results = {};
    // In the order of the receipt, not in the order of arrival.
    for (const platform of platforms)
      results[platform] = this.collected[platform] ?? resultOf({ status: 'deferred', reason: 'timeout' }, trial);
    this.respond(results);
    this.respond = undefined;
  }

  private proceed(): void {
    if (this.unsettled.size > 0 || this.recording) return;
    if (this.unrecorded.length > 0) this.record();
    else this.end(this.isWithdrawn ? 'owed' : 'settled');
  }

  private end(end: SagaEnd): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.respondNow();
    this.onEnd(end);
  }

  private record(): void {
    if (this.recording || this.hasEnded) return;
    this.recording = true;
    const outcomes = this.unrecorded;
    this.unrecorded = [];
    this.recorder.record(outcomes, (failure) => {
      this.recording = false;
      if (!failure) this.proceed();
      // The site has left for another cell, which makes the attempt.
      else if (failure instanceof SitePaused) this.end('owed');
      else if (!(failure instanceof LogUnavailable)) this.end('refused');
      else {
        // Respond without waiting for the log. The next tick tries again.
        this.unrecorded.unshift(...outcomes);
        this.respondNow();
      }
    });
  }
}
