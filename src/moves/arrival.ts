import type { PoolClient } from 'pg';
import { type CopiedLease, storeLeases } from '../delivery/delivery-leases.js';
import { SITE, streamIdOf } from '../events/site.events.js';
import type { Actor, CommandExecutor } from '../kernel/command.js';
import { counted } from '../kernel/counted.js';
import { UserError } from '../kernel/errors.js';
import type { Settings } from '../kernel/settings/settings.js';
import { appendInTransaction, appendingTransaction } from '../log/append/append-in-transaction.js';
import { lockAppends } from '../log/append/append-lock.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { readHead } from '../log/event-reader.js';
import { followLineage, readJump } from '../log/lineage.js';
import type { Projection } from '../log/projections/projection.js';
import { type CopiedEvent, parseCopiedRows } from '../log/site-copy/copied-rows.js';
import type { EventName } from '../log/site-copy/site-pages.js';
import { findErased, storePage } from '../log/site-copy/store-page.js';
import { SCHEMA } from '../postgres/migrations/index.js';
import type { Postgres } from '../postgres/postgres.js';
import { transaction } from '../postgres/transaction.js';
import { endEarlierSite } from '../sites/earlier-site.js';
import { evolve, isClosed, type Site } from '../sites/site.js';
import { type SiteRepository } from '../sites/site-repository.js';
import type { SiteSecret, SiteSecrets } from '../sites/site-secrets.js';
import { EraseSubject } from '../visitors/erasure/erase-subject.command.js';
import type { Erasure } from '../visitors/erasure/erasure.js';
import { close } from './move-out.js';
import { readElsewhere } from './sites-elsewhere.js';
import { askSource, requireComing, requireLeft, requireNewest } from './source-cell.js';

/** Dedup claims and the windows of deliveries compare times of both cells. */
const CLOCKS_DIFFER_MAX_MS = 5_000;
/** In one request: each takes a while, and the other cell waits for the answer only so long. */
const PEOPLE_ERASED_MAX = 50;

export interface ArrivalDependencies {
  readonly settings: Pick<Settings, 'cell' | 'cellAddress' | 'otherCells'>;
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: SiteRepository;
  readonly secrets: SiteSecrets;
  readonly commands: CommandExecutor;
  readonly erasure: Erasure;
  /** Those that the append writes. */
  readonly inline: readonly Projection[];
}

/** How far a site has arrived. */
export interface ArrivalState {
  readonly epoch: number;
  /** The cell that it comes from. */
  readonly from: string;
  readonly state: 'arriving' | 'open';
  /** Everything up to this position of the other log is copied: so many events. */
  readonly reached: number;
  readonly events: number;
}

/** What a cell tells the one that wants to move a site to it. */
export interface CellState {
  readonly cell: string;
  readonly schema: number;
  /** Its database's time. */
  readonly timeMs: number;
  /** Where it accepts requests of senders. */
  readonly address?: string | undefined;
  readonly arrival?: ArrivalState | undefined;
}

/** Every step names the move. */
export interface Step {
  readonly site: string;
  readonly epoch: number;
}

export interface Beginning extends Step {
  readonly from: string;
  /** Hosts of the site. */
  readonly aliases: readonly string[];
  readonly schema: number;
  readonly timeMs: number;
  readonly dedupSecret: Buffer;
  /**
   * The site was in this cell before, and moved from here to the one that it comes from now. That one has `count` events up to
   * position `after`, all of which it got from here; `events`: as stated when the site left.
   */
  readonly known?: { readonly events: number; readonly after: number; readonly count: number } | undefined;
}

interface MoveRow {
  readonly epoch: number;
  readonly cell: string;
  readonly reached: number;
  readonly events: number;
  /** What is copied follows this position here. */
  readonly after: number;
  readonly done: boolean;
}

const COLUMNS = 'epoch, cell, reached::float8 AS reached, events::float8 AS events, after::float8 AS after, done';

/** The steps of a move in the cell that a site moves to. Each can be repeated, and is one transaction that locks the row of the move. */
export class Arrival {
  constructor(private readonly dependencies: ArrivalDependencies) {}

  async state(site: string): Promise<CellState> {
    const { postgres, settings } = this.dependencies;
    const { rows } = await postgres.pool.query<MoveRow>(
      `SELECT ${COLUMNS} FROM cc.site_moves WHERE site = $1 AND direction = 'in'`,
      [site],
    );
    return {
      cell: settings.cell,
      schema: SCHEMA,
      timeMs: postgres.clock.nowMs(),
      ...(settings.cellAddress !== undefined && { address: settings.cellAddress }),
      ...(rows[0] && { arrival: stateOf(rows[0]) }),
    };
  }

  /** Closes the site here before any of its events is copied, and stores the secret that readers of its events need. */
  async begin(beginning: Beginning): Promise<ArrivalState> {
    const { secrets } = this.dependencies;
    const { site, epoch, from, dedupSecret } = beginning;
    this.requireSameVersion(beginning);
    const history = await this.history(site);
    const here = history.reduce(evolve, undefined as Site | undefined);
    const { arrival } = await this.state(site);
    if (arrival?.epoch === epoch && arrival.from === from && arrival.state === 'open') return arrival;
    const isArriving = arrival?.state === 'arriving';
    if (here && !here.removed && !isClosed(here) && !isArriving) await this.requireLost(beginning);
    if (here && here.epoch >= epoch && arrival?.epoch !== epoch) throw outdated(site, here.epoch);
    if (here?.removed && !isClosed(here) && !isArriving)
      throw new UserError(
        `Cell ${this.dependencies.settings.cell} had a site ${site} of its own, which was removed there. Its history cannot continue with that of another site: move ${site} to another cell.`,
      );
    await this.refuseTaken(site, beginning.aliases);
    const { settings } = this.dependencies;
    requireComing(beginning, settings.cell, await askSource(settings.otherCells, from, site));
    // Not again for a move that has begun: the site may be closed in both cells until it ends.
    if (arrival?.epoch !== epoch) await requireNewest(settings.otherCells, beginning);
    await secrets.recordKey();
    return this.transaction(async (tx) => {
      const start = startOf(history, here, beginning);
      await tx.query(
        `INSERT INTO cc.site_moves AS m (site, direction, epoch, cell, reached, events, after) VALUES ($1, 'in', $2, $3, $4, $5, $6)
         ON CONFLICT (site, direction) DO UPDATE SET (epoch, cell, reached, events, after, done, updated_at) =
           (excluded.epoch, excluded.cell, excluded.reached, excluded.events,
            CASE WHEN m.done THEN excluded.after ELSE m.after END, false, now()) WHERE m.epoch < excluded.epoch`,
        [site, epoch, from, start.reached, start.events, await readHead(tx)],
      );
      const row = await this.lock(tx, { site, epoch });
      if (row.cell !== from)
        throw new UserError(`${site} is arriving from cell ${row.cell} already. Run that "sites move" to its end.`);
      if (row.done) return stateOf(row);
      await close(tx, site);
      await secrets.within(tx).replaceDedupSecret(site, dedupSecret);
      return stateOf(row);
    });
  }

  /**
   * A page of events after what is copied. A page that is, or that leaves a gap, changes nothing: the answer says where to continue.
   * What arrives erased, and is here with its personal part from an earlier move, is erased first: what follows is not concerned by that.
   */
  async storeEvents(
    step: Step,
    actor: Actor,
    { after, last, rows }: { readonly after: number; readonly last: number; readonly rows: Buffer },
  ): Promise<ArrivalState> {
    const { inline, postgres } = this.dependencies;
    const { site } = step;
    const events = parseCopiedRows(rows, site);
    const erased = events.filter((event) => event.erased !== null);
    while (erased.length > 0 && (await this.storeErased(step, actor, erased)).left > 0);
    return this.transaction(async (tx) => {
      const row = await this.lock(tx, step);
      if (row.done || row.reached !== after || last < after) return stateOf(row);
      await this.endEarlier(tx, site, actor, events, row.after);
      await storePage(tx, site, events, { clock: postgres.clock, inline, after: row.after });
      const state = { ...row, reached: last, events: row.events + events.length };
      await tx.query(
        `UPDATE cc.site_moves SET reached = $2, events = $3, updated_at = now() WHERE site = $1 AND direction = 'in'`,
        [site, state.reached, state.events],
      );
      return stateOf(state);
    });
  }

  /**
   * If another site begins in the page, with the host of one that was here. Who had access to the earlier one has none to the one that
   * arrives, and nothing is left of it that appends have written beside the log.
   */
  private async endEarlier(
    tx: PoolClient,
    site: string,
    actor: Actor,
    events: readonly CopiedEvent[],
    after: number,
  ): Promise<void> {
    const begins = events.find(({ type, data }) => type === 'site.registered.v1' && 'id' in data);
    if (!begins) return;
    const history = await this.history(site);
    if (!history.some(({ position }) => position <= after) || history.some(({ id }) => id === begins.id)) return;
    const { clock } = this.dependencies.postgres;
    await endEarlierSite(tx, (request) => appendInTransaction(tx, clock, request), site, actor);
  }

  /**
   * Events of which the other log has erased the personal parts since they were copied: also after the site is open. Returns
   * how many people are left: the same is to be sent again then.
   */
  async storeErased(step: Step, actor: Actor, events: readonly EventName[]): Promise<{ left: number }> {
    const { commands, erasure } = this.dependencies;
    const { people, visits } = await this.transaction(async (tx) => {
      await this.lock(tx, step);
      return findErased(tx, step.site, events);
    });
    if (visits.length > 0) await erasure.expireVisits(visits);
    for (const subject of people.slice(0, PEOPLE_ERASED_MAX))
      await commands.execute(new EraseSubject(actor, step.site, subject));
    return { left: Math.max(0, people.length - PEOPLE_ERASED_MAX) };
  }

  /** After the site has left: until then, its secrets change. */
  async storeSecrets(step: Step, secrets: readonly SiteSecret[]): Promise<void> {
    await this.dependencies.secrets.recordKey();
    await this.transaction(async (tx) => {
      if (!(await this.lock(tx, step)).done) await this.dependencies.secrets.within(tx).replaceAll(step.site, secrets);
    });
  }

  async storeLeases(step: Step, leases: readonly CopiedLease[]): Promise<void> {
    await this.transaction(async (tx) => {
      if (!(await this.lock(tx, step)).done) await storeLeases(tx, step.site, leases);
    });
  }

  /**
   * From here on this cell acts for the site. Only if the cell that it comes from states that it has left for this one,
   * and the log here has the event of that, and as many events as it states. Copied events alone prove nothing: anyone
   * with the token can send them.
   */
  async open(
    step: Step,
    actor: Actor,
    other: { readonly position: number; readonly head: string },
  ): Promise<ArrivalState> {
    const { site, epoch } = step;
    const { postgres, settings } = this.dependencies;
    const { arrival } = await this.state(site);
    if (arrival?.epoch === epoch && arrival.state === 'arriving')
      requireLeft(
        { ...step, from: arrival.from },
        settings.cell,
        await askSource(settings.otherCells, arrival.from, site),
      );
    return appendingTransaction(postgres, async (tx, append) => {
      const row = await this.lock(tx, step);
      if (row.done) return stateOf(row);
      const history = await this.history(site);
      const here = history.reduce(evolve, undefined as Site | undefined) as Site;
      const left = this.requireDeparture(history, step, row);
      if (row.events !== left.data.events)
        throw new UserError(
          `${counted(row.events, 'event was', 'events were')} copied of ${site}, and ${left.data.events} had been stored in cell ${row.cell}. Run "history verify" in both cells before you go on.`,
        );
      await this.refuseTaken(site, here.aliases);
      // Before the rows, as everywhere.
      await lockAppends(tx);
      await tx.query(
        here.paused
          ? 'UPDATE cc.paused_sites SET closed = false WHERE site = $1'
          : 'DELETE FROM cc.paused_sites WHERE site = $1',
        [site],
      );
      await tx.query('DELETE FROM cc.sites_elsewhere WHERE site = $1', [site]);
      await tx.query(`UPDATE cc.site_moves SET done = true, updated_at = now() WHERE site = $1 AND direction = 'in'`, [
        site,
      ]);
      await append({
        ...{ category: SITE, stream: streamIdOf(site), expected: history.length, site, actor },
        events: [
          {
            type: 'site.moved_in.v1',
            data: { from: row.cell, epoch, events: left.data.events, ...other, after: row.after },
          },
        ],
      });
      return stateOf({ ...row, done: true });
    });
  }

  /**
   * The log has the site open: only if it has lost events, and the site comes from the cell that has proved to have it. Otherwise a
   * cell that once had the site could take it over.
   */
  private async requireLost({ site, from, epoch }: Beginning): Promise<void> {
    const { postgres, settings } = this.dependencies;
    const holding = (await readElsewhere(postgres.pool)).find((each) => each.site === site);
    if (!holding) throw new UserError(`Cell ${settings.cell} has a site ${site} already.`);
    if (holding.cell !== from || holding.epoch >= epoch)
      throw new UserError(
        `Cell ${settings.cell} has found ${site} in cell ${holding.cell}, by move ${holding.epoch}. Run "sites move" in the cell that has it; if it has moved on since, try again in a minute.`,
      );
    if (!(await readJump(postgres.pool)))
      throw new UserError(
        `The log of cell ${settings.cell} has ${site}, and its database was never restored or failed over, so the site cannot have left unnoticed. If cell ${from} is not to be believed, remove it from CELLS of cell ${settings.cell} and run "sites move ${site} --cancel" there.`,
      );
  }

  private history(site: string): Promise<StoredEvent[]> {
    return this.dependencies.log.readStream(SITE, streamIdOf(site)) as Promise<StoredEvent[]>;
  }

  private requireDeparture(history: readonly StoredEvent[], { site, epoch }: Step, { cell: from }: MoveRow) {
    const { cell } = this.dependencies.settings;
    const left = history.at(-1);
    if (left?.type === 'site.moved_out.v1' && left.data.to === cell && left.data.epoch === epoch) return left;
    throw new UserError(
      `${site} has not left cell ${from} for cell ${cell}. Run "sites move ${site} --to ${cell}" there.`,
    );
  }

  private requireSameVersion({ from, schema, timeMs }: Beginning): void {
    const { postgres, settings } = this.dependencies;
    if (from === settings.cell)
      throw new UserError(`Both cells have the name ${from}. Give each its own in CELL before a site moves.`);
    if (schema !== SCHEMA)
      throw new UserError(
        `Cell ${from} has schema ${schema}, and cell ${settings.cell} has ${SCHEMA}. Upgrade the older one of the two first.`,
      );
    const differenceMs = Math.abs(postgres.clock.nowMs() - timeMs);
    if (differenceMs > CLOCKS_DIFFER_MAX_MS)
      throw new UserError(
        `The clocks of the databases of cell ${from} and cell ${settings.cell} differ by ${Math.round(differenceMs / 1_000)} s. Set them right (NTP) first.`,
      );
  }

  private async refuseTaken(site: string, aliases: readonly string[]): Promise<void> {
    for (const name of [site, ...aliases]) {
      const owner = await this.dependencies.sites.findOwner(name);
      if (owner && owner.host !== site)
        throw new UserError(
          `${name} belongs to site ${owner.host} in cell ${this.dependencies.settings.cell}. Remove it there first.`,
        );
    }
  }

  private async lock(tx: PoolClient, { site, epoch }: Step): Promise<MoveRow> {
    const { rows } = await tx.query<MoveRow>(
      `SELECT ${COLUMNS} FROM cc.site_moves WHERE site = $1 AND direction = 'in' FOR UPDATE`,
      [site],
    );
    const [row] = rows;
    if (!row) throw new UserError(`No move of ${site} to cell ${this.dependencies.settings.cell} has begun.`);
    if (row.epoch !== epoch) throw outdated(site, row.epoch);
    return row;
  }

  private transaction<Result>(work: (tx: PoolClient) => Promise<Result>): Promise<Result> {
    return transaction(this.dependencies.postgres.pool, work, (client) => followLineage(client, () => {}));
  }
}

function stateOf({ epoch, cell, reached, events, done }: MoveRow): ArrivalState {
  return { epoch, from: cell, state: done ? 'open' : 'arriving', reached, events };
}

function outdated(site: string, epoch: number): UserError {
  return new UserError(`${site} has moved on since: move ${epoch} has begun. "sites list" shows the cell that has it.`);
}

/** What came from here need not come back. */
function startOf(
  history: readonly StoredEvent[],
  here: Site | undefined,
  { from, epoch, known }: Beginning,
): { reached: number; events: number } {
  const left = history.findLast((event) => event.type === 'site.moved_out.v1');
  const isKnown =
    known &&
    here?.epoch === epoch - 1 &&
    left?.type === 'site.moved_out.v1' &&
    left.data.to === from &&
    left.data.epoch === epoch - 1 &&
    left.data.events === known.events;
  return isKnown ? { reached: known.after, events: known.count } : { reached: 0, events: 0 };
}
