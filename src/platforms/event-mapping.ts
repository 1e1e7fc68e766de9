import type { Conversion } from './conversion.js';
import type { Settings } from './platform.js';

/** The platform's name or id of an event, if the connection maps it: `event.<ours>=<theirs>`. */
export function mappedEvent(settings: Settings, event: string): string | undefined {
  return settings[`event.${event}`];
}

/** `events=purchase,lead` selects the events that are sent; without it all are. */
export function isSelected(settings: Settings, event: string): boolean {
  const { events } = settings;
  return events === undefined || events.split(',').some((name) => name.trim() === event);
}

/** The values of a conversion that `field.<theirs>=<ours>` can refer to. */
export const FIELD_SOURCES = ['event', 'value', 'currency', 'orderId', 'conversionId'] as const;

/** The custom fields of the connection (`field.<theirs>=<ours>`), filled from the conversion; absent values are left out. */
export function customFields(settings: Settings, conversion: Conversion): Record<string, string | number> {
  const fields: Record<string, string | number> = {};
  for (const [name, ours] of Object.entries(settings)) {
    if (!name.startsWith('field.')) continue;
    const value = ours === 'conversionId' ? conversion.id : conversion[ours as 'event'];
    if (value !== undefined) fields[name.slice('field.'.length)] = value;
  }
  return fields;
}
