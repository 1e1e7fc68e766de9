import type { Conversion, Item } from '../conversion.js';
import { mappedActions, payloadFor } from '../event-mapping.js';
import { unitsIn } from '../items.js';
import { amountText, withholdsPersonal } from '../payload-fields.js';
import { FIRST_PAYLOAD_VERSION, LONE_DEVICE_VERSION } from '../payload-version.js';
import type { Payload, Settings, Skip } from '../platform.js';

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const eventIds = mappedActions(settings, conversion.event);
  if (eventIds === undefined) return { skip: 'event_not_mapped' };
  // X has no field for an opt-out, and requires an identifier.
  if (withholdsPersonal(conversion)) return { skip: 'consent_denied' };
  const identifiers = identifiersOf(conversion);
  if (identifiers.length === 0) return { skip: 'no_identifier' };
  const { items, currency } = conversion;
  // Amounts in other currencies than the one that is set are left out.
  const hasAmounts = (settings['currency'] ?? currency) === currency;
  const value = hasAmounts ? conversion.value : undefined;
  const contents = items && contentsOf(items, hasAmounts);
  const hasAny = value !== undefined || contents?.some(({ content_price }) => content_price !== undefined);
  const hasCurrency = hasAny && conversion.payloadVersion > FIRST_PAYLOAD_VERSION;
  return payloadFor(eventIds, (eventId) => ({
    conversion_time: new Date(conversion.timeMs).toISOString(),
    event_id: eventId,
    conversion_id: conversion.eventId,
    value: value === undefined ? undefined : amountText(value, currency),
    price_currency: hasCurrency ? currency : undefined,
    identifiers,
    number_items: items && unitsIn(items),
    contents,
  }));
}

/** X calls the category of a product its type. Unlike the amount of a conversion, a price is a number. */
function contentsOf(items: readonly Item[], hasPrices: boolean) {
  return items.map(({ id, name, category, price, quantity }) => ({
    content_id: id,
    content_name: name,
    content_type: category,
    content_price: hasPrices ? price : undefined,
    num_items: quantity ?? 1,
  }));
}

function identifiersOf({ visit, hashes, payloadVersion }: Conversion): object[] {
  const identifiers: object[] = [];
  const click = visit?.clicks.twclid?.id;
  if (click) identifiers.push({ twclid: click });
  if (hashes.subject) identifiers.push({ hashed_email: hashes.subject });
  if (hashes.phone) identifiers.push({ hashed_phone_number: hashes.phone });
  const device = { ip_address: visit?.ip || undefined, user_agent: visit?.userAgent || undefined };
  if (device.ip_address && device.user_agent) identifiers.push(device);
  // X accepts one of them only beside another identifier, so it is in the same object.
  else if (identifiers.length > 0 && payloadVersion >= LONE_DEVICE_VERSION)
    Object.assign(identifiers[0] as object, device);
  return identifiers;
}
