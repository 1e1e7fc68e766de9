import type { Command } from 'commander';
import { counted } from '../kernel/counted.js';
import { formatDuration } from '../kernel/durations.js';
import { UserError } from '../kernel/errors.js';
import type { Cell, Settings } from '../kernel/settings/settings.js';
import { cancelDeparture, readMoves } from '../moves/departures.js';
import { type MovePlan, type MoveReporter, SiteMover } from '../moves/move-site.js';
import { readElsewhere, reopen } from '../moves/sites-elsewhere.js';
import type { Postgres } from '../postgres/postgres.js';
import { CancelMove } from '../sites/move.commands.js';
import { siteDocument } from '../sites/site-document.js';
import { SiteMoved } from '../sites/site-repository.js';
import { CLI_ACTOR } from './cli-actor.js';
import { type ConfirmationOptions, confirm, withConfirmation } from './confirmation.js';
import { type Output, progressBar } from './output/output.js';
import { siteCard } from './output/site-output.js';
import { card } from './output/table.js';
import type { Session } from './session.js';
import { subcommand, UsageError } from './subcommand.js';

/** A rough estimate for the dry run: while it copies, the command states what it takes from the rate so far. */
const EVENTS_PER_SECOND = 2_000;
const SHOW_EVERY_MS = 200;

interface MoveOptions extends ConfirmationOptions {
  readonly to?: string;
  readonly cancel?: true;
}

export function addMove(group: Command, session: Session): void {
  withConfirmation(
    subcommand(
      group,
      'move <host>',
      'Move a site with all its events to another cell. Run it again after an interruption: it continues.',
      'sites move shop.example --to south --dry-run',
    ),
  )
    .option('--to <cell>', 'name of the cell in CELLS; CELL_MOVE_TOKENS needs a token of it with the scope move')
    .option(
      '--cancel',
      'give up a move before the site has left; or open a site that a cell had which is gone for good',
    )
    .action(async (host: string, options: MoveOptions) => {
      if (options.cancel ? options.to !== undefined : options.to === undefined)
        throw new UsageError('Give --to with the cell to move to, or --cancel.');
      if (options.cancel) await cancel(session, host, options);
      else await move(session, host, options.to as string, options);
    });
}

async function cancel(session: Session, host: string, { json, dryRun }: MoveOptions): Promise<void> {
  const { sites, commands, dryRunCommands, postgres, settings } = await session.open();
  const before = await sites.get(host);
  if (before.move && before.move.state !== 'leaving') throw new SiteMoved(before);
  await endFinding(postgres, settings, before.host, dryRun);
  const under = (await readMoves(postgres.pool)).find((each) => each.site === before.host && each.direction === 'out');
  const copying = under && { to: under.cell, epoch: under.epoch };
  const changed = await (dryRun ? dryRunCommands : commands).execute(new CancelMove(CLI_ACTOR, before.host, copying));
  if (!dryRun) await cancelDeparture(postgres, before.host, changed.epoch);
  const site = siteDocument(changed);
  await session.output.show(json, site, () => siteCard(site));
}

/** Only an operator knows that a cell is gone for good, or not to be believed: it is taken out of CELLS first. */
async function endFinding(
  postgres: Postgres,
  { cell, otherCells }: Settings,
  host: string,
  isDryRun = false,
): Promise<void> {
  const held = (await readElsewhere(postgres.pool)).find(({ site }) => site === host);
  if (!held) return;
  if (otherCells.some(({ name }) => name === held.cell))
    throw new UserError(
      `Cell ${held.cell} has ${host}. Run "sites move ${host} --to ${cell}" there; if that cell is gone for good, remove it from CELLS, here and of all instances, first.`,
    );
  if (!isDryRun) await reopen(postgres, held);
}

async function move(session: Session, host: string, to: string, options: MoveOptions): Promise<void> {
  const dependencies = await session.open();
  const { output, stop } = session;
  const reporter = new Reporter(output);
  const cell = cellOf(dependencies.settings, to);
  const mover = new SiteMover(dependencies, cell, host, { actor: CLI_ACTOR, stop, reporter });
  try {
    const plan = await mover.plan();
    const document = documentOf(plan, dependencies.settings.cell, to);
    if (options.dryRun) {
      await output.show(options.json, { ...document, dryRun: true }, () => card({ ...document, dryRun: true }));
      if (!options.json) output.note('Dry run: nothing was changed.');
      return;
    }
    const { events } = plan.size;
    await confirm(
      session,
      options,
      `Move ${host} with ${counted(events, 'event')} to cell ${to}?`,
      'require --yes',
      WARNING,
    );
    const { epoch } = await mover.run(events);
    const moved = { host, from: dependencies.settings.cell, to, epoch };
    await output.show(options.json, moved, () => card(moved));
    if (!options.json)
      output.note(
        `Next: let the DNS name of ${host} lead to cell ${to}, and manage the site at ${cell.url} from now on.`,
      );
  } catch (error) {
    if (!stop.aborted) throw error;
    throw new UserError(`Interrupted. Run the same command again: the move of ${host} continues where it was.`);
  } finally {
    await mover.close();
  }
}

const WARNING = 'It can be moved back in the same way.';

function cellOf({ moveTargets, cell, otherCells }: Settings, name: string): Cell {
  const found = moveTargets.find((target) => target.name === name);
  if (found) return found;
  if (name === cell) throw new UserError(`This is cell ${name}. Give the name of another one.`);
  const known = otherCells.some((other) => other.name === name);
  throw new UserError(
    known
      ? `CELL_MOVE_TOKENS has no token of cell ${name}. Create one there with the scope move, and set CELL_MOVE_TOKENS=${name}=<token>.`
      : `CELLS does not name ${name}. Set CELLS=${name}=https://… to the address of its management API.`,
  );
}

function documentOf({ site, epoch, size, copied, unreadable }: MovePlan, from: string, to: string) {
  const left = Math.max(0, size.events - copied);
  const seconds = Math.ceil(left / EVENTS_PER_SECOND);
  return {
    ...{ host: site.host, from, to, epoch, ...size, copied },
    ...(unreadable.length > 0 && { unreadable: unreadable.join(', ') }),
    expected: formatDuration(Math.max(1, seconds) * 1_000),
  };
}

/** Steps as lines that stay; how far the copy is, on a terminal. */
class Reporter implements MoveReporter {
  private readonly startedMs = performance.now();
  private shownMs = Number.NEGATIVE_INFINITY;
  private first: number | undefined;
  private waitedFor = '';

  constructor(private readonly output: Output) {}

  step(line: string): void {
    this.waitedFor = '';
    this.output.note(line);
  }

  copied(events: number, total: number): void {
    this.waitedFor = '';
    const nowMs = performance.now();
    this.first ??= events;
    if (nowMs - this.shownMs < SHOW_EVERY_MS) return;
    this.shownMs = nowMs;
    const seconds = (nowMs - this.startedMs) / 1_000;
    const rate = (events - this.first) / seconds;
    const left = rate > 0 ? `, ${formatDuration(Math.ceil(Math.max(0, total - events) / rate) * 1_000)} left` : '';
    const done = total === 0 ? 1 : Math.min(1, events / total);
    this.output.progress(`${progressBar(done)} ${events.toLocaleString('en-US')} events${left}`);
  }

  /** Said once per reason. */
  waiting(line: string): void {
    if (line === this.waitedFor) return;
    this.waitedFor = line;
    this.output.note(line);
  }
}
