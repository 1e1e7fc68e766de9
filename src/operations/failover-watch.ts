import { hostname } from 'node:os';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Counter, Registry } from 'prom-client';
import { FAILOVER_STREAM, LOG, type LogEvent, NO_SITE } from '../events/log.events.js';
import { counted } from '../kernel/counted.js';
import { Logger } from '../kernel/logger.js';
import type { AppendedRange } from '../log/append/appended-positions.js';
import { EventLog } from '../log/event-log.js';
import { followLineage, readJump, readServerLineage } from '../log/lineage.js';
import { Postgres } from '../postgres/postgres.js';
import { withConnection } from '../postgres/transaction.js';

/** An append that an earlier primary acknowledges late is found by then. */
const WATCHED_FOR_MS = 60_000;
/** Ranges in one event. More of them are counted, and the log names them. */
const RANGES_MAX = 1_000;

type FailedOver = LogEvent & { type: 'log.failed_over.v1' };

/**
 * Notices that the database was failed over or restored, and reports what it has lost: positions that this process appended and
 * that are not there any more. Each instance reports its own.
 */
@Injectable()
export class FailoverWatch implements OnApplicationShutdown {
  /** Lineage of the database, as it was seen last. */
  lineage: string | undefined;
  private watchedUntilMs = Number.NEGATIVE_INFINITY;
  private checking: Promise<void> | undefined;
  private pending: FailedOver | undefined;
  private readonly lost: Counter;

  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly logger: Logger,
    registry: Registry,
  ) {
    this.lost = new Counter({
      name: 'cc_log_lost_events_total',
      help: 'Events that this instance had appended and that the database lost in a failover or restore',
      registers: [registry],
    });
  }

  @Interval(1_000)
  async check(): Promise<void> {
    this.checking ??= this.look()
      // The database is unavailable: the next check tries again.
      .catch(() => {})
      .finally(() => {
        this.checking = undefined;
      });
    await this.checking;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.checking;
  }

  private async look(): Promise<void> {
    if (this.pending) await this.record(this.pending);
    const lineage = await readServerLineage(this.postgres.pool);
    // All instances may have been stopped while it happened.
    if (this.lineage === undefined) await this.reportEarlier(lineage);
    else if (lineage !== this.lineage) this.watchedUntilMs = performance.now() + WATCHED_FOR_MS;
    if (performance.now() < this.watchedUntilMs) await this.report(lineage, lineage !== this.lineage);
    this.lineage = lineage;
  }

  /** A failover before the start of this instance, if no other one has recorded it. */
  private async reportEarlier(lineage: string): Promise<void> {
    const jump = await this.readJump();
    if (!jump || (await this.isRecorded(jump.continuesAt))) return;
    this.watchedUntilMs = performance.now() + WATCHED_FOR_MS;
    this.logger.warn(
      'The database was failed over or restored before this instance started. What it lost by that is not known: compare it with the senders and the topics.',
      jump,
    );
    const data = { lineage, ...jump, lostEvents: 0, lost: [], instance: hostname(), startedAfter: true as const };
    await this.record({ type: 'log.failed_over.v1', data });
  }

  private async report(lineage: string, hasChanged: boolean): Promise<void> {
    const jump = await this.readJump();
    if (!jump) return;
    const lost = await this.log.takeLost();
    const events = lost.reduce((sum, { first, last }) => sum + last - first + 1, 0);
    if (events > 0) {
      this.lost.inc(events);
      this.logger.error(
        `The database lost ${counted(events, 'event')} of this instance in a failover or restore. Conversions among them were acknowledged: their senders must send them again.`,
        { ...jump, lost: describe(lost.slice(0, RANGES_MAX)) },
      );
    }
    if (events === 0 && !hasChanged) return;
    const data = { lineage, ...jump, lostEvents: events, lost: lost.slice(0, RANGES_MAX), instance: hostname() };
    this.pending = { type: 'log.failed_over.v1', data };
    await this.record(this.pending);
  }

  /** The first writer after a failover moves the log ahead: that may be this one. */
  private readJump() {
    return withConnection(this.postgres.pool, async (client) => {
      await followLineage(client, (line) => this.logger.warn(line));
      return readJump(client);
    });
  }

  private async record(event: FailedOver): Promise<void> {
    // With nothing lost, one instance records the failover for all.
    if (event.data.lostEvents > 0 || !(await this.isRecorded(event.data.continuesAt))) {
      await this.log.append({
        ...{ category: LOG, stream: FAILOVER_STREAM, site: NO_SITE, actor: 'system' },
        expected: 'any',
        events: [event],
      });
    }
    this.pending = undefined;
  }

  private async isRecorded(continuesAt: number): Promise<boolean> {
    const recorded = await this.log.readStream(LOG, FAILOVER_STREAM);
    return recorded.some(({ data }) => (data as FailedOver['data']).continuesAt === continuesAt);
  }
}

function describe(ranges: readonly AppendedRange[]): string {
  return ranges.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(', ');
}
