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

export type NamedConversion = readonly [name: string, conversion: Conversion];

/** Conversions whose identifiers do not suffice at any platform. */
export const INSUFFICIENT_IDENTIFIERS: readonly NamedConversion[] = [
  ['nothing', UNIDENTIFIED],
  ['an IP address', identifiedBy({ ip: '203.0.113.10' })],
  ['a user agent', identifiedBy({ userAgent: 'UA' })],
  ['a name', { ...UNIDENTIFIED, hashes: { subject: '', firstName: 'f', lastName: 'l' } }],
];
export const GOOGLE_CLICK_ID: NamedConversion = [
  'a click id of Google',
  identifiedBy({ clicks: { gclid: { id: 'G', timeMs: 1 } } }),
];
export const PHONE_NUMBER: NamedConversion = [
  'a phone number',
  { ...UNIDENTIFIED, hashes: { subject: '', phone: 'p', phoneDigits: 'd' } },
];
export const IP_AND_USER_AGENT: NamedConversion = [
  'IP address and user agent',
  identifiedBy({ ip: '203.0.113.10', userAgent: 'UA' }),
];

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
