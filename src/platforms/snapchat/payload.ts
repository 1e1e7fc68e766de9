import type { Conversion } from '../conversion.js';
import { mappedEvent } from '../event-mapping.js';
import { customData, isLimited, userData, withoutQuery } from '../payload-fields.js';
import type { Payload, Settings, Skip } from '../platform.js';

/** Snapchat accepts only its own event names and has none for a lead: SIGN_UP is the closest. */
const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'PURCHASE'],
  ['lead', 'SIGN_UP'],
  ['signup', 'SIGN_UP'],
]);

/** Limited data use, Snapchat's opt-out flag. */
const LIMITED_DATA_USE = ['LDU'];

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const name = mappedEvent(settings, conversion.event) ?? EVENT_NAMES.get(conversion.event);
  if (name === undefined) return { skip: 'event_not_mapped' };
  if (name === 'PURCHASE' && conversion.value === undefined) return { skip: 'value_required' };

  const user = userDataOf(conversion);
  if (!isIdentified(user)) return { skip: 'no_identifier' };

  const page = withoutQuery(conversion.visit?.pageUrl);
  return {
    item: {
      event_name: name,
      event_time: Math.floor(conversion.timeMs / 1_000),
      event_id: conversion.eventId,
      // Snapchat requires a page URL for a web event.
      action_source: page === undefined ? 'OFFLINE' : 'WEB',
      event_source_url: page,
      user_data: user,
      custom_data: customData(conversion, settings),
      data_processing_options: isLimited(conversion, settings) ? LIMITED_DATA_USE : undefined,
    },
  };
}

type UserData = ReturnType<typeof userDataOf>;

function userDataOf(conversion: Conversion) {
  const { visit } = conversion;
  return {
    ...userData(conversion, 'firstNameUnpunctuated', 'lastNameUnpunctuated'),
    sc_click_id: visit?.clicks.sccid?.id || undefined,
    sc_cookie1: visit?.cookies._scid || undefined,
  };
}

/** A click id or a cookie improves a match, but does not suffice for one. */
function isIdentified({ em, ph, client_ip_address, client_user_agent }: UserData): boolean {
  return Boolean(em || ph || (client_ip_address && client_user_agent));
}
