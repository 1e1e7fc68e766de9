import { amountText } from '../amount.js';
import type { Conversion } from '../conversion.js';
import { customFields, mappedEvent } from '../event-mapping.js';
import { pageAddress } from '../page-address.js';
import { listOf } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';

/** Pinterest takes the names on its own list only. */
const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'checkout'],
  ['lead', 'lead'],
  ['signup', 'signup'],
]);

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const name = mappedEvent(settings, conversion.event) ?? EVENT_NAMES.get(conversion.event);
  if (name === undefined) return { skip: 'event_not_mapped' };

  const user = userData(conversion);
  if (!isIdentified(user)) return { skip: 'no_identifier' };

  const { visit } = conversion;
  return {
    item: {
      event_name: name,
      action_source: visit ? 'web' : 'offline',
      event_time: Math.floor(conversion.timeMs / 1_000),
      event_id: conversion.eventId,
      event_source_url: pageAddress(visit?.pageUrl),
      opt_out: conversion.consent === 'denied' ? true : undefined,
      user_data: user,
      custom_data: customData(conversion, settings),
    },
  };
}

type UserData = ReturnType<typeof userData>;

function userData({ hashes, visit }: Conversion) {
  return {
    em: listOf(hashes.subject),
    ph: listOf(hashes.phoneDigits),
    fn: listOf(hashes.firstName),
    ln: listOf(hashes.lastName),
    client_ip_address: visit?.ip || undefined,
    client_user_agent: visit?.userAgent || undefined,
    click_id: visit?.clicks.epik?.id || undefined,
  };
}

/** A click or a phone makes a match better, but is not enough for one. */
function isIdentified({ em, client_ip_address, client_user_agent }: UserData): boolean {
  return Boolean(em || (client_ip_address && client_user_agent));
}

/** Pinterest takes texts here, amounts included. */
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
