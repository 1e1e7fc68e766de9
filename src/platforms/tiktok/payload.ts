import type { Conversion, Item } from '../conversion.js';
import { externalIdHash, latinOf, sha256Of } from '../customer-hashes.js';
import { customObject, mappedEvent } from '../event-mapping.js';
import { hasAmount, quantityOf } from '../items.js';
import { isLimited, unlessEmpty, withoutQuery } from '../payload-fields.js';
import { digestOf } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';
import { presetValue } from '../presets.js';
import { eventSourceOf, groupOf } from './event-source.js';

/** Standard events; any other name is a custom event. */
export const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'CompletePayment'],
  ['lead', 'SubmitForm'],
  ['signup', 'CompleteRegistration'],
]);

/** The group is the source of the events and the id that it has at TikTok; events without a group are sent to the pixel. */
export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const user = userData(conversion);
  if (!isIdentified(user)) return { skip: 'no_identifier' };

  const page = withoutQuery(conversion.visit?.pageUrl);
  const item = {
    event: mappedEvent(settings, conversion.event) ?? EVENT_NAMES.get(conversion.event) ?? conversion.event,
    event_time: Math.floor(conversion.timeMs / 1_000),
    event_id: conversion.eventId,
    user,
    properties: properties(conversion, settings),
    page: page === undefined ? undefined : { url: page },
    limited_data_use: isLimited(conversion, settings) ? true : undefined,
  };
  const source = eventSourceOf(conversion, settings);
  return source === undefined ? { item } : { item, group: groupOf(source) };
}

type UserData = ReturnType<typeof userData>;

function userData(conversion: Conversion) {
  const { hashes, visit, externalId } = conversion;
  return {
    ttclid: visit?.clicks.ttclid?.id || undefined,
    ttp: visit?.cookies._ttp || undefined,
    email: hashes.subject || undefined,
    phone: hashes.phone || undefined,
    first_name: digestOf(hashes, 'firstNameJoined') || undefined,
    last_name: digestOf(hashes, 'lastNameJoined') || undefined,
    external_id: externalIdHash(externalId),
    ...addressOf(conversion),
    ip: visit?.ip || undefined,
    user_agent: visit?.userAgent || undefined,
  };
}

/** TikTok hashes only the postal code. After an opt-out nothing personal is sent plain. */
function addressOf({ address = {}, hashes, consent }: Conversion) {
  const { city, region, postalCode, country } = address;
  return {
    zip_code: sha256Of(postalCode?.replace(/[\s-]+/g, '').toLowerCase()) ?? hashes.postalCode,
    ...(consent !== 'denied' && { city: latinOf(city), state: latinOf(region), country: country?.toLowerCase() }),
  };
}

/** A name, an address, an IP address or a user agent alone does not identify a person. */
function isIdentified({ ttclid, ttp, email, phone, external_id, ip, user_agent }: UserData): boolean {
  return Boolean(ttclid || ttp || email || phone || external_id || (ip && user_agent));
}

function properties(conversion: Conversion, settings: Settings): object | undefined {
  const { value, currency, orderId, items } = conversion;
  const brand = presetValue(conversion, settings, 'brand') || undefined;
  const withAmount = hasAmount(conversion) && isAccepted(currency, settings);
  return unlessEmpty({
    value: withAmount ? value : undefined,
    currency: withAmount ? currency : undefined,
    order_id: orderId,
    ...(items?.length && {
      content_type: 'product',
      contents: items.map((item) => contentOf(item, withAmount, brand)),
    }),
    ...customObject(settings, conversion),
  });
}

function contentOf(item: Item, withAmount: boolean, brand: string | undefined): object {
  return {
    content_id: item.id,
    content_name: item.name,
    content_category: item.category,
    brand,
    quantity: quantityOf(item),
    price: withAmount ? item.price : undefined,
  };
}

/** A substring search is safe: all codes have three letters, so none can match across a comma. */
function isAccepted(currency: string, { currencies }: Settings): boolean {
  return currencies === undefined || currencies.includes(currency);
}
