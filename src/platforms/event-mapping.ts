import type { Conversion } from './conversion.js';
import type { Settings } from './platform.js';

/** The platform's name or id for an event, where the connection gives one: `event.<ours>=<theirs>`. */
export function mappedEvent(settings: Settings, event: string): string | undefined {
  return settings[`event.${event}`];
}

/** `events=purchase,lead` selects which are sent at all. */
export function isSelected(settings: Settings, event: string): boolean {
  const { events } = settings;
  return events === undefined || events.split(',').some((name) => name.trim() === event);
}

/** What `field.<theirs>=<ours>` may take from a conversion. */
export const FIELD_SOURCES = ['event', 'value', 'currency', 'orderId', 'conversionId'] as const;

/** `field.<theirs>=<ours>`: fields of the platform's custom data, filled from ours; absent where ours is. */
export function customFields(settings: Settings, conversion: Conversion): Record<string, string | number> {
  const fields: Record<string, string | number> = {};
  for (const [name, ours] of Object.entries(settings)) {
    if (!name.startsWith('field.')) continue;
    const value = ours === 'conversionId' ? conversion.id : conversion[ours as 'event'];
    if (value !== undefined) fields[name.slice('field.'.length)] = value;
  }
  return fields;
}
