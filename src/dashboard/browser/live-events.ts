import type { Schemas } from './api.js';
import { auditDetail } from './audit-view.js';
import { connectionTitle, formatDuration, formatMoney, type Tone } from './format.js';

export type LiveEvent = Schemas['Event'];

/** What the filter of the live page offers, with the types of events that belong to it. */
export const EVENT_GROUPS = [
  ['conversions', 'Conversions', /^conversion\.(?:received|deduplicated|filtered)\./],
  ['deliveries', 'Deliveries', /^conversion\./],
  ['visits', 'Visits', /^visitor\./],
  ['pushes', 'Pushes', /^outbound\./],
  ['refused', 'Refused requests', /^(?:auth|inbound)\./],
  ['changes', 'Changes of the site', /^site\./],
] as const;

export type EventGroup = (typeof EVENT_GROUPS)[number][0] | 'other';

/** The first group that an event's type belongs to. */
export function groupOf(type: string): EventGroup {
  return EVENT_GROUPS.find(([, , pattern]) => pattern.test(type))?.[0] ?? 'other';
}

/** Adds events, newest first. An event may arrive twice: with the list, and with the stream. */
export function addEvents(
  shown: readonly LiveEvent[],
  arrived: readonly LiveEvent[],
  max: number,
): readonly LiveEvent[] {
  if (arrived.length === 0) return shown;
  const byPosition = new Map([...shown, ...arrived].map((event) => [event.position, event]));
  return [...byPosition.values()].sort((one, other) => other.position - one.position).slice(0, max);
}

/** `conversion.received.v1` in words. */
export function eventTitle(type: string): string {
  const name = type.replace(/\.v\d+$/, '').replaceAll(/[._]/g, ' ');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

export function eventTone(type: string): Tone {
  if (/\.(?:failed|rejected|throttled|platform_parked)/.test(type)) return 'bad';
  if (/\.(?:filtered|deferred|skipped)/.test(type)) return 'warn';
  if (/\.(?:delivered|accepted|confirmed)/.test(type)) return 'ok';
  return type.startsWith('conversion.received') ? 'wait' : 'plain';
}

/** What an event says about a conversion or a delivery, in the order in which it is read. Others list their values. */
export function eventDetail({ type, data }: Pick<LiveEvent, 'type' | 'data'>): string {
  const group = groupOf(type);
  if (group !== 'conversions' && group !== 'deliveries') return auditDetail(data);
  const { orderId, event, value, currency, platform, reason, durationMs, attempt } = data as Partial<EventData>;
  const isRetry = attempt !== undefined && attempt > 1;
  return [
    orderId,
    event,
    value !== undefined && currency !== undefined && formatMoney(value, currency),
    platform !== undefined && connectionTitle(platform),
    isRetry && `attempt ${attempt}`,
    durationMs !== undefined && formatDuration(durationMs),
    reason,
  ]
    .filter(Boolean)
    .join(' · ');
}

/** The values of events that are shown. Events of one type have some of them. */
interface EventData {
  readonly orderId: string;
  readonly event: string;
  readonly value: number;
  readonly currency: string;
  readonly platform: string;
  readonly reason: string;
  readonly durationMs: number;
  readonly attempt: number;
}

export function conversionIdOf({ data }: Pick<LiveEvent, 'data'>): string | undefined {
  const id = data['conversionId'];
  return typeof id === 'string' ? id : undefined;
}
