import type { Conversion } from '../conversion.js';
import { customFields, mappedActions, payloadFor } from '../event-mapping.js';
import { digestOf } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';
import { addressOf, cartData, eventSourceOf, uploadCartData, userProperties } from './details.js';
import { isUpload } from './settings.js';

/** The group of payloads for the legacy upload. The group of Data Manager payloads is the list of conversion actions. */
export const UPLOAD = 'upload';
export const ACTION_SEPARATOR = ',';

type ClickId = { readonly gclid: string } | { readonly gbraid: string } | { readonly wbraid: string };

/** What Google recognises the person by. */
export interface Identifiers {
  readonly click: ClickId | undefined;
  readonly email: string | undefined;
  readonly phone: string | undefined;
}

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const actions = mappedActions(settings, conversion.event);
  if (actions === undefined) return { skip: 'event_not_mapped' };
  // Google's policy: without consent to ad_user_data nothing may be sent, not even with consent denied.
  if (conversion.consent === 'denied') return { skip: 'consent_denied' };
  const identifiers = identifiersOf(conversion);
  const { click, email, phone } = identifiers;
  if (click === undefined && settings['require_click_id'] === 'yes') return { skip: 'no_click_identifier' };
  if (click === undefined && email === undefined && phone === undefined) return { skip: 'no_identifier' };
  return isUpload(settings)
    ? payloadFor(actions, (action) => clickConversion(conversion, action, identifiers, settings), UPLOAD)
    : // The Data Manager sends one event to all destinations of a request.
      { item: dataManagerEvent(conversion, identifiers, settings), group: actions.join(ACTION_SEPARATOR) };
}

export function identifiersOf(conversion: Conversion): Identifiers {
  const email = digestOf(conversion.hashes, 'emailGoogle') || undefined;
  return { click: clickOf(conversion), email, phone: conversion.hashes.phone };
}

/** Only one click id is sent, the most exact first. Google refuses two braids, and a braid adds nothing to a gclid. */
function clickOf({ visit }: Conversion): ClickId | undefined {
  if (visit === undefined) return undefined;
  const { gclid, gbraid, wbraid } = visit.clicks;
  if (gclid?.id) return { gclid: gclid.id };
  if (gbraid?.id) return { gbraid: gbraid.id };
  return wbraid?.id ? { wbraid: wbraid.id } : undefined;
}

/** Google accepts no cart data with gbraid and wbraid. */
function isBraid(click: ClickId | undefined): boolean {
  return click !== undefined && !('gclid' in click);
}

function dataManagerEvent(conversion: Conversion, identifiers: Identifiers, settings: Settings): object {
  const { value } = conversion;
  const cart = isBraid(identifiers.click) ? undefined : cartData(conversion, settings);
  const customVariables = Object.entries(customFields(settings, conversion)).map(([variable, content]) => ({
    variable,
    value: String(content),
  }));
  return {
    eventTimestamp: new Date(conversion.timeMs).toISOString(),
    transactionId: conversion.eventId,
    eventSource: eventSourceOf(conversion, settings),
    adIdentifiers: identifiers.click,
    userData: userDataOf(conversion, identifiers),
    consent: consentOf(conversion),
    conversionValue: value,
    currency: value === undefined && cart === undefined ? undefined : conversion.currency,
    userProperties: userProperties(conversion, settings),
    customVariables: customVariables.length > 0 ? customVariables : undefined,
    cartData: cart,
  };
}

export function userDataOf(conversion: Conversion, { email, phone }: Identifiers): object | undefined {
  const userIdentifiers: object[] = [];
  if (email !== undefined) userIdentifiers.push({ emailAddress: email });
  if (phone !== undefined) userIdentifiers.push({ phoneNumber: phone });
  const address = addressOf(conversion);
  if (address !== undefined) userIdentifiers.push({ address });
  return userIdentifiers.length > 0 ? { userIdentifiers } : undefined;
}

/** A visitor can grant one and decline the other. The upload accepts no adPersonalization. */
export function consentOf({ consent, personalization }: Conversion): object | undefined {
  if (consent !== 'granted' && personalization === undefined) return undefined;
  return {
    adUserData: consent === 'granted' ? 'CONSENT_GRANTED' : undefined,
    adPersonalization: personalization && (personalization === 'granted' ? 'CONSENT_GRANTED' : 'CONSENT_DENIED'),
  };
}

function clickConversion(
  conversion: Conversion,
  action: string,
  { click, email, phone }: Identifiers,
  settings: Settings,
): object {
  const { value } = conversion;
  const userIdentifiers: object[] = [];
  // Left out with a braid: whether Google accepts both is not confirmed, and the click id is the better match.
  if (!isBraid(click)) {
    if (email !== undefined) userIdentifiers.push({ userIdentifierSource: 'FIRST_PARTY', hashedEmail: email });
    if (phone !== undefined) userIdentifiers.push({ userIdentifierSource: 'FIRST_PARTY', hashedPhoneNumber: phone });
  }
  const cart = isBraid(click) ? undefined : uploadCartData(conversion, settings);
  return {
    ...click,
    conversionAction: actionName(action, settings),
    conversionDateTime: uploadTime(conversion.timeMs),
    conversionValue: value,
    currencyCode: value === undefined && cart === undefined ? undefined : conversion.currency,
    orderId: conversion.eventId,
    userIdentifiers: userIdentifiers.length > 0 ? userIdentifiers : undefined,
    consent: conversion.consent === 'granted' ? { adUserData: 'GRANTED' } : undefined,
    cartData: cart,
  };
}

export function actionName(action: string, settings: Settings): string {
  return `customers/${settings['customer_id']}/conversionActions/${action}`;
}

/** In the format `2026-03-01 10:15:30+00:00`. */
export function uploadTime(timeMs: number): string {
  const iso = new Date(timeMs).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}+00:00`;
}
