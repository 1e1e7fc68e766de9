import type { Conversion } from '../conversion.js';
import { mappedEvent } from '../event-mapping.js';
import { amountText, withholdsPersonal } from '../payload-fields.js';
import { FIRST_PAYLOAD_VERSION } from '../payload-version.js';
import type { Payload, Settings, Skip } from '../platform.js';

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const eventId = mappedEvent(settings, conversion.event);
  if (eventId === undefined) return { skip: 'event_not_mapped' };
  // X has no field for an opt-out, and requires an identifier.
  if (withholdsPersonal(conversion)) return { skip: 'consent_denied' };
  const value = amountOf(conversion, settings);
  const hasCurrency = value !== undefined && conversion.payloadVersion > FIRST_PAYLOAD_VERSION;
  return {
    item: {
      conversion_time: new Date(conversion.timeMs).toISOString(),
      event_id: eventId,
      conversion_id: conversion.eventId,
      value,
      price_currency: hasCurrency ? conversion.currency : undefined,
      identifiers: identifiersOf(conversion),
    },
  };
}

function amountOf({ value, currency }: Conversion, settings: Settings): string | undefined {
  if (value === undefined || (settings['currency'] ?? currency) !== currency) return undefined;
  return amountText(value, currency);
}

function identifiersOf({ visit, hashes }: Conversion): object[] {
  const identifiers: object[] = [];
  const click = visit?.clicks.twclid?.id;
  if (click) identifiers.push({ twclid: click });
  identifiers.push({ hashed_email: hashes.subject });
  if (hashes.phone) identifiers.push({ hashed_phone_number: hashes.phone });
  // X uses these two only together.
  if (visit?.ip && visit.userAgent) identifiers.push({ ip_address: visit.ip, user_agent: visit.userAgent });
  return identifiers;
}
