import type { Conversion } from '../conversion.js';
import { customFields, mappedEvent } from '../event-mapping.js';
import { pageAddress } from '../page-address.js';
import { spelling } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';
import { isOffline } from './settings.js';

/** The group of payloads in the form of offline conversions; those of the Conversions API have none. */
export const OFFLINE = 'offline';

const COOKIE_PREFIX = '_uet';
const CLICK_ID = /^[0-9a-f-]{32,36}$/;

interface Found {
  /** Of the goal: its event action, or with offline conversions its name. */
  readonly goal: string;
  readonly msclkid: string | undefined;
  readonly email: string | undefined;
  readonly phone: string | undefined;
}

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const goal = mappedEvent(settings, conversion.event);
  if (goal === undefined) return { skip: 'event_not_mapped' };
  const { hashes } = conversion;
  const msclkid = clickIdOf(conversion);
  const email = spelling(hashes, 'emailBare') || undefined;
  const phone = settings['phone_format'] === 'digits' ? hashes.phoneDigits : hashes.phone;
  if (msclkid === undefined && email === undefined && phone === undefined) return { skip: 'no_identifier' };
  const found: Found = { goal, msclkid, email, phone };
  return isOffline(settings)
    ? { item: offlineConversion(conversion, found), group: OFFLINE }
    : { item: capiEvent(conversion, found, settings) };
}

/** Microsoft refuses what does not look like one. Its own cookie puts `_uet` before it. */
function clickIdOf({ visit }: Conversion): string | undefined {
  const id = visit?.clicks.msclkid?.id;
  if (id === undefined) return undefined;
  const bare = id.startsWith(COOKIE_PREFIX) ? id.slice(COOKIE_PREFIX.length) : id;
  return CLICK_ID.test(bare) ? bare : undefined;
}

function capiEvent(conversion: Conversion, { goal, msclkid, email, phone }: Found, settings: Settings): object {
  const { visit, value } = conversion;
  const isPurchase = conversion.event === 'purchase';
  const customData: Record<string, string | number | undefined> = {
    value,
    currency: value === undefined ? undefined : conversion.currency,
    transactionId: conversion.orderId,
    pageType: isPurchase ? 'purchase' : undefined,
    ecommTotalValue: isPurchase ? value : undefined,
    ...customFields(settings, conversion),
  };
  return {
    eventType: 'custom',
    eventName: goal,
    eventId: conversion.eventId,
    eventTime: Math.floor(conversion.timeMs / 1_000),
    eventSourceUrl: pageAddress(visit?.pageUrl),
    adStorageConsent: CONSENT[conversion.consent],
    userData: {
      msclkid,
      em: email,
      ph: phone,
      anonymousId: visit?.cookies._uetvid || undefined,
      clientIpAddress: visit?.ip || undefined,
      clientUserAgent: visit?.userAgent || undefined,
    },
    customData: isEmpty(customData) ? undefined : customData,
  };
}

const CONSENT = { granted: 'G', denied: 'D', unknown: undefined } as const;

function isEmpty(data: Readonly<Record<string, unknown>>): boolean {
  for (const name in data) if (data[name] !== undefined) return false;
  return true;
}

function offlineConversion(conversion: Conversion, { goal, msclkid, email, phone }: Found): object {
  const { value } = conversion;
  return {
    MicrosoftClickId: msclkid,
    ConversionName: goal,
    // Click id, name and time are what Microsoft tells a repeat by.
    ConversionTime: `${new Date(conversion.timeMs).toISOString().slice(0, 19)}Z`,
    ConversionValue: value,
    ConversionCurrencyCode: value === undefined ? undefined : conversion.currency,
    HashedEmailAddress: email,
    HashedPhoneNumber: phone,
  };
}
