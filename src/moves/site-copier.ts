import { UserError } from '../kernel/errors.js';
import type { EventLog } from '../log/event-log.js';
import { countSiteEvents } from '../log/site-copy/site-events.js';
import { readErased, readSitePage } from '../log/site-copy/site-pages.js';
import type { Postgres } from '../postgres/postgres.js';
import type { ArrivalState } from './arrival.js';
import { afterPass } from './copy-passes.js';
import { recordDeparture } from './departures.js';
import type { Counted } from './move-out.js';
import type { TargetCell } from './target-cell.js';

/** The other cell holds its append lock while it stores a page. */
const PAGE_EVENTS = 1_000;

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

/** Copies events of a site to another cell, which remembers how far. */
export class SiteCopier {
  private counted: Counted = { until: 0, events: 0 };
  private erased = 0;

  constructor(
    private readonly dependencies: CopierDependencies,
    private readonly target: TargetCell,
    private readonly options: CopierOptions,
    public arrival: ArrivalState,
  ) {}

  /** The other cell has erased what was erased here by events up to this position. */
  get erasedUntil(): number {
    return this.erased;
  }

  /** Until little is left. Throws if events arrive as fast as they are copied: the site would be paused for long. */
  async copyMost(): Promise<void> {
    const { host } = this.options;
    const copied: number[] = [];
    for (;;) {
      const before = this.arrival.events;
      await this.copyEvents(await this.dependencies.log.head(), false);
      copied.push(this.arrival.events - before);
      const next = afterPass(copied);
      if (next === 'enough') return;
      if (next === 'stop')
        throw new UserError(
          `${host} gets events as fast as they are copied: ${copied.at(-1)} arrived during the last of ${copied.length} passes. It stays in this cell. Run the same command again when fewer arrive, or after "sites pause ${host}": the move keeps the pause.`,
        );
    }
  }

  /** What the log has, of a site that is paused. */
  async copyAll(): Promise<void> {
    await this.copyEvents(await this.dependencies.log.head(), false);
  }

  /** What is left after the site has left, with the event at this position. */
  async copyRest(position: number): Promise<void> {
    await this.copyEvents(position, true);
    await this.copyErasures();
  }

  /**
   * Compares the number of copied events with this log. Before the site is closed, because the other cell does not open it with
   * another number. What was counted before is not counted again.
   */
  async confirmCount(): Promise<Counted> {
    const { host, to } = this.options;
    const { reached, events } = this.arrival;
    const before = this.counted.until <= reached ? this.counted : { until: 0, events: 0 };
    const added = await countSiteEvents(this.dependencies.postgres.pool, host, before.until, reached);
    this.counted = { until: reached, events: before.events + added };
    if (this.counted.events !== events)
      throw new UserError(
        `Cell ${to} has counted ${events} copied events of ${host}, and this cell has ${this.counted.events} up to the same one, perhaps because log retention has removed some. ` +
          `The site stays in this cell. Run "sites move ${host} --cancel", then this command again: it compares all events anew. If the numbers differ again, run "history verify" in both cells.`,
      );
    return this.counted;
  }

  /** Up to a position of this log. */
  private async copyEvents(until: number, hasLeft: boolean): Promise<void> {
    const { epoch, host, stop, total, onCopied } = this.options;
    await this.record(hasLeft);
    await this.dependencies.postgres.read(async (client) => {
      const read = (after: number) => readSitePage(client, host, { after, until, limit: PAGE_EVENTS });
      let next: Awaited<ReturnType<typeof read>> | undefined;
      // What an interrupted run has copied may end with an erasure that the other cell has not carried out.
      await this.copyErasures();
      // Another mover may have completed the move.
      while (this.arrival.state !== 'open' && this.arrival.reached < until) {
        stop.throwIfAborted();
        const after = this.arrival.reached;
        const { rows, last, endsWithErasure } = next ?? (await read(after));
        if (last === after) return;
        // The next one is read while the other cell stores this one.
        const stored = this.target.storeEvents(epoch, { after, last, rows });
        [this.arrival, next] = await Promise.all([stored, last < until ? read(last) : undefined]);
        const isNext = this.arrival.reached === last;
        onCopied(this.arrival.events, total);
        await this.record(hasLeft);
        // The other cell was rolled back, and has again what was erased there since.
        if (this.arrival.reached < after) this.erased = 0;
        // Before the same person's next events follow: the erasure does not concern those.
        if (!isNext || endsWithErasure) {
          await this.copyErasures();
          // It may have been read before.
          next = undefined;
        }
      }
    });
  }

  /** What was erased here since the last time; at first, all of it: the other cell may have it because the site was there. */
  async copyErasures(): Promise<void> {
    const { epoch, host, stop } = this.options;
    const { postgres, log } = this.dependencies;
    const until = await log.head();
    const range = { after: this.erased, until, reached: this.arrival.reached };
    const erased = await postgres.read((client) => readErased(client, host, range));
    for (let from = 0; from < erased.length; from += PAGE_EVENTS) {
      const events = erased.slice(from, from + PAGE_EVENTS);
      do stop.throwIfAborted();
      while ((await this.target.storeErased(epoch, events)).left > 0);
    }
    this.erased = until;
  }

  private async record(hasLeft: boolean): Promise<void> {
    const { host: site, epoch, to: cell, total } = this.options;
    const progress = { site, epoch, cell, events: this.arrival.events, total };
    await recordDeparture(this.dependencies.postgres.pool, progress, hasLeft && this.arrival.state !== 'open');
  }
}
