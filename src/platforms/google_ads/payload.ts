import type { Conversion } from '../conversion.js';
import { customFields, mappedEvent } from '../event-mapping.js';
import { spelling } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';
import { isUpload } from './settings.js';

/** The group of payloads in the legacy upload's form. Those of the Data Manager have their conversion action's id. */
export const UPLOAD = 'upload';

type ClickId = { readonly gclid: string } | { readonly gbraid: string } | { readonly wbraid: string };

interface Found {
  readonly action: string;
  readonly click: ClickId | undefined;
  readonly email: string | undefined;
  readonly phone: string | undefined;
}

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const action = mappedEvent(settings, conversion.event);
  if (action === undefined) return { skip: 'event_not_mapped' };
  // Google's rule: without consent to ad_user_data nothing may be sent, not even marked as denied.
  if (conversion.consent === 'denied') return { skip: 'consent_denied' };
  const click = clickOf(conversion);
  if (click === undefined && settings['require_click_id'] === 'yes') return { skip: 'no_click_identifier' };
  const email = spelling(conversion.hashes, 'emailGoogle') || undefined;
  const { phone } = conversion.hashes;
  if (click === undefined && email === undefined && phone === undefined) return { skip: 'no_identifier' };
  const found: Found = { action, click, email, phone };
  return isUpload(settings)
    ? { item: clickConversion(conversion, found, settings), group: UPLOAD }
    : { item: dataManagerEvent(conversion, found, settings), group: action };
}

/** One only, the most exact first: braids never go together, and a braid beside a gclid adds nothing that is known. */
function clickOf({ visit }: Conversion): ClickId | undefined {
  if (visit === undefined) return undefined;
  const { gclid, gbraid, wbraid } = visit.clicks;
  if (gclid?.id) return { gclid: gclid.id };
  if (gbraid?.id) return { gbraid: gbraid.id };
  return wbraid?.id ? { wbraid: wbraid.id } : undefined;
}

/** Names are left out: Google takes them only in an address with region and postal code, which no sender tells us. */
function dataManagerEvent(conversion: Conversion, { click, email, phone }: Found, settings: Settings): object {
  const { value } = conversion;
  const userIdentifiers: object[] = [];
  if (email !== undefined) userIdentifiers.push({ emailAddress: email });
  if (phone !== undefined) userIdentifiers.push({ phoneNumber: phone });
  const customVariables = Object.entries(customFields(settings, conversion)).map(([variable, content]) => ({
    variable,
    value: String(content),
  }));
  return {
    eventTimestamp: new Date(conversion.timeMs).toISOString(),
    transactionId: conversion.eventId,
    eventSource: conversion.visit === undefined ? 'OTHER' : 'WEB',
    adIdentifiers: click,
    userData: userIdentifiers.length > 0 ? { userIdentifiers } : undefined,
    // Nothing is said of ad_personalization: a visitor may grant the one and refuse the other.
    consent: conversion.consent === 'granted' ? { adUserData: 'CONSENT_GRANTED' } : undefined,
    conversionValue: value,
    currency: value === undefined ? undefined : conversion.currency,
    customVariables: customVariables.length > 0 ? customVariables : undefined,
  };
}

function clickConversion(conversion: Conversion, { action, click, email, phone }: Found, settings: Settings): object {
  const { value } = conversion;
  const userIdentifiers: object[] = [];
  // Beside a braid they are dropped: whether Google takes both is not confirmed, and the click id is the better match.
  if (click === undefined || 'gclid' in click) {
    if (email !== undefined) userIdentifiers.push({ userIdentifierSource: 'FIRST_PARTY', hashedEmail: email });
    if (phone !== undefined) userIdentifiers.push({ userIdentifierSource: 'FIRST_PARTY', hashedPhoneNumber: phone });
  }
  return {
    ...click,
    conversionAction: `customers/${settings['customer_id']}/conversionActions/${action}`,
    conversionDateTime: uploadTime(conversion.timeMs),
    conversionValue: value,
    currencyCode: value === undefined ? undefined : conversion.currency,
    orderId: conversion.eventId,
    userIdentifiers: userIdentifiers.length > 0 ? userIdentifiers : undefined,
    consent: conversion.consent === 'granted' ? { adUserData: 'GRANTED' } : undefined,
  };
}

/** As in `2026-03-01 10:15:30+00:00`. */
function uploadTime(timeMs: number): string {
  const iso = new Date(timeMs).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}+00:00`;
}
