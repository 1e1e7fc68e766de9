import { INBOUND, type RejectedConversions } from '../events/inbound.events.js';
import type { Clock } from '../kernel/clock.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { EventLog } from '../log/event-log.js';
import type { RejectionReason } from './rejection-reason.js';

const SAMPLE_MAX = 5;

interface Counted {
  readonly since: string;
  readonly reasons: Map<RejectionReason, number>;
  readonly sample: { time: string; reason: RejectionReason; by: string }[];
}

interface Unstored {
  readonly stream: string;
  readonly data: RejectedConversions;
}

/**
 * Counts refused conversions per site and stores the counts as one event per site and `flush`, so that bad rows cannot fill the
 * log. What was counted since the last flush is lost in a crash.
 */
export class Rejections {
  private readonly counted = new Map<string, Counted>();
  /** By site. An append without an answer is repeated unchanged: its stream shows whether it was stored. */
  private readonly unstored = new Map<string, Unstored>();
  private flushing: Promise<void> | undefined;

  constructor(
    private readonly log: Pick<EventLog, 'append'>,
    private readonly clock: Clock,
  ) {}

  /** `by` is the sender, as in the actor of an event. Only for authenticated senders. */
  count(site: string, by: string, reason: RejectionReason): void {
    const time = new Date(this.clock.nowMs()).toISOString();
    let counted = this.counted.get(site);
    if (!counted) {
      counted = { since: time, reasons: new Map(), sample: [] };
      this.counted.set(site, counted);
    }
    const { reasons, sample } = counted;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    const isNew = !sample.some((other) => other.reason === reason && other.by === by);
    if (isNew && sample.length < SAMPLE_MAX) sample.push({ time, reason, by });
  }

  /** Rejects if something could not be stored. It is kept for the next call. */
  flush(): Promise<void> {
    this.flushing ??= this.storeAll().finally(() => {
      this.flushing = undefined;
    });
    return this.flushing;
  }

  private async storeAll(): Promise<void> {
    for (const [site, counted] of this.counted) {
      if (this.unstored.has(site)) continue;
      this.counted.delete(site);
      this.unstored.set(site, { stream: uuidv7(), data: toData(counted) });
    }
    const appends = await Promise.allSettled([...this.unstored].map(([site, event]) => this.store(site, event)));
    const failed = appends.find((append) => append.status === 'rejected');
    if (failed) throw failed.reason;
  }

  private async store(site: string, { stream, data }: Unstored): Promise<void> {
    const event = { type: 'inbound.rejected.v1', data } as const;
    // A conflict of the first call tells that an earlier one was stored.
    await this.log.append({ category: INBOUND, stream, expected: 0, site, actor: 'system', events: [event] });
    this.unstored.delete(site);
  }
}

function toData({ since, reasons, sample }: Counted): RejectedConversions {
  const count = [...reasons.values()].reduce((sum, each) => sum + each, 0);
  return { since, count, reasons: Object.fromEntries(reasons), sample };
}
