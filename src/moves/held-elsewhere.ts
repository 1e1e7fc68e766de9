import { type Holding, isProved } from '../sites/holding.js';
import type { OtherCell } from '../sites/other-cells.js';
import type { Site } from '../sites/site.js';

/** A site as this log knows it. */
export interface OwnSite {
  readonly site: Pick<Site, 'host' | 'epoch' | 'arrivedBy' | 'move'>;
  readonly dedupSecret: string;
}

export interface Claims {
  /** Proved: by a later move than the one by which the site came here. At most one for each site. */
  readonly held: readonly Holding[];
  /** Stated without a proof: the other cell is broken, or has another site of that name. */
  readonly unproved: readonly Holding[];
}

/**
 * Which of the sites have moved on to another cell, by what the cells that answered state. The move by which a cell got a site counts,
 * and not the epoch of the site: a move that was started and cancelled raises that as well, also in a cell that was rolled back.
 */
export function judgeClaims(sites: readonly OwnSite[], cells: readonly OtherCell[]): Claims {
  const held: Holding[] = [];
  const unproved: Holding[] = [];
  for (const { site, dedupSecret } of sites) {
    let newest: Holding | undefined;
    for (const { name: cell, sites: listed = [] } of cells) {
      const arrived = listed.find(({ host }) => host === site.host)?.arrived;
      if (!arrived || arrived.epoch <= (newest?.epoch ?? site.arrivedBy ?? 0)) continue;
      const claim = { site: site.host, cell, epoch: arrived.epoch };
      if (isProved(dedupSecret, claim, arrived.proof)) newest = claim;
      else unproved.push(claim);
    }
    if (newest) held.push(newest);
  }
  return { held, unproved };
}

/**
 * Findings that no longer hold: the cell answers and does not state it any more, as after it was restored itself, or it is not in
 * CELLS. While it does not answer, a finding stands.
 */
export function withdrawn(
  found: readonly Holding[],
  held: readonly Holding[],
  cells: readonly OtherCell[],
): readonly Holding[] {
  return found.filter(({ site, cell }) => {
    if (held.some((each) => each.site === site)) return false;
    const asked = cells.find(({ name }) => name === cell);
    return !asked || asked.sites !== undefined;
  });
}

/** Sites whose move has started, and which the other cell has not been asked about yet. It may have them already. */
export function unconfirmed(sites: readonly OwnSite[], unasked: ReadonlySet<string>): Holding[] {
  return sites.flatMap(({ site: { host, epoch, move } }) =>
    move?.state === 'leaving' && unasked.has(move.to) ? [{ site: host, cell: move.to, epoch }] : [],
  );
}
