import { UserError } from '../kernel/errors.js';
import type { Cell } from '../kernel/settings/settings.js';
import { listOtherCells, refuseElsewhere, refuseSilent } from './other-cells.js';
import type { Site } from './site.js';
import type { SiteRepository } from './site-repository.js';

/** Refuses hosts and aliases that another site has, here or in another cell. `host`: the site that is to get them. */
export async function refuseTaken(
  sites: SiteRepository,
  cells: readonly Cell[],
  names: readonly string[],
  host?: string,
): Promise<void> {
  for (const name of names) await refuseOwned(sites, name, host);
  // What this cell knows itself is not asked elsewhere.
  if (names.length > 0) await refuseElsewhere(cells, names);
}

/**
 * For callers who may not see all sites: besides, refuses hosts outside the domain of their site, and those above or below a host of
 * another one, whose visitors, senders or certificates they might get. Another site is named to who may see it.
 */
export async function refuseForeign(
  sites: SiteRepository,
  cells: readonly Cell[],
  names: readonly string[],
  { host }: Pick<Site, 'host'>,
  mayName: (host: string) => boolean,
): Promise<void> {
  const { overlap, ownDomain } = await import('./host-rule.js');
  const listed = names.length > 0 ? await listOtherCells(cells) : [];
  const others = [...(await sites.all()), ...listed.flatMap((cell) => cell.sites ?? [])].filter(
    (other) => other.host !== host,
  );
  const ownerOf = (name: string, clash: (taken: string) => boolean) => {
    const owner = others.find((other) => [other.host, ...other.aliases].some(clash));
    if (!owner) return undefined;
    return mayName(owner.host) ? `${name} is in use by site ${owner.host}` : `${name} is in use`;
  };
  const domain = ownDomain(host);
  for (const name of names) {
    const owned = ownerOf(name, (taken) => taken === name);
    if (owned !== undefined) throw new UserError(`${owned}.`);
    if (domain === undefined || ownDomain(name) !== domain)
      throw new UserError(
        `${name} is not a host of ${domain ?? 'a registered domain'}, as ${host} is: only callers with access to all sites can add it.`,
      );
    const related = ownerOf(name, (taken) => overlap(name, taken));
    if (related !== undefined) throw new UserError(`${related}, or lies above or below a host that is.`);
  }
  refuseSilent(listed, names);
}

/** Refuses a host or alias that belongs to a site, unless it is this one. */
export async function refuseOwned(sites: SiteRepository, name: string, host?: string): Promise<void> {
  const owner = await sites.findOwner(name);
  if (owner && owner.host !== host)
    throw new UserError(`${name} already belongs to site ${owner.host}. "sites show ${owner.host}" shows it.`);
}
