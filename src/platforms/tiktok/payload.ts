import type { Conversion } from '../conversion.js';
import { customObject, mappedEvent } from '../event-mapping.js';
import { isLimited, unlessEmpty, withoutQuery } from '../payload-fields.js';
import { digestOf } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';

/** Standard events; any other name is a custom event. */
const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'CompletePayment'],
  ['lead', 'SubmitForm'],
  ['signup', 'CompleteRegistration'],
]);

/** The group is the id of the CRM event set; events without a group are sent to the pixel. */
export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const user = userData(conversion);
  if (!isIdentified(user)) return { skip: 'no_identifier' };

  const page = withoutQuery(conversion.visit?.pageUrl);
  const item = {
    event: mappedEvent(settings, conversion.event) ?? EVENT_NAMES.get(conversion.event) ?? conversion.event,
    event_time: Math.floor(conversion.timeMs / 1_000),
    event_id: conversion.eventId,
    user,
    properties: properties(conversion, settings),
    page: page === undefined ? undefined : { url: page },
    limited_data_use: isLimited(conversion, settings) ? true : undefined,
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
    first_name: digestOf(hashes, 'firstNameJoined') || undefined,
    last_name: digestOf(hashes, 'lastNameJoined') || undefined,
    ip: visit?.ip || undefined,
    user_agent: visit?.userAgent || undefined,
  };
}

/** A name, an IP address or a user agent alone does not identify a person. */
function isIdentified({ ttclid, ttp, email, phone, ip, user_agent }: UserData): boolean {
  return Boolean(ttclid || ttp || email || phone || (ip && user_agent));
}

function properties(conversion: Conversion, settings: Settings): object | undefined {
  const { value, currency, orderId } = conversion;
  const hasAmount = value !== undefined && isAccepted(currency, settings);
  return unlessEmpty({
    value: hasAmount ? value : undefined,
    currency: hasAmount ? currency : undefined,
    order_id: orderId,
    ...customObject(settings, conversion),
  });
}

/** A substring search is safe: all codes have three letters, so none can match across a comma. */
function isAccepted(currency: string, { currencies }: Settings): boolean {
  return currencies === undefined || currencies.includes(currency);
}
