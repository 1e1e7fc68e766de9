import { CONVERSION } from '../events/conversion.events.js';
import type { Outcome } from '../events/delivery.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import type { AppendRequest } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import { foldDeliveries, outcomeType, type Results, resultOf } from './delivery.js';
import type { UnsettledConversion } from './unsettled.js';

/**
 * `settled`: every outcome is recorded. `withdrawn`: this process could not prove that it holds its lease, so some
 * deliveries were not made. `refused`: the log refused an outcome for good.
 */
export type SagaEnd = 'settled' | 'withdrawn' | 'refused';

/**
 * The process that delivers one conversion to all its platforms: collects one outcome per platform and records them,
 * in one append where they arrive together. Other writers of the stream are rare (a retry of a delivery deferred here,
 * an instance that took over), so the saga counts versions itself and reads the stream only after a conflict.
 */
export class DeliverySaga {
  private readonly collected: Results = {};
  private readonly unsettled: Set<PlatformName>;
  private unrecorded: Outcome[] = [];
  private recording = false;
  private isWithdrawn = false;
  /** Platforms whose outcome another process has recorded. That outcome is final. */
  private readonly recordedElsewhere = new Set<PlatformName>();
  private version: number;
  /** Of the last event of the stream that is known here. */
  private position: number;
  private respond: ((results: Results) => void) | undefined;
  private readonly respondBy: number;

  constructor(
    private readonly conversion: UnsettledConversion,
    private readonly log: Pick<EventLog, 'append' | 'readStream'>,
    private readonly onEnd: (end: SagaEnd) => void,
    timeoutMs: number,
  ) {
    this.unsettled = new Set(conversion.platforms);
    this.version = conversion.version;
    this.position = conversion.received.position;
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
    this.collected[outcome.platform] = resultOf(outcome, this.conversion.received.data.trial);
    this.unrecorded.push(outcome);
    this.proceed();
  }

  /** This process may not deliver to the platform: its lease is not held. */
  withdraw(platform: PlatformName): void {
    this.unsettled.delete(platform);
    this.isWithdrawn = true;
    this.proceed();
  }

  /** Records the outcomes that have arrived without waiting for the others, and responds when the time is up. */
  tick(now: number): void {
    if (this.unrecorded.length > 0) void this.record();
    if (now >= this.respondBy) this.respondNow();
  }

  /** Resolves `results` with the outcomes so far. */
  respondNow(): void {
    if (!this.respond) return;
    const { platforms = [], trial } = this.conversion.received.data;
    const late = resultOf({ status: 'deferred', reason: 'timeout' }, trial);
    // In the order of the receipt, not in the order of arrival.
    this.respond(Object.fromEntries(platforms.map((platform) => [platform, this.collected[platform] ?? late])));
    this.respond = undefined;
  }

  private proceed(): void {
    if (this.unsettled.size > 0 || this.recording) return;
    if (this.unrecorded.length > 0) void this.record();
    else this.end(this.isWithdrawn ? 'withdrawn' : 'settled');
  }

  private end(end: SagaEnd): void {
    this.respondNow();
    this.onEnd(end);
  }

  private async record(): Promise<void> {
    if (this.recording) return;
    this.recording = true;
    const outcomes = this.unrecorded.splice(0);
    try {
      await this.append(outcomes);
    } catch (error) {
      if (!(error instanceof LogUnavailable)) return this.end('refused');
      // Respond without waiting for the log. The next tick retries; if this process ends first, another one recovers it.
      this.unrecorded.unshift(...outcomes);
      return this.respondNow();
    } finally {
      this.recording = false;
    }
    this.proceed();
  }

  private async append(all: readonly Outcome[]): Promise<void> {
    const outcomes = all.filter(({ platform }) => !this.recordedElsewhere.has(platform));
    const [first, ...others] = outcomes.map((data) => ({ type: outcomeType(data.status), data }));
    if (!first) return;
    const { site, data } = this.conversion.received;
    const target = { category: CONVERSION, stream: data.conversionId, expected: this.expected, site };
    const appended = await this.log.append({ ...target, actor: 'system', events: [first, ...others] });
    if (appended.status === 'appended') {
      this.version += outcomes.length;
      this.position = appended.position;
      return;
    }
    await this.readOtherWrites();
    await this.append(outcomes);
  }

  private get expected(): AppendRequest['expected'] {
    return { owned: this.version, position: this.position };
  }

  /** Another process has written to the stream. */
  private async readOtherWrites(): Promise<void> {
    const { conversionId } = this.conversion.received.data;
    const events = await withLogTimeout(this.log.readStream(CONVERSION, conversionId));
    const end = events.at(-1);
    if (!end) throw new Error('The conversion is no longer in the log');
    this.version = end.version;
    this.position = end.position;
    for (const { platform, last } of foldDeliveries(events)) if (last) this.recordedElsewhere.add(platform);
  }
}
