import { isIP } from 'node:net';
import { type WebhookEvent } from '../events/site.events.js';
import { isGlobalUnicast } from '../http/client/global-unicast.js';
import { ALLOW_PRIVATE } from '../http/client/send-failure.js';
import { targetOf } from '../http/client/target.js';
import { secretProblem } from '../http/webhook-signature.js';
import { messageOf, UserError } from '../kernel/errors.js';
import type { StoredEvent } from '../log/event.js';

const URL_LENGTH_MAX = 2_048;
const SECRET_LENGTH_MAX = 1_024;
/** The secret is sent in a header unencoded. */
const HEADER_SAFE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** The receiver of a site's totals, folded from the site's events. Its secret is stored encrypted in `cc.secrets`. */
export interface SiteWebhook {
  /** Redacted if it may contain a secret; then the full address is encrypted with the secret. */
  readonly url: string;
  readonly enabled: boolean;
  /** Why the service disabled it; absent if an operator did. */
  readonly reason?: string;
  /** When it was last enabled or disabled. */
  readonly since: string;
  /** When it was first set, with the position of that event. Earlier events are in no reporting window. */
  readonly first: { readonly position: number; readonly time: string };
  /** Position of the event that last set or enabled it. Pushes held back before it are due at once. */
  readonly position: number;
  /** When the secret was last changed. For 24 h requests are also signed with the previous secret. */
  readonly secretSince: string;
}

export interface WebhookRequest {
  readonly url: string;
  readonly secret?: string | undefined;
  /** Accept http and private addresses. */
  readonly allowPrivate: boolean;
}

export function evolveWebhook(
  before: SiteWebhook | undefined,
  event: WebhookEvent,
  stored: Pick<StoredEvent, 'position' | 'time'>,
): SiteWebhook | undefined {
  const { time, position } = stored;
  if (event.type === 'site.webhook_configured.v1') {
    const { url, newSecret } = event.data;
    const first = before?.first ?? { position, time };
    const secretSince = newSecret || !before ? time : before.secretSince;
    // A webhook that an operator disabled stays disabled until an operator enables it.
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

/** The event that sets the webhook; undefined if nothing changes. */
export function configureWebhook(
  before: SiteWebhook | undefined,
  url: string,
  newSecret: boolean,
  /** Also if it is the same when redacted. */
  newUrl: boolean,
): WebhookEvent | undefined {
  const isReactivated = before !== undefined && !before.enabled && before.reason !== undefined;
  if (before?.url === url && !newSecret && !newUrl && !isReactivated) return undefined;
  return { type: 'site.webhook_configured.v1', data: { url, newSecret } };
}

export function enableWebhook({ enabled }: SiteWebhook): WebhookEvent | undefined {
  return enabled ? undefined : { type: 'site.webhook_enabled.v1', data: {} };
}

/** An operator's decision replaces the service's, not the other way round. */
export function disableWebhook(before: SiteWebhook, reason?: string): WebhookEvent | undefined {
  if (!before.enabled && (reason !== undefined || before.reason === undefined)) return undefined;
  return { type: 'site.webhook_disabled.v1', data: reason === undefined ? {} : { reason } };
}

/** Throws if the request can never succeed. Host names are resolved and checked at each push. */
export function validateWebhook({ url, secret, allowPrivate }: WebhookRequest): { url: string; secret?: string } {
  const address = validateUrl(url, allowPrivate);
  if (secret === undefined) return { url: address };
  const problem =
    secret.length > SECRET_LENGTH_MAX
      ? `is longer than ${SECRET_LENGTH_MAX} characters`
      : HEADER_SAFE.test(secret)
        ? secretProblem(secret)
        : 'must be printable ASCII without leading or trailing spaces, because it is sent in a header';
  if (problem !== undefined) throw new UserError(`--secret: ${problem}`);
  return { url: address, secret };
}

/** For commands that need a webhook: throws if the site has none. */
export function requireWebhook(site: {
  readonly host: string;
  readonly webhook?: SiteWebhook | undefined;
}): SiteWebhook {
  const { host, webhook } = site;
  if (!webhook)
    throw new UserError(`Site ${host} has no webhook. Set one with "webhook set --site ${host} --url https://…".`);
  return webhook;
}

function validateUrl(text: string, allowPrivate: boolean): string {
  const invalid = (problem: string) => new UserError(`--url: ${problem}`);
  if (text.length > URL_LENGTH_MAX) throw invalid(`is longer than ${URL_LENGTH_MAX} characters`);
  // The URL parser strips them, so the stored URL would differ from the called one.
  if (/[\s\p{Cc}\p{Cs}]/u.test(text)) throw invalid('must not contain spaces or control characters');
  let target: URL;
  try {
    target = targetOf(text, !allowPrivate);
  } catch (error) {
    throw invalid(messageOf(error));
  }
  const host = target.hostname.replace(/^\[|\]$/g, '');
  if (!allowPrivate && isIP(host) && !isGlobalUnicast(host)) {
    throw invalid(`${host} is not on the public internet. Use a public https address. ${ALLOW_PRIVATE}`);
  }
  return text;
}
