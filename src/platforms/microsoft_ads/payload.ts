import type { Conversion } from '../conversion.js';
import { customObject, mappedEvent } from '../event-mapping.js';
import { formedExternalId } from '../external-id.js';
import { isGranted, unlessEmpty, withholdsPersonal, withoutQuery } from '../payload-fields.js';
import { digestOf } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';
import { EXTERNAL_ID_FORM, isOffline } from './settings.js';

/** The group of offline conversions; payloads of the Conversions API have none. */
export const OFFLINE = 'offline';

const COOKIE_PREFIX = '_uet';
const CLICK_ID = /^[0-9a-f-]{32,36}$/;

interface Match {
  /** The event action of the goal, or its name with offline conversions. */
  readonly goal: string;
  readonly msclkid: string | undefined;
  readonly email: string | undefined;
  readonly phone: string | undefined;
}

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const goal = mappedEvent(settings, conversion.event);
  if (goal === undefined) return { skip: 'event_not_mapped' };
  // Offline conversions have no field for an opt-out, and require an identifier.
  if (isOffline(settings) && withholdsPersonal(conversion)) return { skip: 'consent_denied' };
  const { hashes } = conversion;
  const msclkid = clickIdOf(conversion);
  const email = digestOf(hashes, 'emailBare') || undefined;
  const phone = settings['phone_format'] === 'digits' ? hashes.phoneDigits : hashes.phone;
  if (msclkid === undefined && email === undefined && phone === undefined) return { skip: 'no_identifier' };
  const match: Match = { goal, msclkid, email, phone };
  return isOffline(settings)
    ? { item: offlineConversion(conversion, match), group: OFFLINE }
    : { item: capiEvent(conversion, match, settings) };
}

/** Microsoft rejects ids in any other format. Its own cookie adds the prefix `_uet`. */
function clickIdOf({ visit }: Conversion): string | undefined {
  const id = visit?.clicks.msclkid?.id;
  if (id === undefined) return undefined;
  const bare = id.startsWith(COOKIE_PREFIX) ? id.slice(COOKIE_PREFIX.length) : id;
  return CLICK_ID.test(bare) ? bare : undefined;
}

function capiEvent(conversion: Conversion, { goal, msclkid, email, phone }: Match, settings: Settings): object {
  const { visit, value, items } = conversion;
  const isPurchase = conversion.event === 'purchase';
  const customData = unlessEmpty({
    value,
    currency: value === undefined && items === undefined ? undefined : conversion.currency,
    transactionId: conversion.orderId,
    pageType: isPurchase ? 'purchase' : undefined,
    ecommTotalValue: isPurchase ? value : undefined,
    itemIds: items?.map(({ id }) => id),
    items: items?.map(({ id, name, quantity, price }) => ({ id, name, quantity, price })),
    ...customObject(settings, conversion),
  });
  return {
    eventType: 'custom',
    eventName: goal,
    eventId: conversion.eventId,
    eventTime: Math.floor(conversion.timeMs / 1_000),
    eventSourceUrl: withoutQuery(visit?.pageUrl),
    adStorageConsent: consentOf(conversion),
    userData: {
      msclkid,
      em: email,
      ph: phone,
      anonymousId: visit?.cookies._uetvid || undefined,
      externalId: formedExternalId(conversion, settings, EXTERNAL_ID_FORM),
      clientIpAddress: visit?.ip || undefined,
      clientUserAgent: visit?.userAgent || undefined,
    },
    customData,
  };
}

function consentOf(conversion: Conversion): 'G' | 'D' | undefined {
  if (conversion.consent === 'denied') return 'D';
  return isGranted(conversion, 'ad_storage') ? 'G' : undefined;
}

function offlineConversion(conversion: Conversion, { goal, msclkid, email, phone }: Match): object {
  const { value } = conversion;
  return {
    MicrosoftClickId: msclkid,
    ConversionName: goal,
    // Microsoft deduplicates by click id, name and time.
    ConversionTime: `${new Date(conversion.timeMs).toISOString().slice(0, 19)}Z`,
    ConversionValue: value,
    ConversionCurrencyCode: value === undefined ? undefined : conversion.currency,
    HashedEmailAddress: email,
    HashedPhoneNumber: phone,
  };
}
