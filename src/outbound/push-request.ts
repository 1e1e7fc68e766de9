import type { OutgoingRequest } from '../http/outgoing/outgoing.js';
import { signature } from '../http/webhook-signature.js';
import type { ConnectionSecrets } from '../sites/site-secrets.js';
import type { SiteWebhook } from '../sites/webhook.js';
import type { Stretch } from './stretch.js';
import { NO_TOTALS, type Totals } from './totals.js';

/** How long the secret before the present one signs too. */
const OVERLAP_MS = 24 * 60 * 60 * 1_000;

export interface WebhookSecrets {
  readonly secret: string;
  /** The one before it. */
  readonly previous?: string | undefined;
}

/** Undefined where none is stored, or none that opens. */
export function webhookSecrets(stored: ConnectionSecrets = {}): WebhookSecrets | undefined {
  const { secret, previous } = stored;
  return secret === undefined ? undefined : { secret, previous };
}

/** The same body and id on every try; only time and signature are those of the try. */
export function pushRequest(
  webhook: SiteWebhook,
  secrets: WebhookSecrets,
  stretch: Stretch,
  nowMs: number,
): OutgoingRequest {
  return post(
    webhook,
    secrets,
    { id: stretch.stretchId, totals: stretch.body, nowMs },
    {
      'x-cc-window-start': stretch.windowStart,
      'x-cc-window-end': stretch.windowEnd,
      'x-cc-from-position': String(stretch.fromPosition),
      'x-cc-to-position': String(stretch.toPosition),
    },
  );
}

/** An id of its own, so that no test is dropped as a repeat. It stands for no stretch. */
export function testRequest(webhook: SiteWebhook, secrets: WebhookSecrets, nowMs: number): OutgoingRequest {
  return post(webhook, secrets, { id: `test-${nowMs}`, totals: NO_TOTALS, nowMs }, { 'x-cc-test': 'true' });
}

function post(
  { url, secretSince }: SiteWebhook,
  { secret, previous }: WebhookSecrets,
  { id, totals, nowMs }: { id: string; totals: Totals; nowMs: number },
  headers: Readonly<Record<string, string>>,
): OutgoingRequest {
  // Spelled out: the bytes must be the same whatever way the totals came here.
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
