import { hash } from 'node:crypto';
import type { Address, Conversion, Visit } from '../conversion.js';
import { customObject, mappedEvent } from '../event-mapping.js';
import { withoutQuery } from '../payload-fields.js';
import type { Payload, Settings } from '../platform.js';

/**
 * The receiver belongs to the customer, so it gets the click ids of all platforms, and the customer's own ids. Personal data is
 * sent only as hashes.
 */
export function payload(conversion: Conversion, settings: Settings): Payload {
  const { event, value, visit, hashes, source, items } = conversion;
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
        currency: value === undefined && items === undefined ? undefined : conversion.currency,
        consent: conversion.consent,
        page_url: withoutQuery(visit?.pageUrl),
        click_ids: clickIds(visit),
        utm: visit && Object.keys(visit.utm).length > 0 ? visit.utm : undefined,
        user: {
          email_sha256: hashes.subject,
          phone_sha256: hashes.phone,
          first_name_sha256: hashes.firstName,
          last_name_sha256: hashes.lastName,
          external_id: conversion.externalId,
          ...addressHashes(conversion.address),
        },
        // An absent one must not replace a custom field of its name.
        ...(source && { source }),
        ...(items && { items }),
      },
    },
  };
}

/** Digests of the lower-case values, as those of names. */
function addressHashes({ city, region, postalCode, country }: Address = {}): object {
  return {
    city_sha256: digestOf(city),
    region_sha256: digestOf(region),
    postal_code_sha256: digestOf(postalCode),
    country_sha256: digestOf(country),
  };
}

function digestOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : hash('sha256', text.toLowerCase());
}

function clickIds(visit: Visit | undefined): Record<string, string> | undefined {
  const clicks = Object.entries(visit?.clicks ?? {});
  return clicks.length === 0 ? undefined : Object.fromEntries(clicks.map(([kind, { id }]) => [kind, id]));
}
