import { UserError } from '../kernel/errors.js';
import type { Cell } from '../kernel/settings/settings.js';
import { listOtherCells, type SiteElsewhere } from '../sites/other-cells.js';

/** The cell that a site comes from cannot be asked at the moment. The step is to be repeated. */
export class SourceSilent extends Error {
  override readonly name = 'SourceSilent';
}

interface Coming {
  readonly site: string;
  readonly epoch: number;
  readonly from: string;
}

/**
 * What the cell that a site comes from states about it, asked at the address that this cell has of it. The caller of a step is not
 * believed: its token may be stolen, or be that of a cell which the site has left long ago.
 */
export async function askSource(
  cells: readonly Cell[],
  from: string,
  site: string,
): Promise<SiteElsewhere | undefined> {
  const cell = cells.find(({ name }) => name === from);
  if (!cell)
    throw new UserError(
      `${site} is to come from cell ${from}, which is not in CELLS here. Add it, with a token of it in CELL_TOKENS: both cells of a move ask each other.`,
    );
  const [listed] = await listOtherCells([cell]);
  if (!listed?.sites) throw new SourceSilent(`Cell ${from} was asked about ${site}. ${listed?.problem}`);
  return listed.sites.find(({ host }) => host === site);
}

/**
 * Before a move begins: no cell has got the site by this move or a later one. The cell that it comes from may have lost that. While one
 * does not answer, that is not known.
 */
export async function requireNewest(cells: readonly Cell[], { site, epoch }: Omit<Coming, 'from'>): Promise<void> {
  const listed = await listOtherCells(cells);
  const silent = listed.find(({ sites }) => !sites);
  if (silent)
    throw new UserError(
      `It is not known whether cell ${silent.name} has got ${site} by an earlier move. ${silent.problem} Try again then, or leave that cell out of CELLS here.`,
    );
  const other = listed.find(({ sites = [] }) =>
    sites.some(({ host, arrived }) => host === site && arrived !== undefined && arrived.epoch >= epoch),
  );
  if (other)
    throw new UserError(
      `Cell ${other.name} has got ${site} by move ${epoch} or a later one, which the cell that it is to come from has lost. Run "sites move" in cell ${other.name}.`,
    );
}

/** Before anything is copied: the site is there, and this is its next move. */
export function requireComing({ site, epoch, from }: Coming, cell: string, there: SiteElsewhere | undefined): void {
  const state = there?.move?.state;
  const isMoving = state === 'leaving' || state === 'left';
  const next = (there?.epoch ?? 0) + (isMoving ? 0 : 1);
  if (
    there &&
    state !== 'arriving' &&
    state !== 'elsewhere' &&
    next === epoch &&
    (!isMoving || there.move?.to === cell)
  )
    return;
  throw new UserError(
    `Cell ${from} does not state that move ${epoch} of ${site} leads from there to cell ${cell}. "sites list" shows the cell that has it: run "sites move" there.`,
  );
}

/** Two cells must not act for a site. */
export function requireLeft({ site, epoch, from }: Coming, cell: string, there: SiteElsewhere | undefined): void {
  if (there?.epoch === epoch && there.move?.state === 'left' && there.move.to === cell) return;
  throw new UserError(
    `Cell ${from} does not state that ${site} has left it for cell ${cell} with move ${epoch}. Run "sites move ${site} --to ${cell}" there.`,
  );
}
