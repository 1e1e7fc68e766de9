import { type ConversionData } from '../events/conversion.events.js';
import type { PersonalHashes } from '../platforms/personal-hashes.js';
import type { StoredOpening } from './conversion.js';

/** A sender's field, and where to look whether two posts agree on it. Any spelling of a hash stands for the value. */
const DATA_FIELDS = { value: 'value', currency: 'currency', orderId: 'orderId' } as const;
const PERSONAL_FIELDS = { email: 'subject', firstName: 'firstName', lastName: 'lastName', phone: 'phone' } as const;

/**
 * The names of the fields in which a duplicate is not as the first, so that a changed amount is seen, not swallowed. Of
 * a first whose personal part was erased only the rest can be compared; of one that is gone, nothing.
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
