import type { Conversion, Item } from '../conversion.js';
import { externalIdHash, joinedOf, sha256Of, twoLettersOf } from '../customer-hashes.js';
import { mappedEvent } from '../event-mapping.js';
import { contentFields, quantityOf } from '../items.js';
import { customData, isLimited, userData, withoutQuery } from '../payload-fields.js';
import { listOf } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';

/** Snapchat accepts only its own event names and has none for a lead: SIGN_UP is the closest. */
export const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'PURCHASE'],
  ['lead', 'SIGN_UP'],
  ['signup', 'SIGN_UP'],
]);

/** Limited data use, Snapchat's opt-out flag. */
const LIMITED_DATA_USE = ['LDU'];

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const name = mappedEvent(settings, conversion.event) ?? EVENT_NAMES.get(conversion.event);
  if (name === undefined) return { skip: 'event_not_mapped' };
  if (name === 'PURCHASE' && conversion.value === undefined) return { skip: 'value_required' };

  const user = userDataOf(conversion);
  if (!isIdentified(user)) return { skip: 'no_identifier' };

  const { source = 'website', visit } = conversion;
  const page = source === 'website' ? withoutQuery(visit?.pageUrl) : undefined;
  return {
    item: {
      event_name: name,
      event_time: Math.floor(conversion.timeMs / 1_000),
      event_id: conversion.eventId,
      // Snapchat requires a page URL for a web event, and the id of the app for an app event.
      action_source: page === undefined ? 'OFFLINE' : 'WEB',
      event_source_url: page,
      user_data: user,
      custom_data: customData(conversion, settings, contentFields(conversion, contentOf)),
      data_processing_options: isLimited(conversion, settings) ? LIMITED_DATA_USE : undefined,
    },
  };
}

type UserData = ReturnType<typeof userDataOf>;

function userDataOf(conversion: Conversion) {
  const { visit, externalId } = conversion;
  return {
    ...userData(conversion, 'firstNameUnpunctuated', 'lastNameUnpunctuated'),
    ...addressHashes(conversion),
    external_id: listOf(externalIdHash(externalId)),
    sc_click_id: visit?.clicks.sccid?.id || undefined,
    sc_cookie1: visit?.cookies._scid || undefined,
  };
}

/** A click id or a cookie improves a match, but does not suffice for one. */
function isIdentified({ em, ph, client_ip_address, client_user_agent }: UserData): boolean {
  return Boolean(em || ph || (client_ip_address && client_user_agent));
}

function addressHashes({ address: { city, region, postalCode, country } = {}, hashes }: Conversion) {
  return {
    ct: listOf(sha256Of(joinedOf(city)) ?? hashes.city),
    st: listOf(sha256Of(twoLettersOf(region)) ?? hashes.region),
    zp: listOf(sha256Of(postalCodeOf(postalCode, country)) ?? hashes.postalCode),
    country: listOf(sha256Of(country?.toLowerCase()) ?? hashes.country),
  };
}

/** The five digits of a ZIP code; any other code in lower case, without spaces and dashes. */
function postalCodeOf(postalCode: string | undefined, country: string | undefined): string | undefined {
  const code = joinedOf(postalCode);
  return country === 'US' ? code?.slice(0, 5) : code;
}

/** Snapchat has no field for the name and the category of one item. */
function contentOf(item: Item): object {
  return { id: item.id, quantity: quantityOf(item), item_price: item.price };
}
