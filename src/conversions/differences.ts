import { type ConversionData } from '../events/conversion.events.js';
import type { PersonalHashes } from '../platforms/personal-hashes.js';
import type { StoredOpening } from './conversion.js';

/** Fields of the request, with the stored field to compare. One hash of a value is enough to compare it. */
const DATA_FIELDS = { value: 'value', currency: 'currency', orderId: 'orderId' } as const;
const PERSONAL_FIELDS = { email: 'subject', firstName: 'firstName', lastName: 'lastName', phone: 'phone' } as const;

/**
 * Names of the fields in which a duplicate differs from the first conversion, so that a changed amount is visible. Personal
 * fields are not compared when the first one's personal part was erased.
 */
export function differences(
  first: StoredOpening | undefined,
  data: ConversionData,
  personal: PersonalHashes,
): string[] {
  if (!first) return [];
  const differs: string[] = [];
  for (const [name, field] of Object.entries(PERSONAL_FIELDS)) {
    if (first.personal && first.personal[field] !== personal[field]) differs.push(name);
  }
  for (const [name, field] of Object.entries(DATA_FIELDS)) {
    if (first.data[field] !== data[field]) differs.push(name);
  }
  return differs;
}
