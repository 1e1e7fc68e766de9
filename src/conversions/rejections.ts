import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { INBOUND, type RejectedConversions } from '../events/inbound.events.js';
import { CLOCK, type Clock } from '../kernel/clock.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { Shutdown } from '../kernel/shutdown.js';
import { uuidv7 } from '../kernel/uuid.js';
import { EventLog } from '../log/event-log.js';
import type { Caller } from './inbound/inbound-answers.js';
import { InboundMetrics } from './inbound/inbound-metrics.js';
import type { RejectionReason } from './rejection-reason.js';

const SAMPLE_MAX = 5;
/** Share of the grace period that is left for the modules that stop later. */
const LEFT = 0.3;

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
 * Counts refused conversions of authenticated senders, in metrics and per site. The counts are stored as one event per site and
 * minute, so that bad rows cannot fill the log. What was counted since the last time is lost in a crash.
 */
@Injectable()
export class Rejections implements OnApplicationShutdown {
  private readonly counted = new Map<string, Counted>();
  /** By site. An append without an answer is repeated unchanged: its stream shows whether it was stored. */
  private readonly unstored = new Map<string, Unstored>();
  private flushing: Promise<void> | undefined;

  constructor(
    private readonly log: EventLog,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly metrics: InboundMetrics,
    private readonly shutdown: Shutdown,
    private readonly logger: Logger,
  ) {}

  count({ loadedSite, key }: Caller, reason: RejectionReason): void {
    const site = loadedSite.site.host;
    const by = `key:${key.id}`;
    this.metrics.countRejection(site, reason);
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

  @Interval(60_000)
  async flushQuietly(): Promise<void> {
    try {
      await this.flush();
    } catch (error) {
      this.logger.warn('Storing the counts of refused conversions failed; retrying in 60 s', {
        error: messageOf(error),
      });
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.shutdown.within(this.flushQuietly(), LEFT);
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
