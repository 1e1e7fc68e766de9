import type { Conversion } from '../conversion.js';
import { mappedActions, payloadFor } from '../event-mapping.js';
import { formedExternalId } from '../external-id.js';
import { amountText, withholdsPersonal } from '../payload-fields.js';
import { listOf } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';

/** Names are never sent, because LinkedIn requires them in plain text. */
export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const rules = mappedActions(settings, conversion.event);
  if (rules === undefined) return { skip: 'event_not_mapped' };
  // LinkedIn has no field for an opt-out, and requires an identifier.
  if (withholdsPersonal(conversion)) return { skip: 'consent_denied' };
  const ids = userIds(conversion);
  if (ids.length === 0) return { skip: 'no_identifier' };
  const { value, currency } = conversion;
  return payloadFor(rules, (rule) => ({
    conversion: `urn:lla:llaPartnerConversion:${rule}`,
    conversionHappenedAt: conversion.timeMs,
    eventId: conversion.eventId,
    conversionValue: value === undefined ? undefined : { currencyCode: currency, amount: amountText(value, currency) },
    user: { userIds: ids, externalIds: listOf(formedExternalId(conversion, settings, undefined)) },
  }));
}

function userIds({ visit, hashes }: Conversion): object[] {
  const ids: object[] = [];
  const click = visit?.clicks.li_fat_id?.id;
  if (click) ids.push({ idType: 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID', idValue: click });
  if (hashes.subject) ids.push({ idType: 'SHA256_EMAIL', idValue: hashes.subject });
  return ids;
}
