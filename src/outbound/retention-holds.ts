import { OUTBOUND } from '../events/outbound.events.js';
import type { EventLog } from '../log/event-log.js';
import type { HoldSource, RetentionHold } from '../log/retention-holds.js';
import type { SiteRepository } from '../sites/site-repository.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { type End, nextWindowStart, ownEnd, pendingOf, streamOf } from './reporting-window.js';

export interface WebhookHoldOptions {
  /** How long a webhook that the service disabled still holds. Undefined: as long as it is disabled. */
  readonly disabledHoldMs: number | undefined;
  /** The database's time. */
  nowMs(): number;
}

/** Events that are in no reporting window which the receiver has accepted. */
export function webhookHolds(
  log: Pick<EventLog, 'readEnds' | 'positionOf'>,
  sites: Pick<SiteRepository, 'all'>,
  options: WebhookHoldOptions,
): HoldSource {
  return async () => {
    const set = (await sites.all()).flatMap(({ host, webhook, move }) =>
      // What a site that has left owes its webhook, the other cell owes it.
      webhook && move?.state !== 'left' ? [{ host, webhook }] : [],
    );
    const events = await log.readEnds(
      OUTBOUND,
      set.map(({ host }) => streamOf(host)),
    );
    const ends = new Map(events.map((event) => [event.site, event]));
    const nowMs = options.nowMs();
    const holding = set.filter(({ webhook }) => isHolding(webhook, nowMs, options.disabledHoldMs));
    return Promise.all(holding.map(({ host, webhook }) => holdOf(log, host, webhook, ends.get(host))));
  };
}

/**
 * An operator who disables a webhook gives up its windows. One that the service disabled holds for a limited time, in which an
 * operator can enable it again: otherwise a receiver that is gone would keep events forever.
 */
export function isHolding(
  { enabled, reason, since }: SiteWebhook,
  nowMs: number,
  disabledHoldMs: number | undefined,
): boolean {
  if (enabled) return true;
  return reason !== undefined && (disabledHoldMs === undefined || nowMs - Date.parse(since) < disabledHoldMs);
}

async function holdOf(
  log: Pick<EventLog, 'positionOf'>,
  host: string,
  webhook: SiteWebhook,
  end: End,
): Promise<RetentionHold> {
  const pending = pendingOf(ownEnd(webhook, end));
  const { fromPosition } = pending ?? nextWindowStart(webhook, end);
  const position = await log.positionOf(host, fromPosition);
  if (webhook.enabled) {
    const fix = pending
      ? `The push is retried; "webhook show --site ${host}" shows the error. "webhook disable --site ${host}" gives up the totals.`
      : 'The totals are pushed at the next tick of OUTBOUND_EVERY by a running service.';
    return { holder: `the webhook of ${host}`, position, fix };
  }
  return {
    holder: `the disabled webhook of ${host} (${webhook.reason})`,
    position,
    fix: `Fix the receiver and run "webhook enable --site ${host}", or give up the totals with "webhook disable --site ${host}".`,
  };
}
