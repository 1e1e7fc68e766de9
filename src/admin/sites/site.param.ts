import { Injectable, NotFoundException, Param, type PipeTransform } from '@nestjs/common';
import type { Site, SiteScope } from '../../sites/site.js';
import { SiteRepository } from '../../sites/site-repository.js';
import type { Principal } from '../../users/access.js';
import { connectionName, host } from '../schemas.js';

/** By its host, not by an alias: access is given by host. */
export async function findSite(sites: SiteRepository, name: string): Promise<Site> {
  const site = await sites.findByHost(name);
  if (!site) throw new NotFoundException(`There is no site ${name}.`);
  return site;
}

@Injectable()
class SiteByHost implements PipeTransform<string, Promise<Site>> {
  constructor(private readonly sites: SiteRepository) {}

  transform(name: string): Promise<Site> {
    return findSite(this.sites, name);
  }
}

/** The site that `:site` of the path names. */
export const SiteParam = () => Param('site', { schema: host, pipes: [SiteByHost] });

/** The name of a connection in the path, which the site need not have. */
export const ConnectionParam = () => Param('connection', { schema: connectionName });

/** What the caller may read of it: only callers that see all sites also see earlier ones that had the host. */
export function scopeOf({ sites }: Principal, { host, since }: SiteScope): SiteScope {
  return sites === 'all' ? { host } : { host, since };
}
