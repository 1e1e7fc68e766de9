import type { Conversion, Visit } from '../../src/platforms/conversion.js';
import type { PersonalHashes } from '../../src/platforms/personal-hashes.js';
import type { Platform, Settings } from '../../src/platforms/platform.js';
import { SAMPLE_CONVERSIONS } from './sample-conversions.js';

/** A purchase without any identifier of a person. */
export const UNIDENTIFIED: Conversion = { ...SAMPLE_CONVERSIONS['hashed-only'], hashes: { subject: '' } };

/** The same purchase, with only these identifiers of a visit. */
export function identifiedBy(visit: Partial<Visit>): Conversion {
  return { ...UNIDENTIFIED, visit: { clicks: {}, cookies: {}, utm: {}, ...visit } };
}

/** A name whose normalised forms all have different digests. */
export const NAME_FORMS: Partial<PersonalHashes> = {
  firstName: 'f',
  firstNameBare: 'f-bare',
  firstNameJoined: 'f-joined',
  firstNameUnpunctuated: 'f-unpunctuated',
  lastName: 'l',
  lastNameBare: 'l-bare',
  lastNameJoined: 'l-joined',
  lastNameUnpunctuated: 'l-unpunctuated',
};

/** The payload as it is stored and sent, after JSON serialisation. */
export function sentItem(platform: Platform, conversion: Conversion, settings: Settings) {
  const payload = platform.payload(conversion, settings);
  if ('skip' in payload) throw new Error(`skipped: ${payload.skip}`);
  return JSON.parse(JSON.stringify(payload.item));
}
