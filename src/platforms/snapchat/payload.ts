import type { Conversion } from '../conversion.js';
import { customData } from '../custom-data.js';
import { mappedEvent } from '../event-mapping.js';
import { pageAddress } from '../page-address.js';
import { listOf, spelling } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';

/** Snapchat takes the names on its own list only, and has none for a lead: a sign-up is the nearest. */
const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'PURCHASE'],
  ['lead', 'SIGN_UP'],
  ['signup', 'SIGN_UP'],
]);

/** Limited data use: what Snapchat has for people who opted out. */
const LIMITED_DATA_USE = ['LDU'];

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const name = mappedEvent(settings, conversion.event) ?? EVENT_NAMES.get(conversion.event);
  if (name === undefined) return { skip: 'event_not_mapped' };
  if (name === 'PURCHASE' && conversion.value === undefined) return { skip: 'value_required' };

  const user = userData(conversion);
  if (!isIdentified(user)) return { skip: 'no_identifier' };

  const page = pageAddress(conversion.visit?.pageUrl);
  return {
    item: {
      event_name: name,
      event_time: Math.floor(conversion.timeMs / 1_000),
      event_id: conversion.eventId,
      // A web event must name its page.
      action_source: page === undefined ? 'OFFLINE' : 'WEB',
      event_source_url: page,
      user_data: user,
      custom_data: customData(conversion, settings),
      data_processing_options: conversion.consent === 'denied' ? LIMITED_DATA_USE : undefined,
    },
  };
}

type UserData = ReturnType<typeof userData>;

function userData({ hashes, visit }: Conversion) {
  return {
    em: listOf(hashes.subject),
    ph: listOf(hashes.phoneDigits),
    fn: listOf(spelling(hashes, 'firstNameUnpunctuated')),
    ln: listOf(spelling(hashes, 'lastNameUnpunctuated')),
    client_ip_address: visit?.ip || undefined,
    client_user_agent: visit?.userAgent || undefined,
    sc_click_id: visit?.clicks.sccid?.id || undefined,
    sc_cookie1: visit?.cookies._scid || undefined,
  };
}

/** A click or a cookie makes a match better, but is not enough for one. */
function isIdentified({ em, ph, client_ip_address, client_user_agent }: UserData): boolean {
  return Boolean(em || ph || (client_ip_address && client_user_agent));
}
