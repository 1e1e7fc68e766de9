import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { SITE, streamIdOf } from '../events/site.events.js';
import type { Actor, CommandExecutor } from '../kernel/command.js';
import { counted } from '../kernel/counted.js';
import { UserError } from '../kernel/errors.js';
import type { Cell, Settings } from '../kernel/settings/settings.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { chainHeadAt, countSiteEvents } from '../log/site-copy/site-events.js';
import { countSite, type SiteSize } from '../log/site-copy/site-pages.js';
import { SCHEMA } from '../postgres/migrations/index.js';
import type { Postgres } from '../postgres/postgres.js';
import { StartMove } from '../sites/move.commands.js';
import type { Site } from '../sites/site.js';
import { SiteMoved, type SiteRepository } from '../sites/site-repository.js';
import type { SiteSecret, SiteSecrets } from '../sites/site-secrets.js';
import type { ArrivalState, Beginning, CellState } from './arrival.js';
import { beginDeparture, endDeparture, refuseOther } from './departures.js';
import { isDrained, readSiteLeases, readUnderWay } from './drain.js';
import { type Counted, type Departure, moveOut } from './move-out.js';
import { requireSendable } from './secrets-limit.js';
import { SiteCopier } from './site-copier.js';
import { TargetCell } from './target-cell.js';

const PAGE_LEASES = 5_000;
const DRAIN_POLL_MS = 200;

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
  /** Names of secrets that SECRET_KEY does not open: they do not move, and have to be set again in the other cell. */
  readonly unreadable: readonly string[];
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
    const { unreadable } = await this.openSecrets();
    const size = await this.withClient((client) => countSite(client, this.host));
    return { site, epoch, size, copied: state.arrival?.epoch === epoch ? state.arrival.events : 0, unreadable };
  }

  /** `total`: events of the site, to tell how far the copy is. */
  async run(total: number): Promise<Departure> {
    const { postgres, log } = this.dependencies;
    const { reporter } = this.options;
    const site = await this.requireSite();
    const epoch = this.epochOf(site);
    const state = await this.target.state();
    this.requireTarget(state);
    const arrival = await this.begin(site, epoch);
    if (arrival.state === 'open' && site.move?.state !== 'left')
      throw new UserError(
        `Cell ${this.cell.name} states that ${this.host} has moved there, which this cell does not know. Run "history verify" here.`,
      );
    reporter.step(`Cell ${this.cell.name} is ready for move ${epoch} of ${this.host}.`);
    const { stop } = this.options;
    const onCopied = (events: number, of: number) => reporter.copied(events, of);
    const options = { host: this.host, epoch, to: this.cell.name, total, stop, onCopied };
    const copier = new SiteCopier({ postgres, log }, this.target, options, arrival);
    const hasLeft = site.move?.state === 'left';
    const progress = { site: this.host, epoch, cell: this.cell.name, events: arrival.events, total };
    const isUnderWay = await beginDeparture(postgres, progress, hasLeft && arrival.state !== 'open');
    const counted = hasLeft ? undefined : await this.prepare(epoch, copier);
    const { address } = state;
    const departure = await moveOut(
      { postgres, log },
      {
        ...{ actor: this.options.actor, host: this.host, to: this.cell.name, epoch },
        ...(address !== undefined && { address }),
      },
      counted,
    );
    reporter.step(`${this.host} has left.`);
    if (copier.arrival.state !== 'open') await this.complete(epoch, copier, departure);
    // Another mover may have ended it.
    for (let isEnded = !isUnderWay; !isEnded; ) {
      await copier.copyErasures();
      stop.throwIfAborted();
      isEnded = await endDeparture(postgres, { site: this.host, epoch, erasedUntil: copier.erasedUntil });
    }
    return departure;
  }

  /** While conversions are accepted: everything that takes long, and all that could refuse the move later. */
  private async prepare(epoch: number, copier: SiteCopier): Promise<Counted> {
    const { reporter } = this.options;
    const { unreadable } = await this.openSecrets();
    if (unreadable.length > 0)
      reporter.step(`SECRET_KEY does not open ${unreadable.join(', ')}: set them again in cell ${this.cell.name}.`);
    await copier.copyErasures();
    await copier.copyMost();
    await copier.confirmCount();
    reporter.step(`Copied ${counted(copier.arrival.events, 'event')}. From here on, senders are asked to try again.`);
    await this.drain(epoch);
    reporter.step('Deliveries and pushes have ended.');
    await copier.copyAll();
    return copier.confirmCount();
  }

  private async complete(epoch: number, copier: SiteCopier, departure: Departure): Promise<void> {
    const { postgres, log } = this.dependencies;
    const { reporter } = this.options;
    await copier.copyRest(departure.position);
    reporter.step(`Copied all: ${counted(copier.arrival.events, 'event')}.`);
    const { secrets } = await this.openSecrets();
    await this.target.storeSecrets(epoch, secrets);
    const leases = await readSiteLeases({ postgres, log }, this.host);
    for (let from = 0; from < leases.length; from += PAGE_LEASES)
      await this.target.storeLeases(epoch, leases.slice(from, from + PAGE_LEASES));
    reporter.step('Sent its secrets.');
    const head = await chainHeadAt(postgres.pool, departure.position);
    await this.target.open(epoch, { position: departure.position, head });
    reporter.step(`Cell ${this.cell.name} has opened it.`);
  }

  private async openSecrets(): Promise<{ secrets: SiteSecret[]; unreadable: string[] }> {
    const opened = await this.dependencies.secrets.openAll(this.host);
    requireSendable(this.host, opened.secrets);
    return opened;
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
    const move = { site: this.host, epoch: this.epochOf(site), cell: this.cell.name };
    await refuseOther(this.dependencies.postgres.pool, move);
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
    const { settings, postgres, secrets } = this.dependencies;
    const beginning: Omit<Beginning, 'timeMs'> = {
      ...{ site: this.host, epoch, from: settings.cell, aliases: site.aliases, schema: SCHEMA },
      dedupSecret: Buffer.from(await secrets.dedupSecret(this.host), 'hex'),
      known: await this.knownThere(epoch),
    };
    return this.target.begin(beginning, () => postgres.clock.nowMs());
  }

  /** If the site came from the cell that it moves to: what that one has, because it was copied from there. */
  private async knownThere(epoch: number): Promise<Beginning['known']> {
    const { postgres, log } = this.dependencies;
    const history = (await log.readStream(SITE, streamIdOf(this.host))) as StoredEvent[];
    const arrived = history.findLast((event) => event.type === 'site.moved_in.v1');
    if (arrived?.type !== 'site.moved_in.v1' || arrived.data.epoch !== epoch - 1) return undefined;
    if (arrived.data.from !== this.cell.name) return undefined;
    const after = arrived.position - 1;
    const count = await countSiteEvents(postgres.pool, this.host, 0, after);
    return { events: arrived.data.events, after, count };
  }

  /** The site is paused from here on. Ends when nothing is under way. */
  private async drain(epoch: number): Promise<void> {
    const { commands } = this.dependencies;
    try {
      await commands.execute(new StartMove(this.options.actor, this.host, this.cell.name, epoch));
    } catch (error) {
      // Another mover has closed it since.
      if (!(error instanceof SiteMoved) || (await this.requireSite()).move?.state !== 'left') throw error;
    }
    for (;;) {
      const underWay = await readUnderWay(this.dependencies, this.host);
      if (isDrained(underWay)) return;
      const { conversions, attempts, isPushing, isRefreshing } = underWay;
      const push = isPushing ? ', a push of totals' : '';
      const token = isRefreshing ? ', the renewal of an access token' : '';
      this.options.reporter.waiting(
        `Waiting for ${counted(conversions, 'conversion')} without an outcome, ${counted(attempts, 'attempt')}${push}${token}.`,
      );
      await sleep(DRAIN_POLL_MS, undefined, { signal: this.options.stop });
    }
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
