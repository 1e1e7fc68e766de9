import type { ICommandHandler } from '@nestjs/cqrs';
import type { ClientBase } from 'pg';
import type { SiteEvent } from '../events/site.events.js';
import { type Actor, CommandHandler } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import { uuidv7 } from '../kernel/uuid.js';
import { disconnect } from './connections/connection.handlers.js';
import { endEarlierSite } from './earlier-site.js';
import { beginPause, endPause } from './pause.js';
import { refuseOwned } from './refuse-taken.js';
import { removalOf, settingsDecision } from './settings-decision.js';
import {
  AddSite,
  ChangeAliases,
  ChangeSiteSettings,
  DisableInbound,
  EnableInbound,
  PauseSite,
  RemoveSite,
  ResumeSite,
} from './site.commands.js';
import type { Site } from './site.js';
import { SecretsHandler, SiteHandler } from './site-command-handler.js';
import { type EventsWithChange, parseHost } from './site-repository.js';
import { changedSettings } from './site-settings.js';
import { disconnectSource } from './sources/source.handlers.js';
import { disableWebhook } from './webhook.js';

@CommandHandler(AddSite)
export class AddSiteHandler extends SecretsHandler implements ICommandHandler<AddSite> {
  async execute(command: AddSite): Promise<Site> {
    const host = parseHost(command.host);
    const aliases = [...new Set(command.aliases.map(parseHost))].filter((alias) => alias !== host);
    for (const name of [host, ...aliases]) await refuseOwned(this.sites, name);
    // Before the event, because readers of the event need the secret. A secret without a site does no harm.
    await this.secrets.ensureDedupSecret(host);
    return this.sites.add(host, command.actor, (earlier) =>
      earlier
        ? this.addAfterEarlier(host, aliases, command.actor)
        : { type: 'site.registered.v1', data: { host, aliases } },
    );
  }

  /** Another site than the one that had the host before. */
  private addAfterEarlier(host: string, aliases: readonly string[], actor: Actor): EventsWithChange {
    return {
      events: [{ type: 'site.registered.v1', data: { host, aliases, id: uuidv7() } }],
      change: async (client, append) => {
        await endEarlierSite(client, append, host, actor);
        // Keys of dedup claims, ids of imported lines and the cookies of visitors are derived from the dedup secret.
        await client.query('DELETE FROM cc.secrets WHERE site = $1', [host]);
        await this.secrets.within(client).ensureDedupSecret(host);
      },
    };
  }
}

@CommandHandler(ChangeAliases)
export class ChangeAliasesHandler extends SiteHandler implements ICommandHandler<ChangeAliases> {
  async execute({ host, actor, request }: ChangeAliases): Promise<Site> {
    const added = request.add.map(parseHost);
    const removed = request.remove.map(parseHost);
    for (const name of added) await refuseOwned(this.sites, name, host);
    return this.sites.change(host, actor, (site) => {
      const unknown = removed.find((name) => !site.aliases.includes(name));
      if (unknown) throw new UserError(`${unknown} is not an alias of ${host}. "sites show ${host}" lists them.`);
      const names = [...site.aliases.filter((alias) => !removed.includes(alias)), ...added];
      const aliases = [...new Set(names)].filter((name) => name !== site.host);
      const isChanged = aliases.join() !== site.aliases.join();
      return isChanged ? { type: 'site.aliases_changed.v1', data: { aliases } } : undefined;
    });
  }
}

/**
 * The site stops accepting first. Queued deliveries then fail as `disconnected`, and totals are no longer pushed. Events and
 * the dedup secret stay, so that history can still be read, until another site gets the host. A removal that was interrupted is completed by another one.
 */
@CommandHandler(RemoveSite)
export class RemoveSiteHandler extends SecretsHandler implements ICommandHandler<RemoveSite> {
  async execute({ host, actor }: RemoveSite): Promise<Site> {
    const { keys, connections, sources, webhook } = await this.sites.change(host, actor, ({ inbound, move }) => {
      if (move)
        throw new UserError(
          `Site ${host} is about to move. Wait for that, or cancel it: "sites move ${host} --cancel".`,
        );
      return inbound ? { type: 'site.inbound_disabled.v1', data: {} } : undefined;
    });
    for (const { id } of keys) {
      await this.sites.change(host, actor, (site) => {
        const isActive = site.keys.some((key) => key.id === id && key.status === 'active');
        return isActive ? { type: 'site.key_revoked.v1', data: { keyId: id } } : undefined;
      });
    }
    for (const { platform } of connections) {
      await this.sites.change(host, actor, (site) => {
        const connection = site.connections.find((candidate) => candidate.platform === platform);
        return connection && disconnect(connection, site.host, this.secrets);
      });
    }
    for (const { source } of sources) {
      await this.sites.change(host, actor, (site) => disconnectSource(site, source, this.secrets));
    }
    if (webhook) {
      await this.sites.change(host, actor, (site) => site.webhook && disableWebhook(site.webhook));
    }
    // The removal ends a pause, also one that began during the steps before.
    return this.sites.change(host, actor, (site) => {
      const filters = removalOf(site.filters);
      const change = async (client: ClientBase) => {
        await filters.change(client);
        await this.secrets.within(client).deleteWebhookSecrets(site.host);
        await endPause(client, site.host);
      };
      const removed: SiteEvent = { type: 'site.removed.v1', data: {} };
      const [first = removed, ...more] = [...filters.events, removed];
      return { events: [first, ...more], change };
    });
  }
}

@CommandHandler(EnableInbound)
export class EnableInboundHandler extends SiteHandler implements ICommandHandler<EnableInbound> {
  execute({ host, actor }: EnableInbound): Promise<Site> {
    return this.sites.change(host, actor, ({ inbound }) =>
      inbound ? undefined : { type: 'site.inbound_enabled.v1', data: {} },
    );
  }
}

@CommandHandler(DisableInbound)
export class DisableInboundHandler extends SiteHandler implements ICommandHandler<DisableInbound> {
  execute({ host, actor }: DisableInbound): Promise<Site> {
    return this.sites.change(host, actor, ({ inbound }) =>
      inbound ? { type: 'site.inbound_disabled.v1', data: {} } : undefined,
    );
  }
}

@CommandHandler(PauseSite)
export class PauseSiteHandler extends SiteHandler implements ICommandHandler<PauseSite> {
  execute({ host, actor }: PauseSite): Promise<Site> {
    return this.sites.change(host, actor, (site) =>
      site.paused
        ? undefined
        : {
            events: [{ type: 'site.paused.v1', data: {} }],
            change: (client) => beginPause(client, site.host),
          },
    );
  }
}

@CommandHandler(ResumeSite)
export class ResumeSiteHandler extends SiteHandler implements ICommandHandler<ResumeSite> {
  execute({ host, actor }: ResumeSite): Promise<Site> {
    return this.sites.change(host, actor, (site) =>
      site.paused
        ? {
            events: [{ type: 'site.resumed.v1', data: {} }],
            // A move that has started keeps it paused.
            change: async (client) => {
              if (!site.move) await endPause(client, site.host);
            },
          }
        : undefined,
    );
  }
}

@CommandHandler(ChangeSiteSettings)
export class ChangeSiteSettingsHandler extends SiteHandler implements ICommandHandler<ChangeSiteSettings> {
  execute({ host, actor, request }: ChangeSiteSettings): Promise<Site> {
    return this.sites.change(host, actor, (site) => {
      const changed = changedSettings(site.settings, request);
      return Object.keys(changed).length === 0 ? undefined : settingsDecision(site, changed);
    });
  }
}
