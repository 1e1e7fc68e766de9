import type { End } from '../outbound/reporting-window.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { card } from './output.js';

/** A site's webhook, and how its newest push stands. The secret only where it was made just now. */
export function webhookDocument({ url, enabled, reason, since }: SiteWebhook, end: End, secret?: string) {
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
  const stretch = { id, ...body, windowStart, windowEnd, fromPosition, toPosition };
  if (end.type === 'outbound.closed.v1') return { ...stretch, time: end.time, status: 'pending', attempt: 0 };
  const { attempt, durationMs, httpStatus } = end.data;
  const tried = { ...stretch, time: end.time, attempt, durationMs, ...(httpStatus !== undefined && { httpStatus }) };
  if (end.type === 'outbound.delivered.v1') return { ...tried, status: 'delivered' };
  const { reason, nextTry } = end.data;
  return { ...tried, status: 'failed', reason, ...(enabled && nextTry !== undefined && { nextTry }) };
}

export function webhookCard({ lastPush, ...webhook }: ReturnType<typeof webhookDocument>): string {
  if (!lastPush) return card({ ...webhook, 'last push': undefined });
  const { id, status, time, attempt, conversions, bot_traffic_removed, windowStart, windowEnd, ...rest } = lastPush;
  return card({
    ...webhook,
    'last push': `${status} ${time}, try ${attempt}`,
    ...('reason' in rest && { 'reason of it': rest.reason }),
    ...('nextTry' in rest && { 'next try': rest.nextTry }),
    stretch: `${id}, ${windowStart} to ${windowEnd}`,
    totals: `${conversions} conversions, ${bot_traffic_removed} bot traffic removed`,
  });
}
