import { statedKeys } from '../events/person-keys.js';
import type { PersonalHashes } from '../platforms/personal-hashes.js';
import type { LoadedSite } from '../sites/site-directory.js';
import { storedText } from './address-digest.js';
import { hashPersonal } from './hash-personal.js';
import type { InboundFields } from './inbound/inbound-field.js';

/** The person of a conversion, without raw values. */
export interface Person {
  readonly hashes: PersonalHashes;
  /** Under which the conversion is stored: the hash of the email, otherwise the first key of what else is known. */
  readonly subject: string;
  /** Further keys under which something may be stored about the person. Absent where people are identified by email. */
  readonly others?: readonly string[];
}

export function personOf(fields: InboundFields, { site: { settings }, dedupSecret }: LoadedSite): Person {
  const hashes = hashPersonal(fields, settings.country ?? undefined);
  if (settings.identifyBy === 'email' && hashes.subject !== undefined) return { hashes, subject: hashes.subject };
  const [subject, ...others] = keysOf(fields, hashes, dedupSecret);
  if (subject === undefined) throw new TypeError('A conversion needs an identifier of its person');
  return others.length > 0 ? { hashes, subject, others } : { hashes, subject };
}

/** Every subject under which something may be stored about the person, the one that counts first. */
export function keysOf({ externalId, clickIds }: InboundFields, hashes: PersonalHashes, siteSecret: string): string[] {
  const { subject, phone } = hashes;
  const keys = statedKeys({
    ...(phone !== undefined && { phone }),
    ...(externalId !== undefined && { externalId: storedText(siteSecret, externalId) }),
    clickIds,
  });
  return subject === undefined ? keys : [subject, ...keys];
}
