import type { ICommandHandler } from '@nestjs/cqrs';
import { CommandHandler } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import { AddSite, ChangeSiteSettings, DisableInbound, EnableInbound } from './site.commands.js';
import type { Site } from './site.js';
import { parseHost, type SiteRepository } from './site-repository.js';
import type { SiteSecrets } from './site-secrets.js';
import { changedSettings } from './site-settings.js';

@CommandHandler(AddSite)
export class AddSiteHandler implements ICommandHandler<AddSite> {
  constructor(
    private readonly sites: SiteRepository,
    private readonly secrets: SiteSecrets,
  ) {}

  async execute(command: AddSite): Promise<Site> {
    const host = parseHost(command.host);
    const aliases = [...new Set(command.aliases.map(parseHost))].filter((alias) => alias !== host);
    for (const name of [host, ...aliases]) {
      const owner = await this.sites.findOwner(name);
      if (owner)
        throw new UserError(`${name} already belongs to site ${owner.host}. "sites show ${owner.host}" shows it.`);
    }
    // Before the event, because readers of the event need the secret. A secret without a site does no harm.
    await this.secrets.ensureDedupSecret(host);
    return this.sites.add(host, command.actor, { type: 'site.registered.v1', data: { host, aliases } });
  }
}

@CommandHandler(EnableInbound)
export class EnableInboundHandler implements ICommandHandler<EnableInbound> {
  constructor(private readonly sites: SiteRepository) {}

  execute({ host, actor }: EnableInbound): Promise<Site> {
    return this.sites.change(host, actor, ({ inbound }) =>
      inbound ? undefined : { type: 'site.inbound_enabled.v1', data: {} },
    );
  }
}

@CommandHandler(DisableInbound)
export class DisableInboundHandler implements ICommandHandler<DisableInbound> {
  constructor(private readonly sites: SiteRepository) {}

  execute({ host, actor }: DisableInbound): Promise<Site> {
    return this.sites.change(host, actor, ({ inbound }) =>
      inbound ? { type: 'site.inbound_disabled.v1', data: {} } : undefined,
    );
  }
}

@CommandHandler(ChangeSiteSettings)
export class ChangeSiteSettingsHandler implements ICommandHandler<ChangeSiteSettings> {
  constructor(private readonly sites: SiteRepository) {}

  execute({ host, actor, request }: ChangeSiteSettings): Promise<Site> {
    return this.sites.change(host, actor, (site) => {
      const settings = changedSettings(site.settings, request);
      return Object.keys(settings).length === 0 ? undefined : { type: 'site.settings_changed.v1', data: { settings } };
    });
  }
}
