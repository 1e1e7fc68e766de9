import type { Click, Conversion } from '../conversion.js';
import { customData } from '../custom-data.js';
import { mappedEvent } from '../event-mapping.js';
import { pageAddress } from '../page-address.js';
import { listOf, spelling } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';

/** Standard events; any other name is a custom event of the advertiser's. */
const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'Purchase'],
  ['lead', 'Lead'],
  ['signup', 'CompleteRegistration'],
]);

/** Meta refuses older click ids. */
const CLICK_AGE_MAX_MS = 90 * 24 * 60 * 60 * 1_000;

/** Limited data use, with the person's place left to Meta (0, 0): what it has for people who opted out. */
const LIMITED_DATA_USE = {
  data_processing_options: ['LDU'],
  data_processing_options_country: 0,
  data_processing_options_state: 0,
};

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const name = mappedEvent(settings, conversion.event) ?? EVENT_NAMES.get(conversion.event) ?? conversion.event;
  if (name === 'Purchase' && conversion.value === undefined) return { skip: 'value_required' };

  const user = userData(conversion);
  if (!isIdentified(user)) return { skip: 'no_identifier' };

  const page = pageAddress(conversion.visit?.pageUrl);
  // A website event must name its page and its browser.
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
      ...(conversion.consent === 'denied' && LIMITED_DATA_USE),
    },
  };
}

type UserData = ReturnType<typeof userData>;

function userData({ hashes, visit, timeMs }: Conversion) {
  return {
    em: listOf(hashes.subject),
    ph: listOf(hashes.phoneDigits),
    fn: listOf(spelling(hashes, 'firstNameBare')),
    ln: listOf(spelling(hashes, 'lastNameBare')),
    client_ip_address: visit?.ip || undefined,
    client_user_agent: visit?.userAgent || undefined,
    fbc: clickCookie(visit?.clicks.fbclid, timeMs),
    fbp: visit?.cookies._fbp || undefined,
  };
}

/** Names alone, an address alone or a browser alone do not tell who it was. */
function isIdentified({ em, ph, fbc, fbp, client_ip_address, client_user_agent }: UserData): boolean {
  return Boolean(em || ph || fbc || fbp || (client_ip_address && client_user_agent));
}

/** As Meta's own cookie `_fbc` spells a click; 1 stands for a cookie of the site's domain. */
function clickCookie(click: Click | undefined, nowMs: number): string | undefined {
  if (!click?.id || nowMs - click.timeMs > CLICK_AGE_MAX_MS) return undefined;
  return `fb.1.${click.timeMs}.${click.id}`;
}
