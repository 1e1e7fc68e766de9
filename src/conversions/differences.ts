import { isDeepStrictEqual } from 'node:util';
import type { ConversionData, ConversionPersonal } from '../events/conversion.events.js';
import type { StoredOpening } from './conversion.js';

/** Fields of the request, with the stored field to compare. One hash of a value is enough to compare it. */
const DATA_FIELDS = {
  value: 'value',
  currency: 'currency',
  orderId: 'orderId',
  eventId: 'eventId',
  occurredAt: 'occurredAt',
  source: 'source',
  items: 'items',
  consent: 'sentConsent',
} as const;
const PERSONAL_FIELDS = {
  email: 'subject',
  firstName: 'firstName',
  lastName: 'lastName',
  phone: 'phone',
  externalId: 'externalId',
  clickIds: 'clickIds',
  ipAddress: 'ipAddress',
  userAgent: 'userAgent',
  pageUrl: 'pageUrl',
  referrer: 'referrer',
  cookies: 'cookies',
  utm: 'utm',
  custom: 'custom',
} as const;
const ADDRESS_FIELDS = ['city', 'region', 'postalCode', 'country'] as const;

/**
 * Names of the fields in which a duplicate differs from the first conversion, so that a changed amount is visible. Personal
 * fields are not compared when the first one's personal part was erased.
 */
export function differences(
  first: StoredOpening | undefined,
  data: ConversionData,
  personal: ConversionPersonal,
): string[] {
  if (!first) return [];
  const differs: string[] = [];
  for (const [name, field] of Object.entries(PERSONAL_FIELDS)) {
    if (first.personal && !isDeepStrictEqual(first.personal[field], personal[field])) differs.push(name);
  }
  for (const name of ADDRESS_FIELDS) {
    if (first.personal && addressPart(first.personal, name) !== addressPart(personal, name)) differs.push(name);
  }
  for (const [name, field] of Object.entries(DATA_FIELDS)) {
    if (!isDeepStrictEqual(first.data[field], data[field])) differs.push(name);
  }
  return differs;
}

function addressPart(personal: ConversionPersonal, name: (typeof ADDRESS_FIELDS)[number]): string | undefined {
  return personal.address?.[name] ?? personal[name];
}
