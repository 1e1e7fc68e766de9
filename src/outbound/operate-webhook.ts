import { newestCheckpoint } from '../checkpoints/checkpoints.js';
import { OUTBOUND } from '../events/outbound.events.js';
import type { Actor, CommandExecutor } from '../kernel/command.js';
import { SitePaused, UserError } from '../kernel/errors.js';
import type { Settings } from '../kernel/settings/settings.js';
import type { EventLog } from '../log/event-log.js';
import type { Postgres } from '../postgres/postgres.js';
import { isHeld, type Site } from '../sites/site.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { requireStoredWebhook } from '../sites/webhook.handlers.js';
import { requireWebhook, type SiteWebhook } from '../sites/webhook.js';
import { type Pushed, pushNow } from './push-now.js';
import { type WebhookSecrets, webhookSecrets } from './push-request.js';
import { openHttpClient, Pusher, pusherOptions, type Receiver } from './pusher.js';
import { type End, streamOf } from './reporting-window.js';

export interface WebhookDependencies {
  readonly settings: Settings;
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly commands: CommandExecutor;
  readonly secrets: SiteSecrets;
}

/** Sends a test push with zero totals. No reporting window is closed. */
export async function testWebhook(dependencies: WebhookDependencies, site: Site, actor: Actor) {
  const receiver = await receiverOf(dependencies, site);
  const startedMs = performance.now();
  const verdict = await withPusher(dependencies, actor, (pusher) => pusher.test(receiver));
  const durationMs = Math.round(performance.now() - startedMs);
  const { url, enabled } = receiver.webhook;
  const reason = 'reason' in verdict ? verdict.reason : undefined;
  return {
    url,
    enabled,
    ok: verdict.accepted,
    ...(verdict.httpStatus !== undefined && { httpStatus: verdict.httpStatus }),
    ...(reason !== undefined && { reason }),
    durationMs,
  };
}

/** Closes the reporting window and pushes its totals now. */
export async function pushTotals(dependencies: WebhookDependencies, site: Site, actor: Actor): Promise<Pushed> {
  if (isHeld(site)) throw new SitePaused(site.host);
  const receiver = await receiverOf(dependencies, site);
  if (!receiver.webhook.enabled) throw disabled(site.host, receiver.webhook);
  const { postgres, settings } = dependencies;
  return withPusher(dependencies, actor, (pusher) => pushNow(postgres, pusher, receiver, settings.outboundTimeoutMs));
}

/** The latest event about pushes for a site. */
export async function lastPush(log: EventLog, host: string): Promise<End> {
  const [end] = await log.readEnds(OUTBOUND, [streamOf(host)]);
  return end;
}

async function receiverOf(
  { secrets }: WebhookDependencies,
  site: Site,
): Promise<Receiver & { secrets: WebhookSecrets }> {
  const webhook = requireWebhook(site);
  const stored = webhookSecrets(webhook, await secrets.connectionSecrets(site.host, 'outbound'));
  if (!stored) {
    await requireStoredWebhook(secrets, site);
    throw new UserError(
      `SECRET_KEY does not open the secret of ${site.host}'s webhook. Use the key that sealed it, or set it again: "webhook set --site ${site.host} --url … --secret …".`,
    );
  }
  return { site: site.host, webhook, hasMoved: site.epoch > 0, secrets: stored };
}

async function withPusher<Result>(
  { postgres, log, commands, settings }: WebhookDependencies,
  actor: Actor,
  work: (pusher: Pusher) => Promise<Result>,
): Promise<Result> {
  const pusher = new Pusher(log, commands, openHttpClient(settings), {
    ...pusherOptions(settings, actor, postgres.clock),
    checkpoint: () => newestCheckpoint(postgres.pool),
  });
  try {
    return await work(pusher);
  } finally {
    await pusher.end();
  }
}

function disabled(host: string, { reason }: SiteWebhook): UserError {
  const why = reason === undefined ? '' : ` (${reason})`;
  return new UserError(
    `The webhook of ${host} is disabled${why}. "webhook enable --site ${host}" resumes pushing, starting with the totals held back.`,
  );
}
