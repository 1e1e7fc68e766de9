import type { SiteRepository } from './site-repository.js';
import type { SiteSecrets } from './site-secrets.js';

/** Handler of a command that changes one site. */
export abstract class SiteHandler {
  constructor(protected readonly sites: SiteRepository) {}
}

/** Handler of a command that also stores, replaces or deletes secrets of the site. */
export abstract class SecretsHandler extends SiteHandler {
  constructor(
    sites: SiteRepository,
    protected readonly secrets: SiteSecrets,
  ) {
    super(sites);
  }
}
