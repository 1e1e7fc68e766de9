import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { SITE } from '../events/site.events.js';
import type { Actor, CommandExecutor } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import type { Cell, Settings } from '../kernel/settings.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { readClaims } from '../log/site-claims.js';
import { countSite, readSiteCopy, type SiteSize } from '../log/site-copy.js';
import { chainHeadAt, countSiteEvents, firstOwnPosition } from '../log/site-events.js';
import { SCHEMA } from '../postgres/migrations/index.js';
import type { Postgres } from '../postgres/postgres.js';
import { StartMove } from '../sites/move.commands.js';
import type { Site } from '../sites/site.js';
import { SiteMoved, type SiteRepository, streamIdOf } from '../sites/site-repository.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import type { ArrivalState, Beginning, CellState } from './arrival.js';
import { endDeparture, recordDeparture } from './departures.js';
import { isDrained, readSiteLeases, readUnderWay } from './drain.js';
import { type Departure, moveOut } from './move-out.js';
import { TargetCell } from './target-cell.js';

const PAGE_EVENTS = 2_000;
const PAGE_CLAIMS = 10_000;
const PAGE_LEASES = 5_000;
const DRAIN_POLL_MS = 200;
/** A claim has the time of its event, which may be stored a little later than it was drawn. */
const CLAIMS_OVERLAP_MS = 60_000;
/** Erasures of the site while it is copied. */
const ERASED = 'visitor.erased.v1';

export interface MoveDependencies {
  readonly settings: Settings;
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: SiteRepository;
  readonly secrets: SiteSecrets;
  readonly commands: CommandExecutor;
}

export interface MoveReporter {
  /** A step is complete. */
  step(line: string): void;
  copied(events: number, total: number): void;
  waiting(line: string): void;
}

export interface MovePlan {
  readonly site: Site;
  readonly epoch: number;
  readonly size: SiteSize;
  /** What the other cell has of it. */
  readonly copied: number;
}

/** Moves a site to another cell. A move that was interrupted is continued by another call. */
export class SiteMover {
  private readonly target: TargetCell;

  constructor(
    private readonly dependencies: MoveDependencies,
    private readonly cell: Cell,
    private readonly host: string,
    private readonly options: { readonly actor: Actor; readonly stop: AbortSignal; readonly reporter: MoveReporter },
  ) {
    const { stop, reporter } = options;
    this.target = new TargetCell(cell, host, { stop, onWait: (line) => reporter.waiting(line) });
  }

  close(): Promise<void> {
    return this.target.close();
  }

  /** What there is to copy. Asks the other cell, which may refuse the token. */
  async plan(): Promise<MovePlan> {
    const site = await this.requireSite();
    const epoch = this.epochOf(site);
    const state = await this.target.state();
    this.requireTarget(state);
    const size = await this.withClient((client) => countSite(client, this.host));
    return { site, epoch, size, copied: state.arrival?.epoch === epoch ? state.arrival.events : 0 };
  }

  /** `total`: events of the site, to tell how far the copy is. */
  async run(total: number): Promise<Departure> {
    const { postgres, log } = this.dependencies;
    const { reporter } = this.options;
    const site = await this.requireSite();
    const epoch = this.epochOf(site);
    const state = await this.target.state();
    this.requireTarget(state);
    let arrival = await this.begin(site, epoch);
    if (arrival.state === 'open' && site.move?.state !== 'left')
      throw new UserError(
        `Cell ${this.cell.name} states that ${this.host} has moved there, which this cell does not know. Run "history verify" here.`,
      );
    reporter.step(`Cell ${this.cell.name} is ready for move ${epoch} of ${this.host}.`);
    const copying = new Copying(arrival, total);
    // Of what an earlier run has copied.
    if (arrival.reached > 0 && arrival.state !== 'open') await this.copyErased(epoch, arrival.reached);
    if (site.move?.state !== 'left') {
      await this.copyEvents(epoch, copying);
      await this.copyNewClaims(epoch, copying);
      reporter.step(`Copied ${copying.arrival.events} events.`);
      await this.drain(epoch);
      reporter.step('Deliveries and pushes have ended; conversions are still accepted.');
      // So that little is left for the time in which neither cell accepts conversions.
      await this.copyEvents(epoch, copying);
      await this.copyNewClaims(epoch, copying);
    }
    const { address } = state;
    const departure = await moveOut(
      { postgres, log },
      {
        ...{ actor: this.options.actor, host: this.host, to: this.cell.name, epoch },
        ...(address !== undefined && { address }),
      },
    );
    reporter.step(`${this.host} has left. Until cell ${this.cell.name} opens it, senders are asked to try again.`);
    arrival = copying.arrival;
    if (arrival.state !== 'open') await this.complete(epoch, copying, departure);
    await endDeparture(postgres.pool, this.host, epoch);
    return departure;
  }

  private async complete(epoch: number, copying: Copying, departure: Departure): Promise<void> {
    const { postgres, log, secrets } = this.dependencies;
    const { reporter } = this.options;
    await this.copyEvents(epoch, copying, departure.position);
    await this.copyErased(epoch, copying.arrival.reached);
    await this.copyNewClaims(epoch, copying);
    reporter.step(`Copied all ${copying.arrival.events} events.`);
    const opened = await secrets.openAll(this.host);
    await this.target.storeSecrets(epoch, opened.secrets);
    const leases = await readSiteLeases({ postgres, log }, this.host);
    for (let from = 0; from < leases.length; from += PAGE_LEASES)
      await this.target.storeLeases(epoch, leases.slice(from, from + PAGE_LEASES));
    reporter.step('Sent its secrets.');
    if (opened.unreadable.length > 0)
      reporter.step(
        `SECRET_KEY does not open ${opened.unreadable.join(', ')}: set them again in cell ${this.cell.name}.`,
      );
    const head = await chainHeadAt(postgres.pool, departure.position);
    await this.target.open(epoch, { position: departure.position, head });
    reporter.step(`Cell ${this.cell.name} has opened it.`);
  }

  private async requireSite(): Promise<Site> {
    const site = await this.dependencies.sites.get(this.host);
    if (site.host !== this.host)
      throw new UserError(
        `${this.host} is an alias of ${site.host}. Run "sites move ${site.host} --to ${this.cell.name}".`,
      );
    if (site.removed) throw new UserError(`Site ${this.host} was removed, so it cannot be moved.`);
    if (site.move?.state === 'arriving') throw new SiteMoved(site);
    if (site.move && site.move.to !== this.cell.name)
      throw new UserError(
        site.move.state === 'left'
          ? `Site ${this.host} has left for cell ${site.move.to}. Complete that with "sites move ${this.host} --to ${site.move.to}", then move it on from there.`
          : `Site ${this.host} is about to move to cell ${site.move.to}. Cancel that first: "sites move ${this.host} --cancel".`,
      );
    return site;
  }

  /** A move that has started goes on. */
  private epochOf({ epoch, move }: Site): number {
    return move ? epoch : epoch + 1;
  }

  private requireTarget({ cell }: CellState): void {
    if (cell !== this.cell.name)
      throw new UserError(
        `The cell at ${this.cell.url} has the name ${cell}, not ${this.cell.name}. Correct CELLS here, or CELL there.`,
      );
  }

  private async begin(site: Site, epoch: number): Promise<ArrivalState> {
    const { settings, postgres, log, secrets } = this.dependencies;
    const beginning: Omit<Beginning, 'timeMs'> = {
      ...{ site: this.host, epoch, from: settings.cell, aliases: site.aliases, schema: SCHEMA },
      head: await log.head(),
      dedupSecret: Buffer.from(await secrets.dedupSecret(this.host), 'hex'),
      known: await this.knownThere(epoch),
    };
    return this.target.begin(beginning, () => postgres.clock.nowMs());
  }

  /** If the site came from the cell that it moves to: what that one has, because it was copied from there. */
  private async knownThere(epoch: number): Promise<Beginning['known']> {
    const { postgres, log } = this.dependencies;
    const history = (await log.readStream(SITE, streamIdOf(this.host))) as StoredEvent[];
    const own = history.filter(({ origin }) => origin === undefined);
    const arrived = own.findLast((event) => event.type === 'site.moved_in.v1');
    if (arrived?.type !== 'site.moved_in.v1' || arrived.data.epoch !== epoch - 1) return undefined;
    if (arrived.data.from !== this.cell.name) return undefined;
    const left = own.findLast((event) => event.type === 'site.moved_out.v1' && event.position < arrived.position);
    const first = await firstOwnPosition(postgres.pool, this.host, left?.position ?? 0);
    const after = (first ?? arrived.position) - 1;
    const count = await countSiteEvents(postgres.pool, this.host, 0, after);
    return { events: arrived.data.events, after, count };
  }

  /** Up to the end of the log as it is then, or to a position. */
  private async copyEvents(epoch: number, copying: Copying, until?: number): Promise<void> {
    const begunAt = await this.dependencies.log.head();
    await this.record(epoch, copying, until !== undefined);
    await this.withClient(async (client) => {
      for (;;) {
        this.options.stop.throwIfAborted();
        const after = copying.arrival.reached;
        if (until !== undefined && after >= until) return;
        const page = await readSiteCopy(client, this.host, after, PAGE_EVENTS);
        if (page.last === after) return;
        copying.arrival = await this.target.storeEvents(epoch, { after, last: page.last, rows: page.rows });
        this.options.reporter.copied(copying.arrival.events, copying.total);
        await this.record(epoch, copying, until !== undefined);
        // Before the same person's next events follow: the erasure does not concern those.
        if (page.last > begunAt && page.rows.includes(ERASED)) await this.copyErased(epoch, copying.arrival.reached);
        if (page.isLast && until === undefined) return;
      }
    });
  }

  /** Personal parts that were erased here after they had been copied. `until`: what follows is not copied yet. */
  private async copyErased(epoch: number, until: number): Promise<void> {
    await this.withClient(async (client) => {
      for (let after = 0; after < until; ) {
        this.options.stop.throwIfAborted();
        const page = await readSiteCopy(client, this.host, after, PAGE_EVENTS, { erased: true, until });
        if (page.count > 0) await this.target.storeErased(epoch, page.rows);
        if (page.isLast || page.last === after) return;
        after = page.last;
      }
    });
  }

  private async copyNewClaims(epoch: number, copying: Copying): Promise<void> {
    const begunMs = this.dependencies.postgres.clock.nowMs();
    await this.copyClaims(epoch, copying.claimsSince);
    copying.claimsSince = new Date(begunMs - CLAIMS_OVERLAP_MS);
  }

  private async copyClaims(epoch: number, since: Date | undefined): Promise<void> {
    await this.withClient(async (client) => {
      for (let after: string | undefined; ; ) {
        this.options.stop.throwIfAborted();
        const page = await readClaims(client, this.host, {
          limit: PAGE_CLAIMS,
          ...(after !== undefined && { after }),
          ...(since && { since }),
        });
        if (page.count > 0) await this.target.storeClaims(epoch, page.rows);
        if (page.count < PAGE_CLAIMS) return;
        after = page.last;
      }
    });
  }

  /** Deliveries and pushes wait from here on. Ends when none is under way. */
  private async drain(epoch: number): Promise<void> {
    const { commands, log } = this.dependencies;
    await commands.execute(new StartMove(this.options.actor, this.host, this.cell.name, epoch));
    const history = (await log.readStream(SITE, streamIdOf(this.host))) as StoredEvent[];
    const started = history.findLast((event) => event.type === 'site.move_started.v1');
    for (;;) {
      const underWay = await readUnderWay(this.dependencies, this.host, started?.position ?? 0);
      if (isDrained(underWay)) return;
      const { conversions, attempts, isPushing } = underWay;
      const push = isPushing ? ', and a push of totals' : '';
      this.options.reporter.waiting(
        `Waiting for ${conversions} conversions without an outcome, ${attempts} attempts${push}.`,
      );
      await sleep(DRAIN_POLL_MS, undefined, { signal: this.options.stop });
    }
  }

  private async record(epoch: number, { arrival, total }: Copying, hasLeft: boolean): Promise<void> {
    const { pool } = this.dependencies.postgres;
    const progress = { site: this.host, epoch, cell: this.cell.name, events: arrival.events, total };
    await recordDeparture(pool, progress, hasLeft && arrival.state !== 'open');
  }

  private async withClient<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    const client = await this.dependencies.postgres.connect('move');
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }
}

/** How far a run has come. */
class Copying {
  /** Claims from before are copied. */
  claimsSince: Date | undefined;

  constructor(
    public arrival: ArrivalState,
    /** Events of the site when the run began. */
    readonly total: number,
  ) {}
}
