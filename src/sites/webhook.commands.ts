import type { Actor } from '../kernel/command.js';
import { SiteCommand } from './site.commands.js';
import type { SiteWebhook, WebhookRequest } from './webhook.js';

export interface ConfiguredWebhook {
  readonly webhook: SiteWebhook;
  /** Present if the handler generated the secret. It is returned once and stored encrypted. */
  readonly generatedSecret?: string | undefined;
}

/** Sets the address that a site's totals are pushed to. */
export class SetWebhook extends SiteCommand<ConfiguredWebhook> {
  constructor(
    actor: Actor,
    host: string,
    readonly request: WebhookRequest,
  ) {
    super(actor, host);
  }
}

/** Replaces the secret by a generated one. For 24 h requests are also signed with the one before. */
export class RotateWebhookSecret extends SiteCommand<ConfiguredWebhook> {}

export class EnableWebhook extends SiteCommand<SiteWebhook> {}

/** With a reason the service disables the webhook, without one an operator does. */
export class DisableWebhook extends SiteCommand<SiteWebhook> {
  constructor(
    actor: Actor,
    host: string,
    readonly reason?: string,
  ) {
    super(actor, host);
  }
}
