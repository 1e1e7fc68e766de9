import { hash } from 'node:crypto';
import { hashPersonal } from '../../src/conversions/hash-personal.js';
import { withoutPerson } from '../../src/delivery/payload/withholding.js';
import type { Conversion, Visit } from '../../src/platforms/conversion.js';
import { PAYLOAD_VERSION } from '../../src/platforms/payload-version.js';
import type { Connection, Platform, Settings } from '../../src/platforms/platform.js';

const TIME_MS = Date.parse('2026-03-01T10:15:30Z');
const CLICK_MS = Date.parse('2026-03-01T09:56:40Z');

const click = (id: string) => ({ id, timeMs: CLICK_MS });

/** A visit with a click id of every kind; each platform may receive only its own. */
const VISIT: Visit = {
  pageUrl: 'https://shop.example/thanks',
  referrer: 'https://www.google.com/',
  ip: '203.0.113.10',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
  visitorId: '5f0c7c1e-8f0a-4a5e-9d3b-0c9a4b1d2e3f',
  clicks: {
    gclid: click('Gclid_AbC-123'),
    fbclid: click('IwAR0FbClid_xYz'),
    ttclid: click('E.C.P.TtClid_1'),
    msclkid: click('00112233445566778899aabbccddeeff'),
    twclid: click('TwClid_Abc'),
    li_fat_id: click('1b2c3d4e-0000-4000-8000-abcdefabcdef'),
    sccid: click('ScCid_AbC'),
    rdt_cid: click('RdtCid_123'),
    epik: click('dj0yJnU9Epik'),
  },
  cookies: {
    _fbp: 'fb.1.1772350000000.1234567890',
    _ttp: 'TtpCookie1',
    _ga: '123456.7654321',
    _ga_session: '1772359000',
    _uetvid: 'a1b2c3d4e5f60718293a4b5c6d7e8f90',
    _scid: '0f1e2d3c-scid',
    _rdt_uuid: '1677712978045.b8f7eb7d-b357-437b-8bd3-e1c8166c7132',
  },
  utm: { source: 'google', medium: 'cpc', campaign: 'spring', term: 'shoes', content: 'ad1' },
};

const PURCHASE: Conversion = {
  id: '019535d0-6b10-7000-8000-000000001001',
  eventId: 'ORD-1001',
  event: 'purchase',
  value: 129.9,
  currency: 'EUR',
  orderId: 'ORD-1001',
  timeMs: TIME_MS,
  hashes: hashPersonal({ email: 'jane.doe@example.com', event: 'purchase', currency: 'EUR' }),
  consent: 'unknown',
  payloadVersion: PAYLOAD_VERSION,
};

const person = (firstName: string, lastName: string) =>
  hashPersonal({
    email: 'john.doe+news@gmail.com',
    phone: '+1 (555) 010-4477',
    firstName,
    lastName,
    event: 'purchase',
    currency: 'EUR',
  });

/** All optional fields that a sender can add. */
const DETAILS: Partial<Conversion> = {
  source: 'website',
  items: [
    { id: 'SKU-1', name: 'Running shoe', quantity: 2, price: 49.95, category: 'Shoes > Running' },
    { id: 'SKU-2', price: 30 },
    { id: 'SKU-3' },
  ],
  externalId: 'Customer-42',
  address: { city: 'Los Angeles', region: 'CA', postalCode: '90001', country: 'US' },
};

/** What a shop without the tag can state about the customer's browser. */
const STATED_VISIT: Visit = {
  pageUrl: 'https://shop.example/thanks',
  referrer: 'https://shop.example/checkout',
  ip: '203.0.113.10',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
  clicks: { fbclid: click('IwAR0FbClid_xYz') },
  cookies: VISIT.cookies,
  utm: { source: 'newsletter', medium: 'email', campaign: 'spring' },
};

const CUSTOM: Conversion['custom'] = {
  ...{ profit: 30.5, tax: 20.74, shipping: 4.9, coupon: 'SPRING', brand: 'Acme', customer_type: 'new' },
  gift: true,
};

/** Hashed by the sender, whose form of them is not known. */
const HASHED = Object.fromEntries(
  ['phone', 'phoneDigits', 'firstName', 'lastName', 'city', 'region', 'postalCode', 'country'].map((name) => [
    name,
    // Two letters, because the hash of any other country matches no one.
    hash('sha256', name === 'country' ? 'de' : name.replace('Digits', '')),
  ]),
);

/** All presets that a platform has, as its setting; undefined if it has none. */
export function presetsOf({ fields }: Pick<Platform, 'fields'>): string | undefined {
  const presets = fields.find(({ name }) => name === 'presets');
  return (
    presets &&
    Object.keys(CUSTOM ?? {})
      .filter((key) => presets.check?.(key) === undefined)
      .join()
  );
}

/** Custom fields that the connection accepts, each filled from `custom`. */
export function customSettingsOf({ check }: Pick<Platform, 'check'>, connection: Connection): Settings {
  const fields = { coupon: 'coupon', gift: 'gift', 'order.profit': 'profit', profit: 'profit', content_brand: 'brand' };
  const settings = Object.entries(fields).map(([name, key]) => [`field.${name}`, `custom.${key}`] as const);
  const isAccepted = (name: string, source: string) =>
    check?.({ ...connection, settings: { ...connection.settings, [name]: source } }) === undefined;
  return Object.fromEntries(settings.filter(([name, source]) => isAccepted(name, source)));
}

/** With the event id that a platform gets: where it does not deduplicate its pixel's events, that of the order. */
export function sentTo({ deduplicatesPixel }: Pick<Platform, 'deduplicatesPixel'>, conversion: Conversion): Conversion {
  return deduplicatesPixel ? conversion : { ...conversion, eventId: conversion.orderId ?? conversion.id };
}

/** What leaves without consent of a site that withholds everything personal, at platforms that take it. */
export const ANONYMOUS: Conversion = withoutPerson({
  ...{ ...PURCHASE, ...DETAILS, visit: VISIT, custom: CUSTOM, consent: 'denied' },
  sentConsent: { ad_storage: 'denied', ad_user_data: 'denied' },
});

/** The conversions of the golden fixtures of every platform. */
export const SAMPLE_CONVERSIONS = {
  'with-click-id': { ...PURCHASE, visit: VISIT, consent: 'granted' },
  'without-click-id': { ...PURCHASE, visit: { ...VISIT, clicks: {}, cookies: { _ga: '123456.7654321' } } },
  'hashed-only': PURCHASE,
  'consent-denied': { ...PURCHASE, consent: 'denied' },
  'phone-and-name': { ...PURCHASE, hashes: person('Mary-Jane', "O'Neil Smith") },
  'non-ascii-name': { ...PURCHASE, hashes: person('Raphaël', 'Žižek 王') },
  yen: { ...PURCHASE, value: 1000, currency: 'JPY' },
  dinar: { ...PURCHASE, value: 1.5, currency: 'KWD' },
  'lead-without-value': { ...PURCHASE, event: 'lead', value: undefined, orderId: undefined, eventId: PURCHASE.id },
  signup: { ...PURCHASE, event: 'signup', value: undefined },
  'own-event': { ...PURCHASE, event: 'Booked a demo' },
  'with-details': { ...PURCHASE, visit: VISIT, consent: 'granted', hashes: person('Mary-Jane', 'Smith'), ...DETAILS },
  'in-store': { ...PURCHASE, hashes: person('Mary-Jane', 'Smith'), source: 'physical_store' },
  'from-app': { ...PURCHASE, visit: { ...VISIT, pageUrl: undefined }, source: 'app' },
  'from-crm': { ...PURCHASE, event: 'lead', hashes: person('Mary-Jane', 'Smith'), source: 'crm' },
  'server-only': {
    ...{ ...PURCHASE, ...DETAILS, eventId: 'pixel-event-42', consent: 'granted' },
    ...{ visit: STATED_VISIT, custom: CUSTOM },
  },
  'crm-lead': {
    ...{ ...PURCHASE, event: 'lead', value: undefined, orderId: undefined, eventId: PURCHASE.id, source: 'crm' },
    clickIds: { lead_id: '1234567890123456', ctwa_clid: 'AfCtwaClid_x1' },
  },
  'hashed-fields': { ...PURCHASE, hashes: { ...PURCHASE.hashes, ...HASHED } },
  'without-email': {
    ...{ ...PURCHASE, visit: VISIT, consent: 'granted' },
    hashes: { subject: '', phone: hash('sha256', '+15550104477'), phoneDigits: hash('sha256', '15550104477') },
  },
  'stated-consent': {
    ...{ ...PURCHASE, visit: VISIT, personalization: 'granted' },
    sentConsent: { ad_storage: 'granted', ad_user_data: 'granted', ad_personalization: 'granted' },
  },
  'personalization-denied': {
    ...{ ...PURCHASE, visit: VISIT, consent: 'granted', personalization: 'denied' },
    sentConsent: { ad_user_data: 'granted', ad_personalization: 'denied', analytics_storage: 'granted' },
  },
  'by-ip-address': { ...PURCHASE, visit: { ip: '203.0.113.10', clicks: {}, cookies: {}, utm: {} } },
  'by-phone': { ...PURCHASE, hashes: person('Mary-Jane', 'Smith'), ...DETAILS, source: 'phone_call' },
} as const satisfies Record<string, Conversion>;
