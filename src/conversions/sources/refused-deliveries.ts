import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { RefusedDeliveries as RefusedData } from '../../events/inbound.events.js';
import { CLOCK, type Clock } from '../../kernel/clock.js';
import { messageOf } from '../../kernel/errors.js';
import { Logger } from '../../kernel/logger.js';
import { Shutdown } from '../../kernel/shutdown.js';
import { EventLog } from '../../log/event-log.js';
import type { LoadedSource } from '../../sites/sources/loaded-source.js';
import { type CountEvent, StoredCounts } from '../stored-counts.js';
import { type Refusal, SourceMetrics } from './source-metrics.js';

const TOPICS_MAX = 10;
/** Share of the grace period that is left for the modules that stop later. */
const LEFT = 0.3;

interface Counted {
  readonly site: string;
  readonly source: string;
  readonly since: string;
  readonly reasons: Map<Refusal, number>;
  readonly topics: Set<string>;
}

/**
 * Counts deliveries of which nothing else is stored, in metrics and for each connection of a source. The counts are stored as one
 * event per connection and minute, so that a flood cannot fill the log. What was counted since the last time is lost in a crash.
 */
@Injectable()
export class RefusedDeliveries implements OnApplicationShutdown {
  /** By connection. */
  private readonly counted = new Map<string, Counted>();
  private readonly stored: StoredCounts;

  constructor(
    log: EventLog,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly metrics: SourceMetrics,
    private readonly shutdown: Shutdown,
    private readonly logger: Logger,
  ) {
    this.stored = new StoredCounts(
      log,
      () => this.counted.keys(),
      (keyId) => this.take(keyId),
    );
  }

  /** `topic`: one that the mapping does not have. */
  count(site: string, { connection: { keyId, source } }: LoadedSource, reason: Refusal, topic?: string): void {
    this.metrics.refuse(source, reason);
    let counted = this.counted.get(keyId);
    if (!counted) {
      const since = new Date(this.clock.nowMs()).toISOString();
      counted = { site, source, since, reasons: new Map(), topics: new Set() };
      this.counted.set(keyId, counted);
    }
    const { reasons, topics } = counted;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    // A topic can be any text: one that is no plain name may be about a person.
    if (topic !== undefined && topics.size < TOPICS_MAX && /^[\w ./-]{1,64}$/.test(topic)) topics.add(topic);
  }

  @Interval(60_000)
  async flushQuietly(): Promise<void> {
    try {
      await this.stored.flush();
    } catch (error) {
      this.logger.warn('Storing the counts of refused deliveries failed; retrying in 60 s', {
        error: messageOf(error),
      });
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.shutdown.within(this.flushQuietly(), LEFT);
  }

  private take(keyId: string): CountEvent {
    const { site, source, since, reasons, topics } = this.counted.get(keyId) as Counted;
    this.counted.delete(keyId);
    const count = [...reasons.values()].reduce((sum, each) => sum + each, 0);
    const data: RefusedData = {
      keyId,
      source,
      since,
      count,
      reasons: Object.fromEntries(reasons),
      topics: [...topics],
    };
    return { site, event: { type: 'inbound.deliveries_refused.v1', data } };
  }
}
