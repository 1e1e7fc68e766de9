import { type Holding, isProved } from '../sites/holding.js';
import { isThere, type OtherCell } from '../sites/other-cells.js';
import type { Site } from '../sites/site.js';

/** A site as this log knows it. */
export interface OwnSite {
  readonly site: Pick<Site, 'host' | 'epoch' | 'arrivedBy' | 'move'>;
  readonly dedupSecret: string;
}

export interface Claims {
  /** Proved: by a later move than the one by which the site came here. At most one for each site. */
  readonly held: readonly Holding[];
  /** Proved, by the same move as that by which this or another cell got the site: a cell that has lost a move repeated it. */
  readonly disputed: readonly Holding[];
  /** Stated without a proof: the other cell is broken, or has another site of that name. */
  readonly unproved: readonly Holding[];
}

/**
 * Which of the sites have moved on to another cell, by what the cells that answered state. The move by which a cell got a site counts,
 * and not the epoch of the site: a move that was started and cancelled raises that as well, also in a cell that was rolled back.
 */
export function judgeClaims(sites: readonly OwnSite[], cells: readonly OtherCell[]): Claims {
  const held: Holding[] = [];
  const disputed: Holding[] = [];
  const unproved: Holding[] = [];
  for (const { site, dedupSecret } of sites) {
    let newest: Holding | undefined;
    let equal: Holding[] = [];
    for (const { name: cell, sites: listed = [] } of cells) {
      const arrived = listed.find(({ host }) => host === site.host)?.arrived;
      const latest = newest?.epoch ?? site.arrivedBy ?? 0;
      if (!arrived || arrived.epoch < latest) continue;
      const claim = { site: site.host, cell, epoch: arrived.epoch };
      const isLater = arrived.epoch > latest;
      if (!isProved(dedupSecret, claim, arrived.proof)) {
        if (isLater) unproved.push(claim);
      } else if (isLater) {
        newest = claim;
        equal = [];
      } else equal.push(claim);
    }
    if (newest) held.push(newest);
    disputed.push(...equal);
  }
  return { held, disputed, unproved };
}

/**
 * Findings that no longer hold: the cell answers and does not state it any more, as after it was restored itself. While it does not
 * answer, is not in CELLS, or a cell lists the site as its own, a finding stands: a proof may be missing because a secret cannot be
 * read, and the settings of instances change one after the other.
 */
export function withdrawn(
  found: readonly Holding[],
  held: readonly Holding[],
  cells: readonly OtherCell[],
): readonly Holding[] {
  return found.filter(({ site, cell }) => {
    if (held.some((each) => each.site === site)) return false;
    const isAnswered = cells.some(({ name, sites }) => name === cell && sites !== undefined);
    return isAnswered && !cells.some((each) => isThere(each, site));
  });
}

export const PAUSE_ONE =
  'Let its DNS name lead to one of these cells, and run "sites pause" in the other at once; docs/operate/cells.md, "A site in two cells", tells what else to do.';

/** What the operator has to do about a site that another cell has. `own`: the name of this cell. */
export function adviceFor({ site, cell }: Holding, cells: readonly OtherCell[], own: string): string {
  const claimant = cells.find(({ name }) => name === cell);
  if (!claimant)
    return `Cell ${cell} is not in CELLS any more, and ${site} stays closed: add the cell again, or run "sites move ${site} --cancel" here if it is gone for good`;
  const move = claimant.sites?.find(({ host }) => host === site)?.move;
  return move?.state === 'left' && move.to === own
    ? `${site} has left cell ${cell} for this one: run "sites move ${site} --to ${own}" there, which brings it back`
    : `Let its DNS name lead to cell ${cell}`;
}
