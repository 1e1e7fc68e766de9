import type { Click, Conversion, ConversionSource, Item } from '../conversion.js';
import { externalIdHash, latinOf, sha256Of } from '../customer-hashes.js';
import { mappedEvent } from '../event-mapping.js';
import { contentFields, quantityOf } from '../items.js';
import { customData, isLimited, userData, withoutQuery } from '../payload-fields.js';
import { BY_SOURCE_VERSION } from '../payload-version.js';
import { listOf } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';
import { LEAD_EVENT_SOURCE } from './settings.js';

/** Standard events; any other name is a custom event. */
export const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'Purchase'],
  ['lead', 'Lead'],
  ['signup', 'CompleteRegistration'],
]);

/**
 * Meta requires a page URL and a user agent for a website event, which is `system_generated` without them, and data about the
 * device for an app event, which is always `other`.
 */
const ACTION_SOURCES: Readonly<Record<ConversionSource, string>> = {
  website: 'system_generated',
  phone_call: 'phone_call',
  physical_store: 'physical_store',
  email: 'email',
  app: 'other',
  crm: 'system_generated',
  other: 'other',
};

const LEAD_ID = /^\d{15,17}$/;

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

  const { source = user.lead_id === undefined ? 'website' : 'crm' } = conversion;
  const contents = contentsOf(conversion);
  const page = withoutQuery(conversion.visit?.pageUrl);
  const isWebsite = source === 'website' && page !== undefined && user.client_user_agent !== undefined;
  return {
    item: {
      event_name: name,
      event_time: Math.floor(conversion.timeMs / 1_000),
      event_id: conversion.eventId,
      action_source: isWebsite ? 'website' : ACTION_SOURCES[source],
      event_source_url: isWebsite ? page : undefined,
      user_data: user,
      custom_data: customData(
        conversion,
        settings,
        source === 'crm' ? { ...contents, ...crmFields(conversion, settings) } : contents,
      ),
      ...(isLimited(conversion, settings) && limitedDataUse(settings)),
    },
  };
}

type UserData = ReturnType<typeof userDataOf>;

/** Without spreads, which took a fifth of the time to build a payload. */
function userDataOf(conversion: Conversion) {
  const { visit, timeMs, externalId } = conversion;
  const user = userData(conversion, 'firstNameBare', 'lastNameBare');
  const address = addressHashes(conversion);
  return {
    em: user.em,
    ph: user.ph,
    fn: user.fn,
    ln: user.ln,
    client_ip_address: user.client_ip_address,
    client_user_agent: user.client_user_agent,
    ct: address.ct,
    st: address.st,
    zp: address.zp,
    country: address.country,
    external_id: listOf(externalIdHash(externalId, (id) => id.replace(/\s+/g, '').toLowerCase())),
    fbc: clickCookie(visit?.clicks.fbclid, timeMs),
    fbp: visit?.cookies._fbp || undefined,
    lead_id: leadIdOf(conversion),
    ctwa_clid: conversion.clickIds?.ctwa_clid || undefined,
  };
}

/** The id of a lead of Meta's own forms. */
function leadIdOf({ clickIds }: Conversion): string | undefined {
  const { lead_id: id = '' } = clickIds ?? {};
  return LEAD_ID.test(id) ? id : undefined;
}

/** What Meta requires of the stages of a lead. Before, conversions of a CRM did not have it, unless they have its lead id. */
function crmFields(
  { payloadVersion, clickIds }: Conversion,
  { lead_event_source = LEAD_EVENT_SOURCE }: Settings,
): object {
  if (payloadVersion < BY_SOURCE_VERSION && clickIds?.lead_id === undefined) return {};
  return { event_source: 'crm', lead_event_source };
}

/** A name, an address, an IP address or a user agent alone does not identify a person. */
function isIdentified(user: UserData): boolean {
  const { em, ph, external_id, fbc, fbp, lead_id, ctwa_clid, client_ip_address, client_user_agent } = user;
  if (em || ph || external_id || fbc || fbp || lead_id || ctwa_clid) return true;
  return Boolean(client_ip_address && client_user_agent);
}

function addressHashes({ address: { city, region, postalCode, country } = {}, hashes }: Conversion) {
  return {
    ct: listOf(sha256Of(latinOf(city)) ?? hashes.city),
    st: listOf(sha256Of(latinOf(region)) ?? hashes.region),
    zp: listOf(sha256Of(postalCodeOf(postalCode)) ?? hashes.postalCode),
    country: listOf(sha256Of(country?.toLowerCase()) ?? hashes.country),
  };
}

/** Without spaces, and without what follows a dash: the ZIP+4 of the United States. */
function postalCodeOf(postalCode: string | undefined): string | undefined {
  const [code = ''] = postalCode?.replace(/\s+/g, '').toLowerCase().split('-') ?? [];
  return code.length > 1 ? code : undefined;
}

function contentsOf(conversion: Conversion): object {
  const contents = contentFields(conversion, contentOf);
  return 'contents' in contents ? { content_type: 'product', ...contents } : contents;
}

function contentOf(item: Item): object {
  return {
    id: item.id,
    quantity: quantityOf(item),
    item_price: item.price,
    title: item.name,
    category: item.category,
  };
}

/** A click in the format of Meta's cookie `_fbc`; the 1 means a cookie of the site's domain. */
function clickCookie(click: Click | undefined, nowMs: number): string | undefined {
  if (!click?.id || nowMs - click.timeMs > CLICK_AGE_MAX_MS) return undefined;
  return `fb.1.${click.timeMs}.${click.id}`;
}
