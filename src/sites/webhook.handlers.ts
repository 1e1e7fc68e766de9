import type { ICommandHandler } from '@nestjs/cqrs';
import { CommandHandler } from '../kernel/command.js';
import { generateWebhookSecret } from './connection-settings.js';
import type { SiteRepository } from './site-repository.js';
import type { SiteSecrets } from './site-secrets.js';
import { type ConfiguredWebhook, DisableWebhook, EnableWebhook, SetWebhook } from './webhook.commands.js';
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
    let [generatedSecret, isChanged]: [string | undefined, boolean] = [undefined, false];
    const site = await this.sites.change(host, actor, async (site) => {
      const { secret: stored } = await this.secrets.connectionSecrets(site.host, 'outbound');
      const secret = requested ?? stored ?? newSecret;
      if (secret !== stored) {
        const previous = stored === undefined ? {} : { previous: stored };
        await this.secrets.storeConnectionSecrets(site.host, 'outbound', { secret, ...previous });
        isChanged = true;
      }
      if (secret === newSecret) generatedSecret = newSecret;
      return configureWebhook(site.webhook, url, isChanged);
    });
    return { webhook: requireWebhook(site), generatedSecret };
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
