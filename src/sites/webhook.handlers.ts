import type { ICommandHandler } from '@nestjs/cqrs';
import { CommandHandler } from '../kernel/command.js';
import { redactUrl } from '../kernel/redact-url.js';
import { generateWebhookSecret } from './connection-settings.js';
import type { SiteRepository } from './site-repository.js';
import type { SiteSecrets } from './site-secrets.js';
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
export class SetWebhookHandler implements ICommandHandler<SetWebhook> {
  constructor(
    private readonly sites: SiteRepository,
    private readonly secrets: SiteSecrets,
  ) {}

  async execute({ host, actor, request }: SetWebhook): Promise<ConfiguredWebhook> {
    const { url, secret: requested } = validateWebhook(request);
    const newSecret = generateWebhookSecret();
    // Stays true when the command is repeated after a concurrent change: what it stores is stored then.
    let [generatedSecret, isChanged, isMoved]: [string | undefined, boolean, boolean] = [undefined, false, false];
    const site = await this.sites.change(host, actor, async (site) => {
      const { secret: stored, url: address } = await this.secrets.connectionSecrets(site.host, 'outbound');
      const current = address ?? site.webhook?.url;
      // The receiver of another origin must not get the secret of the one before: as the bearer token, or in signatures.
      const isElsewhere = current !== undefined && new URL(current).origin !== new URL(url).origin;
      const secret = requested ?? (isElsewhere ? newSecret : (stored ?? newSecret));
      isMoved ||= current !== url;
      // Once one is sealed it is always replaced: it takes precedence over the one in the event.
      if (isMoved && (address !== undefined || redactUrl(url) !== url))
        await this.secrets.storeConnectionSecrets(site.host, 'outbound', { url });
      if (secret !== stored || isElsewhere) {
        const previous = isElsewhere ? { previous: secret } : stored === undefined ? {} : { previous: stored };
        await this.secrets.storeConnectionSecrets(site.host, 'outbound', { secret, ...previous });
        isChanged ||= secret !== stored;
      }
      if (secret === newSecret) generatedSecret = newSecret;
      return configureWebhook(site.webhook, redactUrl(url), isChanged, isMoved);
    });
    return { webhook: requireWebhook(site), generatedSecret };
  }
}

@CommandHandler(RotateWebhookSecret)
export class RotateWebhookSecretHandler implements ICommandHandler<RotateWebhookSecret> {
  constructor(
    private readonly sites: SiteRepository,
    private readonly secrets: SiteSecrets,
  ) {}

  async execute({ host, actor }: RotateWebhookSecret): Promise<ConfiguredWebhook> {
    const secret = generateWebhookSecret();
    const site = await this.sites.change(host, actor, async (site) => {
      const { url } = requireWebhook(site);
      const { secret: stored } = await this.secrets.connectionSecrets(site.host, 'outbound');
      // Stored already when the command is repeated after a concurrent change.
      if (stored !== secret) {
        const previous = stored === undefined ? {} : { previous: stored };
        await this.secrets.storeConnectionSecrets(site.host, 'outbound', { secret, ...previous });
      }
      return { type: 'site.webhook_configured.v1', data: { url, newSecret: true } };
    });
    return { webhook: requireWebhook(site), generatedSecret: secret };
  }
}

@CommandHandler(EnableWebhook)
export class EnableWebhookHandler implements ICommandHandler<EnableWebhook> {
  constructor(private readonly sites: SiteRepository) {}

  async execute({ host, actor }: EnableWebhook): Promise<SiteWebhook> {
    return requireWebhook(await this.sites.change(host, actor, (site) => enableWebhook(requireWebhook(site))));
  }
}

@CommandHandler(DisableWebhook)
export class DisableWebhookHandler implements ICommandHandler<DisableWebhook> {
  constructor(private readonly sites: SiteRepository) {}

  async execute({ host, actor, reason }: DisableWebhook): Promise<SiteWebhook> {
    return requireWebhook(await this.sites.change(host, actor, (site) => disableWebhook(requireWebhook(site), reason)));
  }
}
