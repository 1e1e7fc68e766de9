import { type FailedPushAttempt, type OutboundEvent, type ReportingWindow } from '../events/outbound.events.js';
import { derivedUuid } from '../kernel/uuid.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Jump } from '../log/lineage.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { nextTickMs } from './ticks.js';

/** After this time every process has read a change of the webhook. */
const PROPAGATED_WITHIN_MS = 60_000;

/** The last event of a site's stream; undefined before the first window. */
export type End = (OutboundEvent & Pick<StoredEvent, 'position' | 'version' | 'time'>) | undefined;

export type Step =
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'close' }
  | { readonly kind: 'send'; readonly window: ReportingWindow };

/**
 * The next step for a site. A pending window is sent when its next attempt is due, or at once when the webhook was set or enabled
 * since the last attempt. Without a pending window the next one is closed at the first tick after the previous one; a missed tick
 * counts as passed.
 */
export function nextStep(webhook: SiteWebhook, last: End, nowMs: number, everyMs: number): Step {
  const end = ownEnd(webhook, last);
  const pending = pendingOf(end);
  if (!pending) {
    const closed = end?.data.windowEnd ?? webhook.first.time;
    const dueMs = nextTickMs(Date.parse(closed), everyMs);
    return dueMs <= nowMs ? { kind: 'close' } : { kind: 'wait', untilMs: dueMs };
  }
  const untilMs = isChangedSince(webhook, end) ? Number.NEGATIVE_INFINITY : nextAttemptMs(end);
  return untilMs <= nowMs ? { kind: 'send', window: pending } : { kind: 'wait', untilMs };
}

/** The last event of the site's stream, unless it is of an earlier site with the host: that is before the webhook was first set. */
export function ownEnd({ first }: Pick<SiteWebhook, 'first'>, end: End): End {
  return end && end.position < first.position ? undefined : end;
}

/** Closed, and not yet accepted by the receiver. */
export function pendingOf(end: End): ReportingWindow | undefined {
  if (!end || end.type === 'outbound.delivered.v1') return undefined;
  const { stretchId, fromPosition, toPosition, counted, windowStart, windowEnd, body, ...others } = end.data;
  const range = { fromPosition, toPosition, ...(counted !== undefined && { counted }), windowStart, windowEnd };
  return { stretchId, ...range, body, ...seriesOf(others) };
}

/** Start of the next window of a log that `jump` has cut off. */
export function nextWindowStart(
  webhook: SiteWebhook,
  last: End,
  jump?: Jump,
): Pick<ReportingWindow, 'fromPosition' | 'windowStart' | 'series' | 'seriesStart'> {
  const end = ownEnd(webhook, last);
  const { position, time } = webhook.first;
  const fromPosition = end?.data.toPosition ?? position;
  return {
    fromPosition,
    windowStart: end?.data.windowEnd ?? time,
    ...nextSeries(end, fromPosition, jump),
  };
}

/**
 * The position of this log after which nothing was counted. A log that the site has moved to has other positions than those that windows
 * state, so there the last counted event tells.
 */
export async function countedUpTo(
  log: Pick<EventLog, 'positionOf' | 'removedUntil'>,
  { webhook, hasMoved }: { readonly webhook: SiteWebhook; readonly hasMoved: boolean },
  last: End,
): Promise<number> {
  const end = ownEnd(webhook, last);
  if (!end) return webhook.first.position;
  const { counted, toPosition } = end.data;
  if (!hasMoved) return toPosition;
  if (counted === undefined) return end.position;
  if (counted === null) return webhook.first.position;
  return (await log.positionOf(counted.stream, counted.version)) ?? log.removedUntil();
}

/** The end of a window that was counted up to a position of this log. It follows the previous one also where positions are lower. */
export function endOf(fromPosition: number, until: number): number {
  return until >= fromPosition ? until : fromPosition + 1;
}

type Series = Pick<ReportingWindow, 'series' | 'seriesStart'>;

/**
 * After a jump the receiver may have windows that this log does not know of: they end beyond the last one that it knows. If it knows none,
 * because the webhook was set after the jump, they end beyond the last event that is left. A site that came here since the jump keeps
 * its series.
 */
function nextSeries(end: End, fromPosition: number, jump: Jump | undefined): Series {
  if (jump && (end?.position ?? 0) < jump.continuesAt)
    return {
      series: Math.max(jump.continuesAt, (end?.data.series ?? 0) + 1),
      seriesStart: end ? fromPosition : Math.min(fromPosition, jump.kept),
    };
  return seriesOf(end?.data ?? {});
}

function seriesOf({ series, seriesStart }: Series): Series {
  return series === undefined ? {} : { series, seriesStart };
}

export function attemptsOf(end: End): number {
  return end && 'attempt' in end.data && end.type !== 'outbound.delivered.v1' ? end.data.attempt : 0;
}

/** Consecutive failures; undefined if the last attempt was before the webhook was set or enabled. */
export function failuresOf(
  webhook: SiteWebhook,
  end: End,
): Pick<FailedPushAttempt, 'failures' | 'failingSince'> | undefined {
  return end?.type === 'outbound.failed.v1' && !isChangedSince(webhook, end) ? end.data : undefined;
}

/** Derived from the host, so that concurrent processes append to the same stream and one of them wins. */
export function streamOf(site: string): string {
  return derivedUuid(`outbound ${site}`);
}

function isChangedSince(webhook: SiteWebhook, end: End): boolean {
  return end !== undefined && webhook.position > end.position;
}

function nextAttemptMs(end: End): number {
  if (end?.type !== 'outbound.failed.v1') return Number.NEGATIVE_INFINITY;
  const { nextTry } = end.data;
  // Without a next attempt the webhook was disabled, which this process may not have read yet. If it is still enabled after that
  // time, it was enabled again at the same moment.
  return nextTry === undefined ? Date.parse(end.time) + PROPAGATED_WITHIN_MS : Date.parse(nextTry);
}
