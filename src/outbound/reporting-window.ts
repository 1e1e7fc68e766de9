import { type FailedPushAttempt, type OutboundEvent, type ReportingWindow } from '../events/outbound.events.js';
import { derivedUuid } from '../kernel/uuid.js';
import type { StoredEvent } from '../log/event.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { nextTickMs } from './ticks.js';

/** By then every process knows what became of a webhook. */
const HEARD_WITHIN_MS = 60_000;

/** The last event of a site's stream; undefined before the first stretch. */
export type End = (OutboundEvent & Pick<StoredEvent, 'position' | 'version' | 'time'>) | undefined;

export type Step =
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'close' }
  | { readonly kind: 'send'; readonly stretch: ReportingWindow };

/**
 * What is to be done for a site. While a stretch is pending nothing else is: it is sent when its time has come, or when
 * somebody has set or enabled the webhook since the last try. Otherwise the next one is closed at the first tick after
 * the last one was; a tick that was missed meanwhile is one that has passed.
 */
export function nextStep(webhook: SiteWebhook, end: End, nowMs: number, everyMs: number): Step {
  const pending = pendingOf(end);
  if (!pending) {
    const closed = end?.data.windowEnd ?? webhook.first.time;
    const dueMs = nextTickMs(Date.parse(closed), everyMs);
    return dueMs <= nowMs ? { kind: 'close' } : { kind: 'wait', untilMs: dueMs };
  }
  const untilMs = isHeldSince(webhook, end) ? Number.NEGATIVE_INFINITY : nextTryMs(end);
  return untilMs <= nowMs ? { kind: 'send', stretch: pending } : { kind: 'wait', untilMs };
}

/** Closed, and not taken by the receiver yet. */
export function pendingOf(end: End): ReportingWindow | undefined {
  if (!end || end.type === 'outbound.delivered.v1') return undefined;
  const { stretchId, fromPosition, toPosition, windowStart, windowEnd, body } = end.data;
  return { stretchId, fromPosition, toPosition, windowStart, windowEnd, body };
}

/** Where and when the next stretch begins. */
export function nextBegin(webhook: SiteWebhook, end: End): Pick<ReportingWindow, 'fromPosition' | 'windowStart'> {
  const { position, time } = webhook.first;
  return { fromPosition: end?.data.toPosition ?? position, windowStart: end?.data.windowEnd ?? time };
}

export function attemptsOf(end: End): number {
  return end && 'attempt' in end.data && end.type !== 'outbound.delivered.v1' ? end.data.attempt : 0;
}

/** What has failed in a row; undefined where the last try was before the webhook was set or enabled. */
export function failuresOf(
  webhook: SiteWebhook,
  end: End,
): Pick<FailedPushAttempt, 'failures' | 'failingSince'> | undefined {
  return end?.type === 'outbound.failed.v1' && !isHeldSince(webhook, end) ? end.data : undefined;
}

/** A site's stream follows from its host: whoever closes a stretch meets the others there, and one of them wins. */
export function streamOf(site: string): string {
  return derivedUuid(`outbound ${site}`);
}

function isHeldSince(webhook: SiteWebhook, end: End): boolean {
  return end !== undefined && webhook.position > end.position;
}

function nextTryMs(end: End): number {
  if (end?.type !== 'outbound.failed.v1') return Number.NEGATIVE_INFINITY;
  const { nextTry } = end.data;
  // Without one the webhook was disabled, of which this process may not have heard yet. One that is enabled all the same
  // a while later was enabled in that very moment.
  return nextTry === undefined ? Date.parse(end.time) + HEARD_WITHIN_MS : Date.parse(nextTry);
}
