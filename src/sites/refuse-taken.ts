import { UserError } from '../kernel/errors.js';
import type { Cell } from '../kernel/settings.js';
import { refuseElsewhere } from './other-cells.js';
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

/** Refuses a host or alias that belongs to a site, unless it is this one. */
export async function refuseOwned(sites: SiteRepository, name: string, host?: string): Promise<void> {
  const owner = await sites.findOwner(name);
  if (owner && owner.host !== host)
    throw new UserError(`${name} already belongs to site ${owner.host}. "sites show ${owner.host}" shows it.`);
}
