import type { Conversion } from '../conversion.js';
import { customFields, mappedEvent } from '../event-mapping.js';
import { pageAddress } from '../page-address.js';
import { spelling } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';

/** Standard events; any other name is a custom event of the advertiser's. */
const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'CompletePayment'],
  ['lead', 'SubmitForm'],
  ['signup', 'CompleteRegistration'],
]);

/** The group is the CRM event set that an event goes to; one without a group goes to the pixel. */
export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const user = userData(conversion);
  if (!isIdentified(user)) return { skip: 'no_identifier' };

  const page = pageAddress(conversion.visit?.pageUrl);
  const item = {
    event: mappedEvent(settings, conversion.event) ?? EVENT_NAMES.get(conversion.event) ?? conversion.event,
    event_time: Math.floor(conversion.timeMs / 1_000),
    event_id: conversion.eventId,
    user,
    properties: properties(conversion, settings),
    page: page === undefined ? undefined : { url: page },
    limited_data_use: conversion.consent === 'denied' ? true : undefined,
  };
  const { crm_event_set_id } = settings;
  return conversion.visit || crm_event_set_id === undefined ? { item } : { item, group: crm_event_set_id };
}

type UserData = ReturnType<typeof userData>;

function userData({ hashes, visit }: Conversion) {
  return {
    ttclid: visit?.clicks.ttclid?.id || undefined,
    ttp: visit?.cookies._ttp || undefined,
    email: hashes.subject || undefined,
    phone: hashes.phone || undefined,
    first_name: spelling(hashes, 'firstNameJoined') || undefined,
    last_name: spelling(hashes, 'lastNameJoined') || undefined,
    ip: visit?.ip || undefined,
    user_agent: visit?.userAgent || undefined,
  };
}

/** Names alone, an address alone or a browser alone do not tell who it was. */
function isIdentified({ ttclid, ttp, email, phone, ip, user_agent }: UserData): boolean {
  return Boolean(ttclid || ttp || email || phone || (ip && user_agent));
}

function properties(conversion: Conversion, settings: Settings): object | undefined {
  const { value, currency, orderId } = conversion;
  const hasAmount = value !== undefined && isTaken(currency, settings);
  const data = {
    value: hasAmount ? value : undefined,
    currency: hasAmount ? currency : undefined,
    order_id: orderId,
    ...customFields(settings, conversion),
  };
  return Object.values(data).some((entry) => entry !== undefined) ? data : undefined;
}

/** Codes are all of three letters, so that none can be found across a comma. */
function isTaken(currency: string, { currencies }: Settings): boolean {
  return currencies === undefined || currencies.includes(currency);
}
