import type { ICommandHandler } from '@nestjs/cqrs';
import type { ClientBase } from 'pg';
import type { WebhookEvent } from '../events/site.events.js';
import { CommandHandler } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import { redactUrl } from '../kernel/redact-url.js';
import { generateWebhookSecret } from './connections/connection-settings.js';
import type { Site } from './site.js';
import { SecretsHandler, SiteHandler } from './site-command-handler.js';
import type { ConnectionSecrets, SiteSecrets } from './site-secrets.js';
import {
  type ConfiguredWebhook,
  DisableWebhook,
  EnableWebhook,
  RotateWebhookSecret,
  SetWebhook,
} from './webhook.commands.js';
import {
  configureWebhook,
  disableWebhook,
  enableWebhook,
  requireWebhook,
  type SiteWebhook,
  validateWebhook,
} from './webhook.js';

@CommandHandler(SetWebhook)
export class SetWebhookHandler extends SecretsHandler implements ICommandHandler<SetWebhook> {
  async execute({ host, actor, request }: SetWebhook): Promise<ConfiguredWebhook> {
    const { url, secret: requested } = validateWebhook(request);
    const newSecret = generateWebhookSecret();
    let generatedSecret: string | undefined;
    const site = await this.sites.change(host, actor, async (site) => {
      const { secret: stored, url: address } = await this.secrets.connectionSecrets(site.host, 'outbound');
      const current = address ?? site.webhook?.url;
      // The receiver of another origin must not get the secret of the one before: as the bearer token, or in signatures.
      const isElsewhere = current !== undefined && new URL(current).origin !== new URL(url).origin;
      const secret = requested ?? (isElsewhere ? newSecret : (stored ?? newSecret));
      const isMoved = current !== url;
      const changed: Record<string, string> = {};
      // Once one is encrypted it is always replaced: it takes precedence over the one in the event.
      if (isMoved && (address !== undefined || redactUrl(url) !== url)) changed['url'] = url;
      if (secret !== stored || isElsewhere) {
        const previous = isElsewhere ? secret : stored;
        Object.assign(changed, { secret, ...(previous !== undefined && { previous }) });
      }
      generatedSecret = secret === newSecret ? newSecret : undefined;
      const event = configureWebhook(site.webhook, redactUrl(url), secret !== stored, isMoved);
      const enabled = site.webhook && (await this.enableIfRemoved(site, site.webhook));
      const change = (client: ClientBase) => store(this.secrets.within(client), site, changed);
      return event && { events: enabled ? [event, enabled] : [event], change };
    });
    return { webhook: requireWebhook(site), generatedSecret };
  }

  /** The webhook of a site that was removed and added again is a new one: it was not disabled by a decision about it. */
  private async enableIfRemoved({ host }: Site, webhook: SiteWebhook): Promise<WebhookEvent | undefined> {
    return (await this.secrets.hasWebhookSecret(host)) ? undefined : enableWebhook(webhook);
  }
}

@CommandHandler(RotateWebhookSecret)
export class RotateWebhookSecretHandler extends SecretsHandler implements ICommandHandler<RotateWebhookSecret> {
  async execute({ host, actor }: RotateWebhookSecret): Promise<ConfiguredWebhook> {
    const secret = generateWebhookSecret();
    const site = await this.sites.change(host, actor, async (site) => {
      const { url } = requireWebhook(site);
      await requireStoredWebhook(this.secrets, site);
      const { secret: previous } = await this.secrets.connectionSecrets(site.host, 'outbound');
      const changed = { secret, ...(previous !== undefined && { previous }) };
      return {
        events: [{ type: 'site.webhook_configured.v1', data: { url, newSecret: true } }],
        change: (client) => store(this.secrets.within(client), site, changed),
      };
    });
    return { webhook: requireWebhook(site), generatedSecret: secret };
  }
}

async function store(secrets: SiteSecrets, { host }: Site, changed: ConnectionSecrets): Promise<void> {
  if (Object.keys(changed).length > 0) await secrets.storeConnectionSecrets(host, 'outbound', changed);
}

/** After a site was removed and added again, its webhook is known but the secrets are gone. */
export async function requireStoredWebhook(secrets: SiteSecrets, { host }: Site): Promise<void> {
  if (!(await secrets.hasWebhookSecret(host)))
    throw new UserError(`The webhook of ${host} was removed with the site. Set its URL again.`);
}

@CommandHandler(EnableWebhook)
export class EnableWebhookHandler extends SecretsHandler implements ICommandHandler<EnableWebhook> {
  async execute({ host, actor }: EnableWebhook): Promise<SiteWebhook> {
    const site = await this.sites.change(host, actor, async (site) => {
      const event = enableWebhook(requireWebhook(site));
      if (event) await requireStoredWebhook(this.secrets, site);
      return event;
    });
    return requireWebhook(site);
  }
}

@CommandHandler(DisableWebhook)
export class DisableWebhookHandler extends SiteHandler implements ICommandHandler<DisableWebhook> {
  async execute({ host, actor, reason }: DisableWebhook): Promise<SiteWebhook> {
    return requireWebhook(await this.sites.change(host, actor, (site) => disableWebhook(requireWebhook(site), reason)));
  }
}
