import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Gauge, Registry } from 'prom-client';
import { CONVERSION } from '../events/conversion.events.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { readJump } from '../log/lineage.js';
import { countOpenings } from '../log/site-copy/site-events.js';
import { adviceFor, judgeClaims, PAUSE_ONE, withdrawn } from '../moves/held-elsewhere.js';
import { closeElsewhere, readElsewhere, reopen } from '../moves/sites-elsewhere.js';
import { Postgres } from '../postgres/postgres.js';
import type { Holding } from '../sites/holding.js';
import { listOtherCells, type OtherCell } from '../sites/other-cells.js';
import { isClosed } from '../sites/site.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { CellAnswers, type Question } from './cell-answers.js';
import { FailoverWatch } from './failover-watch.js';

const TICK_MS = 1_000;
const EVERY_MS = 60_000;
/** After the start and after a change of lineage, while sites are read again, and as long as a cell is waited for. */
const SOON_MS = 5_000;

/**
 * Asks the other cells whether they have got sites from here that this log takes for its own: it was restored, or a failover has
 * lost that they left. Two cells would act for them. docs/decisions/0030-moving-a-site.md
 */
@Injectable()
export class CellWatch implements OnModuleInit, OnApplicationShutdown {
  private lineage: string | undefined;
  private readonly answers: CellAnswers;
  private soonUntilMs = 0;
  private nextMs = 0;
  private checking: Promise<boolean> | undefined;
  /** A finding outlives the settings by which it was made. */
  private hasFound = false;
  /** What the log was told last about each site and each cell. */
  private readonly told = new Map<string, string>();
  private readonly silent: Gauge<'cell'>;
  private readonly closed: Gauge;

  constructor(
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly postgres: Postgres,
    private readonly sites: SiteDirectory,
    private readonly failovers: FailoverWatch,
    private readonly logger: Logger,
    registry: Registry,
  ) {
    this.answers = new CellAnswers(settings.otherCells.map(({ name }) => name));
    this.silent = new Gauge({
      name: 'cc_cell_silent',
      help: '1 for another cell that did not answer when it was asked which sites it has, else 0',
      labelNames: ['cell'],
      registers: [registry],
    });
    this.closed = new Gauge({
      name: 'cc_sites_elsewhere',
      help: 'Sites that another cell has, which the log of this one does not know: closed here, unless both got them by the same move',
      registers: [registry],
    });
  }

  /**
   * After a restore, nothing is accepted, sent or pushed for a site that another cell has. Requests, deliveries and schedules begin
   * when all modules are initialised.
   */
  async onModuleInit(): Promise<void> {
    this.sites.setElsewhere(await readElsewhere(this.postgres.pool));
    const untilMs = performance.now() + EVERY_MS;
    this.soonUntilMs = untilMs;
    // What a cell has answered counts when it is compared with the log, for which a database that stalls is waited for.
    while (!(await this.check()) && performance.now() < untilMs) await sleep(TICK_MS);
  }

  @Interval(TICK_MS)
  async tick(): Promise<void> {
    if (this.settings.otherCells.length === 0 && !this.hasFound) return;
    const { lineage } = this.failovers;
    if (this.lineage !== undefined && lineage !== this.lineage) {
      this.answers.restart();
      this.nextMs = 0;
      this.soonUntilMs = performance.now() + EVERY_MS;
    }
    this.lineage = lineage;
    if (performance.now() >= this.nextMs) await this.check();
  }

  /** False if it has to be repeated. */
  check(): Promise<boolean> {
    this.checking ??= this.checkOnce().finally(() => {
      this.checking = undefined;
    });
    return this.checking;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.checking;
  }

  private async checkOnce(): Promise<boolean> {
    const question = this.answers.ask();
    try {
      await this.ask(question);
      this.told.delete('check');
    } catch (error) {
      // By the next tick: after a failover, the first connection that is used may be one to the earlier primary.
      this.nextMs = 0;
      this.tell('check', 'The other cells could not be asked which sites they have; another try follows', {
        error: messageOf(error),
      });
      return false;
    }
    // After a change of lineage the next tick asks again.
    if (!question.isCurrent()) return false;
    const isSoon = this.answers.missing.size > 0 || performance.now() < this.soonUntilMs;
    this.nextMs = performance.now() + (isSoon ? SOON_MS : EVERY_MS);
    return true;
  }

  private async ask(question: Question): Promise<void> {
    // Before the answers: what another instance finds by later ones is not withdrawn by these.
    const known = await readElsewhere(this.postgres.pool);
    const cells = await listOtherCells(this.settings.otherCells);
    for (const cell of cells) this.note(cell);
    // After the answers: a site that left a moment ago has left here before it arrived there.
    await this.sites.refresh();
    for (const { name, problem } of cells) if (problem === undefined) question.answered(name);
    const open = this.sites.logged().filter(({ site }) => !isClosed(site));
    const { held, disputed, unproved } = judgeClaims(open, cells);
    // First in memory: this instance refuses them also if the database cannot be changed.
    this.sites.setElsewhere([...held, ...known]);
    for (const holding of held) await this.close(holding);
    if (question.isCurrent())
      for (const holding of withdrawn(known, held, cells))
        if (await reopen(this.postgres, holding))
          this.logger.warn('Another cell no longer states that it has a site: it is open here again', { ...holding });
    const found = await readElsewhere(this.postgres.pool);
    this.sites.setElsewhere([...held, ...found]);
    this.closed.set(found.length + disputed.length);
    this.hasFound = found.length > 0;
    for (const holding of found) await this.tellClosed(holding, adviceFor(holding, cells, this.settings.cell));
    for (const { site, cell, epoch } of disputed) this.tellDisputed({ site, cell, epoch });
    for (const holding of unproved)
      this.tell(
        `unproved ${holding.site}`,
        'Another cell states that it has a site of this one, and cannot prove that it came from here: nothing is changed. Check which cell should have it',
        { ...holding },
      );
  }

  /** One that fails does not keep others open. */
  private async close(holding: Holding): Promise<void> {
    try {
      await closeElsewhere(this.postgres, holding);
    } catch (error) {
      this.soonUntilMs = performance.now() + SOON_MS;
      this.tell(
        `close ${holding.site}`,
        'A site that another cell has could not be closed in the database: this instance refuses it, and another try follows',
        { ...holding, error: messageOf(error) },
      );
    }
  }

  private note({ name, problem }: OtherCell): void {
    this.silent.set({ cell: name }, problem === undefined ? 0 : 1);
    if (problem === undefined) this.told.delete(`cell ${name}`);
    else
      this.tell(
        `cell ${name}`,
        'Another cell cannot be asked which sites it has. Sites are served meanwhile: if the database was restored or failed over, check that they have not moved there',
        { cell: name, problem },
      );
  }

  private async tellClosed(holding: Holding, advice: string): Promise<void> {
    const { site, cell, epoch } = holding;
    const subject = `closed ${site}`;
    const line = `${cell} ${epoch} ${advice}`;
    if (this.told.get(subject) === line) return;
    this.told.set(subject, line);
    const jump = await readJump(this.postgres.pool);
    const stored = jump ? await countOpenings(this.postgres.pool, site, CONVERSION, jump.continuesAt) : 0;
    this.logger.error(
      `Cell ${cell} has ${site}: it moved there, and the database of this cell, which was restored or failed over, has lost that. Senders get 503 here. ${advice}; docs/operate/cells.md, "A site in two cells", tells what else to do.`,
      { ...holding, ...(jump && { storedSince: jump.continuesAt, conversions: stored }) },
    );
  }

  private tellDisputed(holding: Holding): void {
    const { site, cell, epoch } = holding;
    const subject = `disputed ${site} ${cell}`;
    if (this.told.get(subject) === String(epoch)) return;
    this.told.set(subject, String(epoch));
    this.logger.error(
      `Cell ${cell} has ${site} by move ${epoch}, by which another cell has got it as well: both may act for it. ${PAUSE_ONE}`,
      { ...holding },
    );
  }

  /** Once, until something else is to be told about the subject. */
  private tell(subject: string, message: string, fields: Record<string, unknown>): void {
    const line = JSON.stringify(fields);
    if (this.told.get(subject) === line) return;
    this.told.set(subject, line);
    this.logger.warn(message, fields);
  }
}
