import { LogUnavailable } from '../kernel/errors.js';
import type { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import { CONVERSION, type Outcome, outcomeType, type Results, resultOf } from './delivery.js';
import type { ReceivedConversion } from './received.js';

/**
 * How it ended: everything is written down; the log refused to (somebody else has written to the stream); this process
 * was not allowed to send any more, because it could not show that it is alive.
 */
export type Closing = 'settled' | 'refused' | 'forbidden';

/**
 * A conversion that is on its way: collects what its platforms say and writes it down, together where it comes together.
 * Only the process that owns the conversion writes to its stream, so versions are counted here.
 */
export class OpenConversion {
  private readonly results: Results = {};
  private fresh: Outcome[] = [];
  private writing = false;
  private answer: ((results: Results) => void) | undefined;
  private readonly answerBy: number;

  constructor(
    private readonly received: ReceivedConversion,
    /** Those without an outcome. */
    private readonly unsettled: Set<PlatformName>,
    /** What its stream has reached. */
    private version: number,
    private readonly log: EventLog,
    private readonly close: (how: Closing) => void,
    patienceMs: number,
  ) {
    this.answerBy = performance.now() + patienceMs;
  }

  /** Resolves when every platform has settled and that is written down; at the latest when patience is over. */
  settled(): Promise<Results> {
    return new Promise((resolve) => {
      this.answer = resolve;
    });
  }

  settle(outcome: Outcome): void {
    this.unsettled.delete(outcome.platform);
    this.results[outcome.platform] = resultOf(outcome, this.received.data.trial);
    this.fresh.push(outcome);
    if (this.unsettled.size === 0) void this.write();
  }

  /** Nothing more is done for it here. */
  abandon(how: Closing): void {
    this.tell();
    this.close(how);
  }

  /** Now and then: what some platforms said is not kept waiting for the others, and the sender is not either. */
  tick(now: number): void {
    if (this.fresh.length > 0) void this.write();
    if (now >= this.answerBy) this.tell();
  }

  private async write(): Promise<void> {
    if (this.writing) return;
    this.writing = true;
    const outcomes = this.fresh;
    this.fresh = [];
    try {
      await this.log.append({
        noun: CONVERSION,
        stream: this.received.data.conversionId,
        expected: { owned: this.version },
        site: this.received.site,
        actor: 'system',
        events: outcomes.map((data) => ({ type: outcomeType(data.status), data })) as [{ type: string; data: Outcome }],
      });
      this.version += outcomes.length;
    } catch (error) {
      if (!(error instanceof LogUnavailable)) return this.abandon('refused');
      // The sender need not wait for that: the next tick tries again, and should this process end, another one will.
      this.fresh = [...outcomes, ...this.fresh];
      return this.tell();
    } finally {
      this.writing = false;
    }
    if (this.fresh.length > 0) return this.write();
    if (this.unsettled.size === 0) this.abandon('settled');
  }

  private tell(): void {
    if (!this.answer) return;
    for (const platform of this.unsettled)
      this.results[platform] = resultOf({ status: 'deferred', reason: 'timeout' }, this.received.data.trial);
    this.answer(inOrder(this.results, this.received.data.platforms ?? []));
    this.answer = undefined;
  }
}

/** The order of the receipt is that of the platforms, not that of their answers. */
function inOrder(results: Results, platforms: readonly PlatformName[]): Results {
  const ordered: Results = {};
  for (const platform of platforms) {
    const result = results[platform];
    if (result) ordered[platform] = result;
  }
  return ordered;
}
