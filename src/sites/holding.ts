import { hkdfSync, timingSafeEqual } from 'node:crypto';
import { isClosed, type Site, type SiteMove } from './site.js';
import type { SiteSecrets } from './site-secrets.js';

/** A cell has got a site by a move: a fact that stays true, whatever happens to the site later. */
export interface Holding {
  readonly site: string;
  readonly cell: string;
  readonly epoch: number;
}

/** What a cell states about a site that it has got. */
export interface StatedArrival {
  readonly epoch: number;
  readonly proof: string;
}

/**
 * Only cells that a site was moved to can compute it, because only they get its dedup secret: a cell cannot claim a site that it has
 * never had. The secret stays the same when SECRET_KEY changes, and no one who sees the proof learns anything about it.
 */
export function proofOf(dedupSecret: string, { site, cell, epoch }: Holding): string {
  return Buffer.from(hkdfSync('sha256', dedupSecret, '', `site held ${cell} ${epoch} ${site}`, 32)).toString('hex');
}

export function isProved(dedupSecret: string, holding: Holding, proof: string): boolean {
  const [expected, given] = [Buffer.from(proofOf(dedupSecret, holding)), Buffer.from(proof)];
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** For other cells that ask: the sites that have come to this one, by host. */
export async function statedArrivals(
  sites: readonly Site[],
  cell: string,
  secrets: Pick<SiteSecrets, 'dedupSecrets'>,
): Promise<Map<string, StatedArrival>> {
  const arrived = sites.flatMap(({ host, arrivedBy }) => (arrivedBy === undefined ? [] : [{ host, epoch: arrivedBy }]));
  if (arrived.length === 0) return new Map();
  const opened = await secrets.dedupSecrets(arrived.map(({ host }) => host));
  return new Map(
    arrived.flatMap(({ host, epoch }) => {
      const secret = opened.get(host);
      return secret === undefined ? [] : [[host, { epoch, proof: proofOf(secret, { site: host, cell, epoch }) }]];
    }),
  );
}

interface Held {
  readonly host: string;
  readonly arrivedBy?: number | undefined;
  readonly move?: SiteMove | null | undefined;
}

/** A site of which the log has only a part of the events does not belong to this cell, whatever they say. */
export function asArriving(site: Site, incomplete: ReadonlySet<string>): Site {
  return incomplete.has(site.host) ? { ...site, arrivedBy: undefined, move: { state: 'arriving' } } : site;
}

/** The site as this cell has to treat it, by what the log says and what other cells have proved. */
export function asHeld<Of extends Held>(site: Of, elsewhere: readonly Holding[]): Of {
  const holding = elsewhere.find((each) => each.site === site.host);
  if (!holding || isClosed(site) || (site.arrivedBy ?? 0) >= holding.epoch) return site;
  return { ...site, move: { state: 'elsewhere', to: holding.cell } };
}
