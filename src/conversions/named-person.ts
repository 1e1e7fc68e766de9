import type { Pool } from 'pg';
import type { ConversionPersonal } from '../events/conversion.events.js';
import { clickKey, externalIdKey, phoneKey, statedKeys } from '../events/person-keys.js';
import type { SiteSettings } from '../events/site.events.js';
import { isEmail, normaliseEmail, subjectOf } from '../kernel/email.js';
import { UserError } from '../kernel/errors.js';
import { ownTrimmed } from '../kernel/own-text.js';
import { findMentions } from '../log/mentions.js';
import { storedText } from './address-digest.js';
import { hashPersonal } from './hash-personal.js';

/** How an operator can name a person: by exactly one of these. `hash`: of the email. */
export const PERSON_NAMES = ['email', 'hash', 'phone', 'externalId', 'clickId'] as const;
export type PersonName = (typeof PERSON_NAMES)[number];
export type NamedBy = { readonly [Name in PersonName]?: string | undefined };

/** The site on which the person is known. */
export interface NamingSite {
  readonly host: string;
  readonly settings: Pick<SiteSettings, 'country' | 'identifyBy'>;
  readonly secret: string;
}

/** The subjects of the person itself. A sender may have hashed a phone with its `+` or without. */
export function subjectsOf(named: NamedBy, { settings, secret }: Omit<NamingSite, 'host'>): [string, ...string[]] {
  if (named.email !== undefined) return [subjectOf(checkedEmail(named.email))];
  if (named.hash !== undefined) return [checkedHash(named.hash)];
  if (named.phone !== undefined) {
    const digests = phoneDigests(named.phone, settings.country);
    return [phoneKey(digests.phone), phoneKey(digests.phoneDigits)];
  }
  const id = ownTrimmed(named.externalId ?? named.clickId ?? '');
  if (id === '') throw new UserError('Name the person by an email, a hash, a phone, an external id or a click id.');
  return [named.externalId === undefined ? clickKey(id) : externalIdKey(storedText(secret, id))];
}

/** Messages do not repeat the address, because it is personal data. */
function checkedEmail(text: string): string {
  const address = normaliseEmail(text);
  if (!isEmail(address)) throw new UserError('This is not an email address. Give one such as jane@example.com.');
  return address;
}

function checkedHash(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new UserError('The hash must be a SHA-256 hex digest of 64 characters.');
  return text.toLowerCase();
}

/** Also those who gave the phone, external id or click id together with an email, or with another of them. */
export async function findPeople(
  pool: Pick<Pool, 'query'>,
  named: NamedBy,
  site: NamingSite,
  after = -1,
): Promise<[string, ...string[]]> {
  const subjects = subjectsOf(named, site);
  const texts = textsOf(named, site);
  if (texts.length === 0) return subjects;
  const mentions = await findMentions(pool, site.host, after, texts);
  const people = mentions.filter(({ data }) =>
    statedKeys(data as ConversionPersonal).some((key) => subjects.includes(key)),
  );
  const others = new Set(people.map(({ subject }) => subject).filter((subject) => !subjects.includes(subject)));
  return [...subjects, ...others];
}

/** For a statement about consent: it applies where the site looks for it. */
export function refuseUnlooked({ email, hash }: NamedBy, { host, settings }: Omit<NamingSite, 'secret'>): void {
  if (settings.identifyBy === 'any' || email !== undefined || hash !== undefined) return;
  throw new UserError(
    `${host} knows people by their email only: state the consent with it, or run "sites set ${host} --identify-by any" first.`,
  );
}

/** As they are in the personal parts of conversions. */
export function textsOf({ phone, externalId, clickId }: NamedBy, { settings, secret }: NamingSite): string[] {
  if (phone !== undefined) return Object.values(phoneDigests(phone, settings.country));
  if (externalId !== undefined) return [storedText(secret, ownTrimmed(externalId))];
  return clickId === undefined ? [] : [ownTrimmed(clickId)];
}

/** Messages do not repeat the number, because it is personal data. */
function phoneDigests(
  number: string,
  country: string | null,
): { readonly phone: string; readonly phoneDigits: string } {
  const { phone, phoneDigits } = hashPersonal({ event: '', currency: '', phone: number }, country ?? undefined);
  if (phone === undefined || phoneDigits === undefined)
    throw new UserError('This is not a phone number. Give one with its country code, such as +49 30 901820.');
  return { phone, phoneDigits };
}
