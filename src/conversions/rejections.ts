import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { RejectedConversions } from '../events/inbound.events.js';
import { CLOCK, type Clock } from '../kernel/clock.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { Shutdown } from '../kernel/shutdown.js';
import { EventLog } from '../log/event-log.js';
import type { Caller } from './inbound/inbound-answers.js';
import { InboundMetrics } from './inbound/inbound-metrics.js';
import type { RejectionReason } from './rejection-reason.js';
import { type CountEvent, StoredCounts } from './stored-counts.js';

const SAMPLE_MAX = 5;
/** Share of the grace period that is left for the modules that stop later. */
const LEFT = 0.3;

interface Counted {
  readonly since: string;
  readonly reasons: Map<RejectionReason, number>;
  readonly sample: { time: string; reason: RejectionReason; by: string }[];
}

/**
 * Counts refused conversions of authenticated senders, in metrics and per site. The counts are stored as one event per site and
 * minute, so that bad rows cannot fill the log. What was counted since the last time is lost in a crash.
 */
@Injectable()
export class Rejections implements OnApplicationShutdown {
  private readonly counted = new Map<string, Counted>();
  private readonly stored: StoredCounts;

  constructor(
    log: EventLog,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly metrics: InboundMetrics,
    private readonly shutdown: Shutdown,
    private readonly logger: Logger,
  ) {
    this.stored = new StoredCounts(
      log,
      () => this.counted.keys(),
      (site) => this.take(site),
    );
  }

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
    return this.stored.flush();
  }

  private take(site: string): CountEvent {
    const counted = this.counted.get(site) as Counted;
    this.counted.delete(site);
    return { site, event: { type: 'inbound.rejected.v1', data: toData(counted) } };
  }
}

function toData({ since, reasons, sample }: Counted): RejectedConversions {
  const count = [...reasons.values()].reduce((sum, each) => sum + each, 0);
  return { since, count, reasons: Object.fromEntries(reasons), sample };
}
