import { UserError } from '../kernel/errors.js';
import type { EventLog } from '../log/event-log.js';
import { readClaims, readNewestTimeMs } from '../log/site-copy/site-claims.js';
import { readErasedAt, readSiteCopy, type SiteCopy } from '../log/site-copy/site-copy.js';
import { countSiteEvents } from '../log/site-copy/site-events.js';
import type { Postgres } from '../postgres/postgres.js';
import type { ArrivalState } from './arrival.js';
import { afterPass } from './copy-passes.js';
import { forgetMovedErasures, readMovedErasures, recordDeparture } from './departures.js';
import type { Counted } from './move-out.js';
import type { TargetCell } from './target-cell.js';

/** The other cell holds its append lock while it stores a page, of claims too. */
const PAGE_EVENTS = 1_000;
const PAGE_CLAIMS = 2_000;
/** A claim has the time of its event, which may be stored a little later than it was drawn. */
const CLAIMS_OVERLAP_MS = 60_000;
/** Erasures of the site while it is copied. */
const ERASED = 'visitor.erased.v1';

interface CopierDependencies {
  readonly postgres: Postgres;
  readonly log: EventLog;
}

export interface CopierOptions {
  readonly host: string;
  readonly epoch: number;
  /** Name of the other cell. */
  readonly to: string;
  /** Events of the site when the run began. */
  readonly total: number;
  readonly stop: AbortSignal;
  onCopied(events: number, total: number): void;
}

/** Copies events and dedup claims of a site to another cell, which remembers how far. */
export class SiteCopier {
  private counted: Counted = { until: 0, events: 0 };

  constructor(
    private readonly dependencies: CopierDependencies,
    private readonly target: TargetCell,
    private readonly options: CopierOptions,
    public arrival: ArrivalState,
  ) {}

  /** Until little is left. Throws if events arrive as fast as they are copied: the site would be closed for long. */
  async copyMost(): Promise<void> {
    const { host } = this.options;
    const copied: number[] = [];
    for (;;) {
      const before = this.arrival.events;
      await this.copyEvents(await this.dependencies.log.head(), false);
      copied.push(this.arrival.events - before);
      const next = afterPass(copied);
      if (next === 'enough') break;
      if (next === 'stop')
        throw new UserError(
          `${host} gets events as fast as they are copied: ${copied.at(-1)} arrived during the last of ${copied.length} passes. It stays in this cell. Run the same command again when fewer arrive, or after "sites pause ${host}": the move keeps the pause.`,
        );
    }
    await this.copyClaims();
  }

  /** What is left after the site has left, with the event at this position. */
  async copyRest(position: number): Promise<void> {
    await this.copyEvents(position, true);
    await this.copyErasures(this.arrival.reached);
    await this.copyClaims();
  }

  /**
   * Compares the number of copied events with this log. Before the site is closed, because the other cell does not open it with
   * another number. What was counted before is not counted again.
   */
  async confirmCount(): Promise<Counted> {
    const { host, to } = this.options;
    const { reached, events } = this.arrival;
    const added = await countSiteEvents(this.dependencies.postgres.pool, host, this.counted.until, reached);
    this.counted = { until: reached, events: this.counted.events + added };
    if (this.counted.events !== events)
      throw new UserError(
        `Cell ${to} has counted ${events} copied events of ${host}, and this cell has ${this.counted.events} up to the same one, perhaps because log retention has removed some. ` +
          `The site stays in this cell. Run "sites move ${host} --cancel", then this command again: it compares all events anew. If the numbers differ again, run "history verify" in both cells.`,
      );
    return this.counted;
  }

  private async copyEvents(until: number, hasLeft: boolean): Promise<void> {
    const { epoch, host, total, stop, onCopied } = this.options;
    await this.record(hasLeft);
    await this.dependencies.postgres.read(async (client) => {
      const read = (after: number) => readSiteCopy(client, host, after, PAGE_EVENTS);
      let next: SiteCopy | undefined;
      // What an interrupted run has copied may end with an erasure that the other cell has not carried out.
      await this.copyErasures(this.arrival.reached);
      // Another mover may have completed the move.
      while (this.arrival.state !== 'open' && this.arrival.reached < until) {
        stop.throwIfAborted();
        const after = this.arrival.reached;
        const { rows, last } = next ?? (await read(after));
        if (last === after) return;
        // The next one is read while the other cell stores this one.
        const stored = this.target.storeEvents(epoch, { after, last, rows });
        [this.arrival, next] = await Promise.all([stored, last < until ? read(last) : undefined]);
        const isNext = this.arrival.reached === last;
        if (!isNext) next = undefined;
        onCopied(this.arrival.events, total);
        await this.record(hasLeft);
        // The other cell was rolled back, and has again what was erased there since.
        if (this.arrival.reached < after) await this.compareErased(this.arrival.reached);
        // Before the same person's next events follow: the erasure does not concern those.
        if (!isNext || rows.includes(ERASED)) await this.copyErasures(this.arrival.reached);
      }
    });
  }

  /** What was erased here since the move began. `until`: what follows is not copied yet. */
  async copyErasures(until: number): Promise<void> {
    const { host, stop } = this.options;
    const { pool } = this.dependencies.postgres;
    for (;;) {
      stop.throwIfAborted();
      const positions = await readMovedErasures(pool, host, until, PAGE_EVENTS);
      if (positions.length === 0) return;
      await this.erase(await this.dependencies.postgres.read((client) => readErasedAt(client, host, positions)));
      await forgetMovedErasures(pool, host, positions);
    }
  }

  /** Compares all that is erased here, also from before the move began: the other cell may have it because the site was there. */
  async compareErased(until: number): Promise<void> {
    const { host, stop } = this.options;
    await this.dependencies.postgres.read(async (client) => {
      for (let after = 0; after < until; ) {
        stop.throwIfAborted();
        const page = await readSiteCopy(client, host, after, PAGE_EVENTS, { erased: true, until });
        await this.erase(page.rows);
        if (page.isLast || page.last === after) return;
        after = page.last;
      }
    });
  }

  private async erase(rows: Buffer): Promise<void> {
    const { epoch, stop } = this.options;
    while (rows.length > 0 && (await this.target.storeErased(epoch, rows)).left > 0) stop.throwIfAborted();
  }

  /** Those since the last time, also by another run: the other cell remembers it, so that a restore of it forgets both. */
  private async copyClaims(): Promise<void> {
    const { epoch, host, stop } = this.options;
    const newestMs = await readNewestTimeMs(this.dependencies.postgres.pool);
    const claimsUntilMs = Math.max(0, newestMs - CLAIMS_OVERLAP_MS);
    const sinceMs = this.arrival.claimsUntilMs;
    await this.dependencies.postgres.read(async (client) => {
      for (let after: string | undefined; ; ) {
        stop.throwIfAborted();
        const page = await readClaims(client, host, {
          limit: PAGE_CLAIMS,
          ...(after !== undefined && { after }),
          ...(sinceMs !== undefined && { since: new Date(sinceMs) }),
        });
        const isLast = page.count < PAGE_CLAIMS;
        await this.target.storeClaims(epoch, page.rows, isLast ? claimsUntilMs : undefined);
        if (isLast) break;
        after = page.last;
      }
    });
    this.arrival = { ...this.arrival, claimsUntilMs };
  }

  private async record(hasLeft: boolean): Promise<void> {
    const { host: site, epoch, to: cell, total } = this.options;
    const progress = { site, epoch, cell, events: this.arrival.events, total };
    await recordDeparture(this.dependencies.postgres.pool, progress, hasLeft && this.arrival.state !== 'open');
  }
}
