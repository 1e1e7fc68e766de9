import type { Conversion } from '../conversion.js';
import { customFields, mappedEvent } from '../event-mapping.js';
import { amountText, isLimited, userData, withoutQuery } from '../payload-fields.js';
import type { Payload, Settings, Skip } from '../platform.js';

/** Pinterest accepts only its own event names. */
const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'checkout'],
  ['lead', 'lead'],
  ['signup', 'signup'],
]);

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const name = mappedEvent(settings, conversion.event) ?? EVENT_NAMES.get(conversion.event);
  if (name === undefined) return { skip: 'event_not_mapped' };

  const user = userDataOf(conversion);
  if (!isIdentified(user)) return { skip: 'no_identifier' };

  const { visit } = conversion;
  return {
    item: {
      event_name: name,
      action_source: visit ? 'web' : 'offline',
      event_time: Math.floor(conversion.timeMs / 1_000),
      event_id: conversion.eventId,
      event_source_url: withoutQuery(visit?.pageUrl),
      opt_out: isLimited(conversion, settings) ? true : undefined,
      user_data: user,
      custom_data: customData(conversion, settings),
    },
  };
}

type UserData = ReturnType<typeof userDataOf>;

function userDataOf(conversion: Conversion) {
  const clickId = conversion.visit?.clicks.epik?.id || undefined;
  return { ...userData(conversion, 'firstName', 'lastName'), click_id: clickId };
}

/** A click id or a phone number improves a match, but does not suffice for one. */
function isIdentified({ em, client_ip_address, client_user_agent }: UserData): boolean {
  return Boolean(em || (client_ip_address && client_user_agent));
}

/** Pinterest expects strings here, even for amounts. */
function customData(conversion: Conversion, settings: Settings): object | undefined {
  const { value, currency, orderId } = conversion;
  const data: Record<string, string | number | undefined> = customFields(settings, conversion);
  for (const [name, field] of Object.entries(data)) {
    if (typeof field === 'number') data[name] = amountText(field, currency);
  }
  if (value !== undefined) {
    data['currency'] = currency;
    data['value'] = amountText(value, currency);
  }
  if (orderId !== undefined) data['order_id'] = orderId;
  return Object.keys(data).length > 0 ? data : undefined;
}
