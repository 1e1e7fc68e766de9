import type { Conversion } from './conversion.js';
import { customFields } from './event-mapping.js';
import type { Settings } from './platform.js';

/** `custom_data` as Meta spells it and Snapchat after it; undefined where there is nothing to tell. */
export function customData(conversion: Conversion, settings: Settings): object | undefined {
  const { value, currency, orderId } = conversion;
  const data = {
    currency: value === undefined ? undefined : currency,
    value,
    order_id: orderId,
    ...customFields(settings, conversion),
  };
  return Object.values(data).some((entry) => entry !== undefined) ? data : undefined;
}
