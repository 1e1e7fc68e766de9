import { type ReportingWindow, type Totals } from '../events/outbound.events.js';
import type { HttpRequest } from '../http/client/http-client.js';
import { signature } from '../http/webhook-signature.js';
import { isRedactedUrl } from '../kernel/redact-url.js';
import type { ConnectionSecrets } from '../sites/site-secrets.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { NO_TOTALS } from './totals.js';

/** How long the previous secret signs too after a change. */
const OVERLAP_MS = 24 * 60 * 60 * 1_000;

export interface WebhookSecrets {
  readonly secret: string;
  /** The secret before the current one. */
  readonly previous?: string | undefined;
  /** The full address, if the one in the log is redacted. */
  readonly url?: string | undefined;
}

/** Undefined when the secret or the address is not stored, or cannot be decrypted. */
export function webhookSecrets(
  { url: shown }: Pick<SiteWebhook, 'url'>,
  stored: ConnectionSecrets = {},
): WebhookSecrets | undefined {
  const { secret, previous, url } = stored;
  return secret === undefined || (isRedactedUrl(shown) && url === undefined) ? undefined : { secret, previous, url };
}

/**
 * Body and id are the same on every attempt; only timestamp and signature change. `checkpoint` is the newest signed checkpoint
 * of the log: a receiver that keeps it can later prove that the log was changed. The signature does not cover it, because it
 * carries its own.
 */
export function pushRequest(
  webhook: SiteWebhook,
  secrets: WebhookSecrets,
  window: ReportingWindow,
  nowMs: number,
  checkpoint?: string,
): HttpRequest {
  return post(
    webhook,
    secrets,
    { id: window.stretchId, totals: window.body, nowMs },
    {
      'x-cc-window-start': window.windowStart,
      'x-cc-window-end': window.windowEnd,
      'x-cc-from-position': String(window.fromPosition),
      'x-cc-to-position': String(window.toPosition),
      'x-cc-series': String(window.series ?? 0),
      'x-cc-series-start': String(window.seriesStart ?? 0),
      ...(checkpoint !== undefined && { 'x-cc-checkpoint': checkpoint }),
    },
  );
}

/** A unique id, so that no test push is dropped as a duplicate. It belongs to no reporting window. */
export function testRequest(webhook: SiteWebhook, secrets: WebhookSecrets, nowMs: number): HttpRequest {
  return post(webhook, secrets, { id: `test-${nowMs}`, totals: NO_TOTALS, nowMs }, { 'x-cc-test': 'true' });
}

function post(
  { url: shown, secretSince }: SiteWebhook,
  { secret, previous, url = shown }: WebhookSecrets,
  { id, totals, nowMs }: { id: string; totals: Totals; nowMs: number },
  headers: Readonly<Record<string, string>>,
): HttpRequest {
  // Fields in fixed order: the bytes must be identical on every attempt.
  const body = JSON.stringify({
    conversions: totals.conversions,
    bot_traffic_removed: totals.bot_traffic_removed,
  });
  const timestamp = Math.floor(nowMs / 1_000);
  const isOverlapping = previous !== undefined && nowMs < Date.parse(secretSince) + OVERLAP_MS;
  const signers = isOverlapping ? [secret, previous] : [secret];
  return {
    method: 'POST',
    url,
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signers.map((signer) => signature(signer, id, timestamp, body)).join(' '),
      ...headers,
    },
    body,
  };
}
