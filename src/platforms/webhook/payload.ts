import type { Conversion, Visit } from '../conversion.js';
import { customObject, mappedEvent } from '../event-mapping.js';
import { withoutQuery } from '../payload-fields.js';
import type { Payload, Settings } from '../platform.js';

/** The receiver belongs to the customer, so it gets the click ids of all platforms. Personal data is sent only as hashes. */
export function payload(conversion: Conversion, settings: Settings): Payload {
  const { event, value, visit, hashes } = conversion;
  return {
    item: {
      type: `conversion.${mappedEvent(settings, event) ?? event}`,
      timestamp: new Date(conversion.timeMs).toISOString(),
      data: {
        ...customObject(settings, conversion),
        event_id: conversion.eventId,
        conversion_id: conversion.id,
        event,
        order_id: conversion.orderId,
        value,
        currency: value === undefined ? undefined : conversion.currency,
        consent: conversion.consent,
        page_url: withoutQuery(visit?.pageUrl),
        click_ids: clickIds(visit),
        utm: visit && Object.keys(visit.utm).length > 0 ? visit.utm : undefined,
        user: {
          email_sha256: hashes.subject,
          phone_sha256: hashes.phone,
          first_name_sha256: hashes.firstName,
          last_name_sha256: hashes.lastName,
        },
      },
    },
  };
}

function clickIds(visit: Visit | undefined): Record<string, string> | undefined {
  const clicks = Object.entries(visit?.clicks ?? {});
  return clicks.length === 0 ? undefined : Object.fromEntries(clicks.map(([kind, { id }]) => [kind, id]));
}
