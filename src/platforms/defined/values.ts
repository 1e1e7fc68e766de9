import { derivedUuid } from '../../kernel/uuid.js';
import type { Conversion, Visit } from '../conversion.js';
import { externalIdHash } from '../customer-hashes.js';
import { customObject } from '../event-mapping.js';
import { externalIdOf } from '../external-id.js';
import { hasAmount, unitsIn } from '../items.js';
import { amountText, withoutQuery } from '../payload-fields.js';
import { digestOf, type PersonalHashes } from '../personal-hashes.js';
import type { Settings } from '../platform.js';

const HASHES = {
  email: 'subject',
  email_google: 'emailGoogle',
  email_bare: 'emailBare',
  phone: 'phone',
  phone_digits: 'phoneDigits',
  first_name: 'firstName',
  first_name_bare: 'firstNameBare',
  first_name_joined: 'firstNameJoined',
  first_name_unpunctuated: 'firstNameUnpunctuated',
  last_name: 'lastName',
  last_name_bare: 'lastNameBare',
  last_name_joined: 'lastNameJoined',
  last_name_unpunctuated: 'lastNameUnpunctuated',
} as const satisfies Record<string, keyof PersonalHashes>;

const ITEM = ['id', 'name', 'quantity', 'price', 'category'];
/** What expressions can read. A list: its parts. An empty one: whatever the sender or the browser named. Undefined: the value itself. */
const NAMES: Readonly<Record<string, readonly string[] | undefined>> = {
  ...Object.fromEntries(
    'event own_event event_id event_uuid conversion_id order_id value amount currency source item_count external_id external_id_hash consent personalization'
      .split(' ')
      .map((name) => [name, undefined]),
  ),
  time: ['iso', 'seconds', 'milliseconds', 'microseconds'],
  hashes: Object.keys(HASHES),
  address: ['city', 'region', 'postal_code', 'country'],
  visit: ['page_url', 'referrer', 'ip', 'user_agent', 'visitor_id'],
  clicks: [],
  cookies: [],
  utm: [],
  custom: [],
  fields: [],
  items: [],
  stated_consent: ['ad_storage', 'ad_user_data', 'ad_personalization', 'analytics_storage'],
};

/** What is wrong with a pointer to a value of a conversion, or to a setting; undefined: nothing. */
export function checkValue(settings: readonly string[]) {
  return ([name = '', part]: readonly string[]): string | undefined => {
    if (name === 'settings')
      return part !== undefined && settings.includes(part)
        ? undefined
        : `/settings/${part ?? ''} is no setting of the definition that is not secret`;
    if (!Object.hasOwn(NAMES, name))
      return `/${name} is no value of a conversion. There are /${[...Object.keys(NAMES), 'settings'].join(', /')}`;
    const parts = NAMES[name];
    if (part === undefined || !parts || parts.length === 0 || parts.includes(part)) return undefined;
    return `/${name}/${part} is no value of a conversion. There are ${parts.map((each) => `/${name}/${each}`).join(', ')}`;
  };
}

export function checkElement(list: string, [name = '']: readonly string[]): string | undefined {
  return list !== '/items' || ITEM.includes(name) ? undefined : `An item has /${ITEM.join(', /')}`;
}

/** The conversion as expressions read it. `isAnonymous`: without everything personal. */
export function valuesOf(
  conversion: Conversion,
  settings: Settings,
  event: string,
  isAnonymous: boolean,
): Record<string, unknown> {
  const { value, currency, items, timeMs } = conversion;
  return {
    event,
    own_event: conversion.event,
    event_id: conversion.eventId,
    event_uuid: derivedUuid(`${conversion.event}\n${conversion.eventId}`),
    conversion_id: conversion.id,
    order_id: conversion.orderId,
    value,
    amount: value === undefined ? undefined : amountText(value, currency),
    currency: hasAmount(conversion) ? currency : undefined,
    time: {
      iso: new Date(timeMs).toISOString(),
      seconds: Math.floor(timeMs / 1_000),
      milliseconds: timeMs,
      microseconds: timeMs * 1_000,
    },
    source: conversion.source,
    items,
    item_count: items && unitsIn(items),
    consent: conversion.consent,
    personalization: conversion.personalization,
    stated_consent: conversion.sentConsent,
    settings,
    custom: conversion.custom,
    fields: customObject(settings, conversion),
    ...(!isAnonymous && personalValues(conversion)),
  };
}

function personalValues(conversion: Conversion): object {
  const { hashes, visit, address, consent } = conversion;
  const digests = Object.entries(HASHES).map(([name, form]) => [name, digestOf(hashes, form)]);
  const externalId = externalIdOf(conversion);
  const { city, region, postalCode, country } = address ?? {};
  return {
    external_id: externalId,
    external_id_hash: externalIdHash(externalId),
    hashes: Object.fromEntries(digests),
    address: consent === 'denied' ? { country } : { city, region, postal_code: postalCode, country },
    ...(visit && visitValues(visit)),
  };
}

function visitValues({ pageUrl, referrer, ip, userAgent, visitorId, clicks, cookies, utm }: Visit): object {
  return {
    visit: {
      page_url: withoutQuery(pageUrl),
      referrer: withoutQuery(referrer),
      ip,
      user_agent: userAgent,
      visitor_id: visitorId,
    },
    clicks: Object.fromEntries(Object.entries(clicks).map(([kind, { id }]) => [kind, id])),
    cookies,
    utm,
  };
}
