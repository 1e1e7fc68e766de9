import type { SiteWebhook } from '../sites/webhook.js';
import { type End, ownEnd } from './reporting-window.js';

/** A site's webhook and its latest push. The secret is included only if it was just generated. */
export function webhookDocument(webhook: SiteWebhook, last: End, secret?: string) {
  const { url, enabled, reason, since } = webhook;
  const end = ownEnd(webhook, last);
  return {
    url,
    enabled,
    ...(reason !== undefined && { reason }),
    since,
    ...(secret !== undefined && { secret }),
    ...(end && { lastPush: pushDocument(end, enabled) }),
  };
}

function pushDocument(end: NonNullable<End>, enabled: boolean) {
  const { stretchId: id, fromPosition, toPosition, windowStart, windowEnd, body } = end.data;
  const push = { id, ...body, windowStart, windowEnd, fromPosition, toPosition };
  if (end.type === 'outbound.closed.v1') return { ...push, time: end.time, status: 'pending', attempt: 0 };
  const { attempt, durationMs, httpStatus } = end.data;
  const attempted = { ...push, time: end.time, attempt, durationMs, ...(httpStatus !== undefined && { httpStatus }) };
  if (end.type === 'outbound.delivered.v1') return { ...attempted, status: 'delivered' };
  const { reason, nextTry } = end.data;
  return { ...attempted, status: 'failed', reason, ...(enabled && nextTry !== undefined && { nextTry }) };
}
