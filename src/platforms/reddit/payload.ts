import type { Conversion, ConversionSource, Item } from '../conversion.js';
import { externalIdHash } from '../customer-hashes.js';
import { customObject, mappedEvent } from '../event-mapping.js';
import { hasAmount, quantityOf, unitsIn } from '../items.js';
import { isLimited, withoutQuery } from '../payload-fields.js';
import { digestOf } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';
import { allowsAmount, allowsItemCount, type EventType, eventType, isEventName } from './event-type.js';

export const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'PURCHASE'],
  ['lead', 'LEAD'],
  ['signup', 'SIGN_UP'],
]);

const ACTION_SOURCES: Readonly<Record<ConversionSource, string>> = {
  website: 'WEBSITE',
  app: 'APP',
  physical_store: 'PHYSICAL_STORE',
  phone_call: 'OTHER',
  email: 'OTHER',
  crm: 'OTHER',
  other: 'OTHER',
};

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const { event, source = conversion.visit ? 'website' : 'other', visit } = conversion;
  const name = mappedEvent(settings, event) ?? EVENT_NAMES.get(event) ?? event;
  if (!isEventName(name)) return { skip: 'event_not_mapped' };
  const clickId = visit?.clicks.rdt_cid?.id || undefined;
  const user = userOf(conversion, settings);
  if (clickId === undefined && !isIdentified(user)) return { skip: 'no_identifier' };
  const type = eventType(name);
  return {
    item: {
      event_at: conversion.timeMs,
      action_source: ACTION_SOURCES[source],
      event_source_url: source === 'website' ? withoutQuery(visit?.pageUrl) : undefined,
      click_id: clickId,
      type,
      user,
      metadata: {
        ...customObject(settings, conversion),
        ...itemFields(conversion, type),
        conversion_id: conversion.eventId,
        currency: allowsAmount(type) && hasAmount(conversion) ? conversion.currency : undefined,
        value: allowsAmount(type) ? conversion.value : undefined,
      },
    },
  };
}

function itemFields({ items }: Conversion, type: EventType): object {
  if (!items?.length) return {};
  return {
    ...(allowsItemCount(type) && { item_count: unitsIn(items) }),
    products: items.map((item) => productOf(item, allowsAmount(type))),
  };
}

function productOf(item: Item, withPrice: boolean): object {
  return {
    id: item.id,
    name: item.name,
    category: item.category,
    quantity: quantityOf(item),
    item_price: withPrice ? item.price : undefined,
  };
}

interface User {
  readonly email: string | undefined;
  readonly phone_number: string | undefined;
  readonly external_id: string | undefined;
  readonly uuid: string | undefined;
  readonly ip_address: string | undefined;
  readonly user_agent: string | undefined;
  readonly data_processing_options: { readonly modes: readonly string[] } | undefined;
}

function userOf(conversion: Conversion, settings: Settings): User {
  const { hashes, visit, externalId } = conversion;
  return {
    email: digestOf(hashes, 'emailBare') || undefined,
    phone_number: hashes.phone,
    external_id: externalIdHash(externalId),
    uuid: visit?.cookies._rdt_uuid || undefined,
    ip_address: visit?.ip || undefined,
    user_agent: visit?.userAgent || undefined,
    // Limited data use, Reddit's opt-out flag.
    data_processing_options: isLimited(conversion, settings) ? { modes: ['LDU'] } : undefined,
  };
}

/** An IP address and a user agent identify a person only together. */
function isIdentified({ email, phone_number, external_id, uuid, ip_address, user_agent }: User): boolean {
  if ([email, phone_number, external_id, uuid].some((identifier) => identifier !== undefined)) return true;
  return ip_address !== undefined && user_agent !== undefined;
}
