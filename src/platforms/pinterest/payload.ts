import type { Conversion, Item } from '../conversion.js';
import { externalIdHash, joinedOf, sha256Of, twoLettersOf } from '../customer-hashes.js';
import { customFields, mappedEvent } from '../event-mapping.js';
import { contentFields, hasAmount, quantityOf } from '../items.js';
import { amountText, isLimited, userData, withoutQuery } from '../payload-fields.js';
import { listOf } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';

/** Pinterest accepts only its own event names. */
export const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'checkout'],
  ['lead', 'lead'],
  ['signup', 'signup'],
]);

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const name = mappedEvent(settings, conversion.event) ?? EVENT_NAMES.get(conversion.event);
  if (name === undefined) return { skip: 'event_not_mapped' };

  const user = userDataOf(conversion);
  if (!isIdentified(user)) return { skip: 'no_identifier' };

  const actionSource = actionSourceOf(conversion);
  return {
    item: {
      event_name: name,
      action_source: actionSource,
      event_time: Math.floor(conversion.timeMs / 1_000),
      event_id: conversion.eventId,
      event_source_url: actionSource === 'web' ? withoutQuery(conversion.visit?.pageUrl) : undefined,
      opt_out: isLimited(conversion, settings) ? true : undefined,
      user_data: user,
      custom_data: customData(conversion, settings),
    },
  };
}

function actionSourceOf({ source, visit }: Conversion): string {
  if (source === undefined) return visit ? 'web' : 'offline';
  if (source === 'website') return 'web';
  return (source === 'app' && appSourceOf(visit?.userAgent)) || 'offline';
}

/** Pinterest distinguishes apps by their system. */
function appSourceOf(userAgent = ''): string | undefined {
  if (/android/i.test(userAgent)) return 'app_android';
  return /iphone|ipad|ipod/i.test(userAgent) ? 'app_ios' : undefined;
}

type UserData = ReturnType<typeof userDataOf>;

function userDataOf(conversion: Conversion) {
  const { visit, externalId } = conversion;
  return {
    ...userData(conversion, 'firstName', 'lastName'),
    ...addressHashes(conversion),
    external_id: listOf(externalIdHash(externalId)),
    click_id: visit?.clicks.epik?.id || undefined,
  };
}

function addressHashes({ address: { city, region, postalCode, country } = {}, hashes }: Conversion) {
  return {
    ct: listOf(sha256Of(joinedOf(city)) ?? hashes.city),
    st: listOf(sha256Of(twoLettersOf(region)) ?? hashes.region),
    zp: listOf(sha256Of(postalCodeOf(postalCode)) ?? hashes.postalCode),
    country: listOf(sha256Of(country?.toLowerCase()) ?? hashes.country),
  };
}

/** Pinterest hashes only digits. A code with letters has too few of them: their hash would match unrelated people. */
function postalCodeOf(postalCode: string | undefined): string | undefined {
  const code = joinedOf(postalCode) ?? '';
  return /^\d+$/.test(code) ? code : undefined;
}

/** A click id or a phone number improves a match, but does not suffice for one. */
function isIdentified({ em, client_ip_address, client_user_agent }: UserData): boolean {
  return Boolean(em || (client_ip_address && client_user_agent));
}

/** Pinterest expects strings here, even for amounts. */
function customData(conversion: Conversion, settings: Settings): object | undefined {
  const { value, currency, orderId } = conversion;
  const data: Record<string, unknown> = customFields(settings, conversion);
  for (const [name, field] of Object.entries(data)) {
    if (typeof field === 'number') data[name] = amountText(field, currency);
    if (typeof field === 'boolean') data[name] = String(field);
  }
  if (hasAmount(conversion)) data['currency'] = currency;
  if (value !== undefined) data['value'] = amountText(value, currency);
  if (orderId !== undefined) data['order_id'] = orderId;
  Object.assign(
    data,
    contentFields(conversion, (item) => contentOf(item, currency)),
  );
  return Object.keys(data).length > 0 ? data : undefined;
}

function contentOf(item: Item, currency: string): object {
  return {
    id: item.id,
    item_name: item.name,
    item_category: item.category,
    item_price: item.price === undefined ? undefined : amountText(item.price, currency),
    quantity: quantityOf(item),
  };
}
