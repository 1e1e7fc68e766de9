import { CONVERSION } from '../events/conversion.events.js';
import { type Outcome } from '../events/delivery.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import type { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import { foldDeliveries, outcomeType, type Results, resultOf } from './delivery.js';
import type { ReceivedConversion } from './received.js';

/**
 * How it ended: everything is written down; this process was not allowed to send some of it, because it could not show
 * that it is alive; or the log will not have what was to be written down.
 */
export type Closing = 'settled' | 'forbidden' | 'refused';

/**
 * A conversion that is on its way: collects what its platforms say and writes it down, together where it comes together.
 * Others seldom write to its stream (retries of what was deferred here, whoever took this process for dead), so versions
 * are counted here, and looked up only when the log finds that they were counted wrong.
 */
export class OpenConversion {
  private readonly results: Results = {};
  private fresh: Outcome[] = [];
  private writing = false;
  private forbidden = false;
  /** Their outcome is in the log already, and stands. */
  private readonly toldByOthers = new Set<PlatformName>();
  private answer: ((results: Results) => void) | undefined;
  private readonly answerBy: number;

  constructor(
    private readonly received: ReceivedConversion,
    /** Those without an outcome. */
    private readonly unsettled: Set<PlatformName>,
    /** What its stream has reached. */
    private version: number,
    private readonly log: Pick<EventLog, 'append' | 'readStream'>,
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
    this.moveOn();
  }

  /** This process may not send it to that platform. */
  forbid(platform: PlatformName): void {
    this.unsettled.delete(platform);
    this.forbidden = true;
    this.moveOn();
  }

  /** Now and then: what some platforms said is not kept waiting for the others, and the sender is not either. */
  tick(now: number): void {
    if (this.fresh.length > 0) void this.write();
    if (now >= this.answerBy) this.tell();
  }

  /** The sender hears what is known by now. */
  tell(): void {
    if (!this.answer) return;
    const { platforms = [], trial } = this.received.data;
    const late = resultOf({ status: 'deferred', reason: 'timeout' }, trial);
    // In the order of the receipt, not in that of the answers.
    this.answer(Object.fromEntries(platforms.map((platform) => [platform, this.results[platform] ?? late])));
    this.answer = undefined;
  }

  private moveOn(): void {
    if (this.unsettled.size > 0 || this.writing) return;
    if (this.fresh.length > 0) void this.write();
    else this.end(this.forbidden ? 'forbidden' : 'settled');
  }

  private end(how: Closing): void {
    this.tell();
    this.close(how);
  }

  private async write(): Promise<void> {
    if (this.writing) return;
    this.writing = true;
    const outcomes = this.fresh.splice(0);
    try {
      await this.store(outcomes);
    } catch (error) {
      if (!(error instanceof LogUnavailable)) return this.end('refused');
      // The sender need not wait for that: the next tick tries again, and should this process end, another one will.
      this.fresh.unshift(...outcomes);
      return this.tell();
    } finally {
      this.writing = false;
    }
    this.moveOn();
  }

  private async store(all: readonly Outcome[]): Promise<void> {
    const outcomes = all.filter(({ platform }) => !this.toldByOthers.has(platform));
    const [first, ...others] = outcomes.map((data) => ({ type: outcomeType(data.status), data }));
    if (!first) return;
    const { site, data } = this.received;
    const where = { category: CONVERSION, stream: data.conversionId, expected: { owned: this.version }, site };
    try {
      await this.log.append({ ...where, actor: 'system', events: [first, ...others] });
      this.version += outcomes.length;
    } catch (error) {
      if (error instanceof LogUnavailable || !(await this.isOvertaken())) throw error;
      await this.store(outcomes);
    }
  }

  /** Whether others have written to the stream. If so, it is looked up what they said. */
  private async isOvertaken(): Promise<boolean> {
    const events = await withLogTimeout(this.log.readStream(CONVERSION, this.received.data.conversionId));
    const reached = events.at(-1)?.version ?? 0;
    if (reached === this.version) return false;
    this.version = reached;
    for (const { platform, last } of foldDeliveries(events)) if (last) this.toldByOthers.add(platform);
    return true;
  }
}
