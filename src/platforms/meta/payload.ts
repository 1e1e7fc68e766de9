import type { Click, Conversion } from '../conversion.js';
import { mappedEvent } from '../event-mapping.js';
import { customData, isLimited, userData, withoutQuery } from '../payload-fields.js';
import type { Payload, Settings, Skip } from '../platform.js';

/** Standard events; any other name is a custom event. */
const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'Purchase'],
  ['lead', 'Lead'],
  ['signup', 'CompleteRegistration'],
]);

/** Meta rejects older click ids. */
const CLICK_AGE_MAX_MS = 90 * 24 * 60 * 60 * 1_000;

/** Limited data use, Meta's opt-out flag. Country and state 0 let Meta determine the location. */
function limitedDataUse({ data_processing_country = '0', data_processing_state = '0' }: Settings) {
  return {
    data_processing_options: ['LDU'],
    data_processing_options_country: Number(data_processing_country),
    data_processing_options_state: Number(data_processing_state),
  };
}

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const name = mappedEvent(settings, conversion.event) ?? EVENT_NAMES.get(conversion.event) ?? conversion.event;
  if (name === 'Purchase' && conversion.value === undefined) return { skip: 'value_required' };

  const user = userDataOf(conversion);
  if (!isIdentified(user)) return { skip: 'no_identifier' };

  const page = withoutQuery(conversion.visit?.pageUrl);
  // Meta requires a page URL and a user agent for a website event.
  const isWebsite = page !== undefined && user.client_user_agent !== undefined;
  return {
    item: {
      event_name: name,
      event_time: Math.floor(conversion.timeMs / 1_000),
      event_id: conversion.eventId,
      action_source: isWebsite ? 'website' : 'system_generated',
      event_source_url: isWebsite ? page : undefined,
      user_data: user,
      custom_data: customData(conversion, settings),
      ...(isLimited(conversion, settings) && limitedDataUse(settings)),
    },
  };
}

type UserData = ReturnType<typeof userDataOf>;

function userDataOf(conversion: Conversion) {
  const { visit, timeMs } = conversion;
  return {
    ...userData(conversion, 'firstNameBare', 'lastNameBare'),
    fbc: clickCookie(visit?.clicks.fbclid, timeMs),
    fbp: visit?.cookies._fbp || undefined,
  };
}

/** A name, an IP address or a user agent alone does not identify a person. */
function isIdentified({ em, ph, fbc, fbp, client_ip_address, client_user_agent }: UserData): boolean {
  return Boolean(em || ph || fbc || fbp || (client_ip_address && client_user_agent));
}

/** A click in the format of Meta's cookie `_fbc`; the 1 means a cookie of the site's domain. */
function clickCookie(click: Click | undefined, nowMs: number): string | undefined {
  if (!click?.id || nowMs - click.timeMs > CLICK_AGE_MAX_MS) return undefined;
  return `fb.1.${click.timeMs}.${click.id}`;
}
