import { hash } from 'node:crypto';
import { createRequire } from 'node:module';
import type { CountryCode } from 'libphonenumber-js/min';
import { subjectOf } from '../kernel/email.js';
import type { Address } from '../platforms/conversion.js';
import type { PersonalHashes } from '../platforms/personal-hashes.js';
import type { HashedField, HashedFields, InboundFields } from './inbound/inbound-field.js';

/**
 * The customer's country, otherwise `defaultCountry` (ISO 3166 alpha-2), completes national phone numbers; without it they are
 * omitted. A value that is empty or unusable after normalisation is omitted: the hash of an empty string would match unrelated
 * people.
 */
export function hashPersonal(fields: InboundFields, defaultCountry?: string): PersonalHashes {
  if (fields.hashes) return { ...fields.hashes };
  const hashes: PersonalHashes = {};
  if (fields.email !== undefined) addEmail(hashes, fields.email);
  else if (fields.hashedEmail !== undefined) hashes.subject = fields.hashedEmail;
  if (fields.phone !== undefined) addPhone(hashes, fields.phone, fields.address?.country ?? defaultCountry);
  if (fields.firstName !== undefined) addName(hashes, 'firstName', fields.firstName);
  if (fields.lastName !== undefined) addName(hashes, 'lastName', fields.lastName);
  if (fields.hashed) addHashed(hashes, fields.hashed, fields.address);
  return hashes;
}

/**
 * What the sender hashed, where there is no plain value: of that every form is known. Which form of a phone the sender hashed is not
 * known, so that it stands for both; a platform that has the other form in its records finds no one.
 */
function addHashed(hashes: PersonalHashes, hashed: HashedFields, address: Address = {}): void {
  const { phone, ...others } = hashed;
  if (phone !== undefined && hashes.phone === undefined) {
    hashes.phone = phone;
    hashes.phoneDigits = phone;
  }
  for (const [name, digest] of Object.entries(others) as [Exclude<HashedField, 'phone'>, string][])
    if (hashes[name] === undefined && !(name in address)) hashes[name] = digest;
}

function sha256(text: string): string {
  return hash('sha256', text);
}

function addEmail(hashes: PersonalHashes, email: string): void {
  hashes.subject = subjectOf(email);
  const bare = bareEmail(email);
  if (bare === email) return;
  const digest = bare === undefined ? null : sha256(bare);
  hashes.emailBare = digest;
  // For its own domains Google expects the bare form; for all other domains the plain one.
  if (email.endsWith('@gmail.com') || email.endsWith('@googlemail.com')) hashes.emailGoogle = digest;
}

/** Without dots and `+` suffix. Undefined when nothing remains before the `@`, as in `+news@example.com`. */
function bareEmail(email: string): string | undefined {
  const at = email.indexOf('@');
  const local = email.slice(0, at);
  const domain = email.endsWith('.') ? email.slice(at, -1) : email.slice(at);
  const plus = local.indexOf('+');
  const bare = (plus === -1 ? local : local.slice(0, plus)).replaceAll('.', '');
  return bare === '' ? undefined : bare + domain;
}

/** Accents and other scripts are kept: no platform's own library transliterates or composes names. */
function addName(hashes: PersonalHashes, field: 'firstName' | 'lastName', name: string): void {
  const plain = name.trim().toLowerCase();
  const joined = plain.replace(/\s+/g, '');
  const bare = withoutPunctuation(joined);
  if (bare === '') return; // Blank, or only punctuation such as `---`.
  const digest = sha256(plain);
  hashes[field] = digest;
  if (bare === plain) return;
  const bareDigest = sha256(bare);
  hashes[`${field}Bare`] = bareDigest;
  if (joined !== plain) hashes[`${field}Joined`] = joined === bare ? bareDigest : sha256(joined);
  const unpunctuated = withoutPunctuation(plain).trim();
  if (unpunctuated !== plain) {
    hashes[`${field}Unpunctuated`] = unpunctuated === bare ? bareDigest : sha256(unpunctuated);
  }
}

/** Whether it has a hash. */
export function isName(name: string): boolean {
  return withoutPunctuation(name).trim() !== '';
}

function withoutPunctuation(text: string): string {
  return text.replace(/[!-/:-@[-`{-~]+/g, '');
}

function addPhone(hashes: PersonalHashes, phone: string, defaultCountry: string | undefined): void {
  const e164 = e164Of(phone, defaultCountry);
  if (e164 === undefined) return;
  hashes.phone = sha256(e164);
  hashes.phoneDigits = sha256(e164.slice(1));
}

/** The number in E.164, whose hash is sent; undefined if it is not a possible number. */
export function e164Of(phone: string, defaultCountry: string | undefined): string | undefined {
  return internationalForm(phone) ?? parsePhone(phone, defaultCountry);
}

/** Spaces, dashes, dots, slashes, parentheses, and invisible formatting characters that address books add. */
const SEPARATORS = /[\s()./\-\u2010-\u2015\u2212\p{Cf}]+/gu;

/** Country codes of one, two and three digits. None is a prefix of another, so the match is unambiguous. */
const COUNTRY_CODE = [
  '[17]',
  '2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]',
  '(?:2[1-689]|3[578]|42|5[09]|6[7-9]|8[0578]|9[679])\\d',
].join('|');

/** `+`, a country code not followed by 0, 8 to 15 digits in total. */
export const E164 = new RegExp(`^\\+(?=\\d{8,15}$)(?:${COUNTRY_CODE})[1-9]`);

/**
 * Handles the common case without the library, which is ten times slower: a number that is complete after removing the
 * separators. A 0 after the country code needs the library: it is either a trunk prefix (`+44 (0)20`) or part of the number
 * (`+39 06`).
 */
function internationalForm(phone: string): string | undefined {
  if (E164.test(phone)) return phone;
  const compact = phone.replace(SEPARATORS, '');
  return E164.test(compact) ? compact : undefined;
}

/** Any number of `+` and `00`, which some forms add to what the customer typed. */
const INTERNATIONAL_PREFIX = /^(?:[\s()]*(?:\+|00))+/;

const require = createRequire(import.meta.url);
let library: typeof import('libphonenumber-js/min') | undefined;

/**
 * E.164 of a number in any other form; undefined when it is not a possible number. `00` means `+` in every country. A `+` that is
 * repeated counts once, as in the platforms' own libraries, which hash the digits that remain.
 */
function parsePhone(phone: string, defaultCountry: string | undefined): string | undefined {
  // Loaded on first use, because loading takes 30 to 50 ms.
  library ??= require('libphonenumber-js/min') as typeof import('libphonenumber-js/min');
  const { parsePhoneNumberFromString } = library;
  const text = phone.normalize('NFKC').replace(/\p{Cf}/gu, ''); // Full-width characters become ASCII.
  const [prefix = ''] = INTERNATIONAL_PREFIX.exec(text) ?? [];
  const international = prefix === '' ? text : `+${text.slice(prefix.length).replaceAll('+', '')}`;
  for (const candidate of international === text ? [text] : [international, text]) {
    const parsed = parsePhoneNumberFromString(candidate, defaultCountry as CountryCode | undefined);
    if (parsed?.isPossible()) return parsed.number;
  }
  return undefined;
}
