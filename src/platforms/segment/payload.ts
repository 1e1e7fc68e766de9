import { hash } from 'node:crypto';
import { CONSENT_FIELDS, type Conversion, type Item, type SentConsent, type Visit } from '../conversion.js';
import { customObject, mappedEvent } from '../event-mapping.js';
import { externalIdOf } from '../external-id.js';
import { withholdsPersonal, withoutQuery } from '../payload-fields.js';
import type { Payload, Settings, Skip } from '../platform.js';

export const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['purchase', 'Order Completed'],
  ['signup', 'Signed Up'],
]);

/** Segment silently drops a message of more than 32 kB; the rest of a message is much smaller than what this leaves. */
const PRODUCTS_MAX_BYTES = 20_000;
/** A message with more is sent alone: a batch of `batchMax` such messages would be larger than Segment accepts. */
const BATCHED_PRODUCTS_MAX_BYTES = 2_500;

const LIBRARY = { name: 'clean-conversions', version: '1' };

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const { event, value } = conversion;
  // Segment forwards to other platforms, and may not be set up to enforce consent.
  const isAnonymous = withholdsPersonal(conversion);
  if (isAnonymous && settings['when_denied'] === 'skip') return { skip: 'consent_denied' };
  const visit = isAnonymous ? undefined : conversion.visit;
  const user = isAnonymous ? undefined : userId(conversion, settings);
  const anonymousId = isAnonymous ? conversion.id : visit?.visitorId || undefined;
  if (user === undefined && anonymousId === undefined) return { skip: 'no_identifier' };
  const products = productsOf(conversion.items);
  return {
    ...(products && bytesOf(products) > BATCHED_PRODUCTS_MAX_BYTES && { group: conversion.id }),
    item: {
      type: 'track',
      messageId: messageId(conversion),
      userId: user,
      anonymousId,
      event: mappedEvent(settings, event) ?? EVENT_NAMES.get(event) ?? event,
      timestamp: new Date(conversion.timeMs).toISOString(),
      properties: {
        ...customObject(settings, conversion),
        order_id: conversion.orderId,
        revenue: event === 'purchase' ? value : undefined,
        value,
        currency: value === undefined && products === undefined ? undefined : conversion.currency,
        ...(products && { products }),
        ...(conversion.source && { source: conversion.source }),
      },
      context: { ...(visit && contextOf(visit)), library: LIBRARY, ...consentOf(conversion) },
    },
  };
}

function userId(conversion: Conversion, settings: Settings): string | undefined {
  const externalId = settings['external_id'] === 'user_id' ? externalIdOf(conversion) : undefined;
  return externalId ?? (conversion.hashes.subject || undefined);
}

/** Under the names of Segment's e-commerce events. Names and categories are left out of a list that is too long with them. */
function productsOf(items: readonly Item[] | undefined): object[] | undefined {
  if (items === undefined) return undefined;
  const products = items.map(({ id, name, quantity, price, category }) => ({
    product_id: id,
    name,
    quantity,
    price,
    category,
  }));
  if (bytesOf(products) <= PRODUCTS_MAX_BYTES) return products;
  const short = products.map(({ product_id, quantity, price }) => ({ product_id, quantity, price }));
  return bytesOf(short) <= PRODUCTS_MAX_BYTES ? short : undefined;
}

function bytesOf(products: readonly object[]): number {
  return Buffer.byteLength(JSON.stringify(products));
}

/**
 * Segment deduplicates by it across all of its customers, so an order id alone could collide with another customer's.
 * The event id is included because an operator's deliberate resend has a new one.
 */
function messageId({ id, eventId }: Conversion): string {
  return `cc-${id}-${hash('sha256', eventId).slice(0, 16)}`;
}

function contextOf(visit: Visit): object {
  return {
    ip: visit.ip || undefined,
    userAgent: visit.userAgent || undefined,
    page: pageOf(visit),
    campaign: campaignOf(visit.utm),
  };
}

/**
 * For Segment's consent management: its categories are named as the fields. Absent where the conversion has no consent of its own.
 */
function consentOf({ consent, sentConsent, isAnonymous }: Conversion): object | undefined {
  const isDenied = consent === 'denied';
  if (!sentConsent && !(isAnonymous && isDenied)) return undefined;
  const fields = { ...sentConsent, ...(isDenied && DENIED) };
  const stated = CONSENT_FIELDS.filter((field) => fields[field] !== undefined);
  return {
    consent: { categoryPreferences: Object.fromEntries(stated.map((field) => [field, fields[field] === 'granted'])) },
  };
}

const DENIED: SentConsent = { ad_storage: 'denied', ad_user_data: 'denied', ad_personalization: 'denied' };

function pageOf(visit: Visit): object | undefined {
  const url = withoutQuery(visit.pageUrl);
  const referrer = withoutQuery(visit.referrer);
  return url === undefined && referrer === undefined ? undefined : { url, referrer };
}

/** Segment's name for `utm_campaign` is `name`; the other fields keep their names. */
function campaignOf({ campaign, ...others }: Visit['utm']): object | undefined {
  const fields = campaign ? { name: campaign, ...others } : others;
  return Object.keys(fields).length === 0 ? undefined : fields;
}
