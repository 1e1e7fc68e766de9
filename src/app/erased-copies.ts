import { JobStore } from '../jobs/job-store.js';
import type { Actor } from '../kernel/command.js';
import type { Postgres } from '../postgres/postgres.js';
import { withoutErased } from '../sites/settings-decision.js';
import { NoSite, SiteMoved, type SiteRepository } from '../sites/site-repository.js';
import { IdempotencyKeys } from '../users/idempotency-keys.js';

/** Deletes what other tables may have about an erased person of a site, and ends what the site decides by it. */
export function copiesDeleter(postgres: Postgres, sites: SiteRepository) {
  return async (site: string, subject: string, actor: Actor): Promise<void> => {
    await new JobStore(postgres).deleteExports(site);
    await new IdempotencyKeys(postgres).forgetAnswers(site);
    await removeFilters(sites, site, subject, actor);
  };
}

/** The erasure has deleted their values. The event tells all instances, which have them in memory. */
async function removeFilters(sites: SiteRepository, host: string, subject: string, actor: Actor): Promise<void> {
  try {
    await sites.change(host, actor, (site) => withoutErased(site, subject));
  } catch (error) {
    // No instance of this cell decides anything for such a site.
    if (!(error instanceof NoSite || error instanceof SiteMoved)) throw error;
  }
}
