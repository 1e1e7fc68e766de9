import type { Schemas } from './api.js';
import type { Tone } from './format.js';

export type LiveEvent = Schemas['Event'];

/** What the filter of the live page offers, with the types of events that belong to it. */
export const EVENT_GROUPS = [
  ['conversions', 'Conversions', /^conversion\.(?:received|deduplicated|filtered)\./],
  ['deliveries', 'Deliveries', /^conversion\./],
  ['visits', 'Visits', /^(?:visitor|visit|identity|consent)\./],
  ['pushes', 'Pushes', /^outbound\./],
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
  if (/\.(?:failed|rejected|auth_failed|platform_parked)/.test(type)) return 'bad';
  if (/\.(?:filtered|deferred|skipped)/.test(type)) return 'warn';
  if (/\.(?:delivered|accepted|confirmed)/.test(type)) return 'ok';
  return type.startsWith('conversion.received') ? 'wait' : 'plain';
}

export function conversionIdOf({ data }: Pick<LiveEvent, 'data'>): string | undefined {
  const id = data['conversionId'];
  return typeof id === 'string' ? id : undefined;
}
