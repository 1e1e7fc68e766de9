import { isIP } from 'node:net';
import { type WebhookEvent } from '../events/site.events.js';
import { isGlobalUnicast } from '../http/client/global-unicast.js';
import { targetOf } from '../http/client/target.js';
import { secretProblem } from '../http/webhook-signature.js';
import { messageOf, UserError } from '../kernel/errors.js';
import type { StoredEvent } from '../log/event.js';

const URL_LENGTH_MAX = 2_048;
const SECRET_LENGTH_MAX = 1_024;
/** It goes into a header as it is. */
const HEADER_SAFE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Where a site's totals are pushed to, folded from the site's events. Its secret lies elsewhere, sealed. */
export interface SiteWebhook {
  readonly url: string;
  readonly enabled: boolean;
  /** Why the service disabled it; absent where an operator did. */
  readonly reason?: string;
  /** When it came to be enabled or disabled. */
  readonly since: string;
  /** Where and when it was first set: what came before is in no stretch. */
  readonly first: { readonly position: number; readonly time: string };
  /** Of the event that last set or enabled it: what was held back before goes out at once. */
  readonly position: number;
  /** When the secret became what it is; for a while the one before it signs too. */
  readonly secretSince: string;
}

export interface WebhookRequest {
  readonly url: string;
  readonly secret?: string | undefined;
  /** http and private addresses will do. */
  readonly allowPrivate: boolean;
}

export function evolveWebhook(
  before: SiteWebhook | undefined,
  event: WebhookEvent,
  { position, time }: Pick<StoredEvent, 'position' | 'time'>,
): SiteWebhook | undefined {
  if (event.type === 'site.webhook_configured.v1') {
    const { url, newSecret } = event.data;
    const first = before?.first ?? { position, time };
    const secretSince = newSecret || !before ? time : before.secretSince;
    // What an operator said stands until he says otherwise.
    if (before && !before.enabled && before.reason === undefined) return { ...before, url, position, secretSince };
    const since = before?.enabled ? before.since : time;
    return { url, enabled: true, since, first, position, secretSince };
  }
  if (!before) return undefined;
  const { reason: _, ...webhook } = before;
  if (event.type === 'site.webhook_enabled.v1') return { ...webhook, enabled: true, since: time, position };
  const { reason } = event.data;
  return { ...webhook, enabled: false, since: time, ...(reason !== undefined && { reason }) };
}

/** The event that brings the webhook there; undefined when it is there already. */
export function configuring(
  before: SiteWebhook | undefined,
  url: string,
  newSecret: boolean,
): WebhookEvent | undefined {
  const isMended = before !== undefined && !before.enabled && before.reason !== undefined;
  if (before?.url === url && !newSecret && !isMended) return undefined;
  return { type: 'site.webhook_configured.v1', data: { url, newSecret } };
}

export function enabling({ enabled }: SiteWebhook): WebhookEvent | undefined {
  return enabled ? undefined : { type: 'site.webhook_enabled.v1', data: {} };
}

/** An operator's word takes the place of the service's, not the other way round. */
export function disabling(before: SiteWebhook, reason?: string): WebhookEvent | undefined {
  if (!before.enabled && (reason !== undefined || before.reason === undefined)) return undefined;
  return { type: 'site.webhook_disabled.v1', data: reason === undefined ? {} : { reason } };
}

/** Throws when it could never work. Where a name leads to is only known when it is called. */
export function checkedWebhook({ url, secret, allowPrivate }: WebhookRequest): { url: string; secret?: string } {
  const address = checkedUrl(url, allowPrivate);
  if (secret === undefined) return { url: address };
  const said =
    secret.length > SECRET_LENGTH_MAX
      ? `is longer than ${SECRET_LENGTH_MAX} characters`
      : HEADER_SAFE.test(secret)
        ? secretProblem(secret)
        : 'must be printable ASCII without spaces around it, because it is sent in a header';
  if (said !== undefined) throw new UserError(`--secret: ${said}`);
  return { url: address, secret };
}

function checkedUrl(text: string, allowPrivate: boolean): string {
  const refuse = (said: string) => new UserError(`--url: ${said}`);
  if (text.length > URL_LENGTH_MAX) throw refuse(`is longer than ${URL_LENGTH_MAX} characters`);
  // A URL is read without them: what is stored must be what is called.
  if (/[\s\p{Cc}\p{Cs}]/u.test(text)) throw refuse('must not contain spaces or control characters');
  let target: URL;
  try {
    target = targetOf(text, !allowPrivate);
  } catch (error) {
    throw refuse(messageOf(error));
  }
  const host = target.hostname.replace(/^\[|\]$/g, '');
  if (!allowPrivate && isIP(host) && !isGlobalUnicast(host)) {
    throw refuse(
      `${host} is not on the public internet. Use a public https address, or set OUTBOUND_ALLOW_PRIVATE=true when ` +
        'receivers on your own network are meant to be called.',
    );
  }
  return text;
}
