import { hash } from 'node:crypto';
import type { Conversion } from '../conversion.js';
import { customObject, mappedEvent } from '../event-mapping.js';
import { unlessEmpty, withoutQuery } from '../payload-fields.js';
import type { Payload, Settings } from '../platform.js';

/**
 * The receiver belongs to the customer, so it gets the click ids of all platforms, and the customer's own ids. Personal data is
 * sent only as hashes.
 */
export function payload(conversion: Conversion, settings: Settings): Payload {
  const { event, value, visit, hashes, source, items, custom } = conversion;
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
        click_ids: clickIds(conversion),
        utm: visit && Object.keys(visit.utm).length > 0 ? visit.utm : undefined,
        user: {
          email_sha256: hashes.subject || undefined,
          phone_sha256: hashes.phone,
          first_name_sha256: hashes.firstName,
          last_name_sha256: hashes.lastName,
          external_id: conversion.externalId,
          ...addressHashes(conversion),
        },
        // An absent one must not replace a custom field of its name.
        ...(source && { source }),
        ...(items && { items }),
        ...(custom && { custom }),
      },
    },
  };
}

/** Digests of the lower-case values, as those of names. */
function addressHashes({ address: { city, region, postalCode, country } = {}, hashes }: Conversion): object {
  return {
    city_sha256: digestOf(city) ?? hashes.city,
    region_sha256: digestOf(region) ?? hashes.region,
    postal_code_sha256: digestOf(postalCode) ?? hashes.postalCode,
    country_sha256: digestOf(country) ?? hashes.country,
  };
}

function digestOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : hash('sha256', text.toLowerCase());
}

function clickIds({ visit, clickIds: { lead_id, ctwa_clid } = {} }: Conversion): object | undefined {
  const clicks = Object.entries(visit?.clicks ?? {}).map(([kind, { id }]) => [kind, id]);
  return unlessEmpty({ ...Object.fromEntries(clicks), lead_id, ctwa_clid });
}
