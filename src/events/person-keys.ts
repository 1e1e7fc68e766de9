import { hash } from 'node:crypto';
import type { SentClickIds } from '../platforms/conversion.js';
import { sentClickIds } from '../platforms/sent-clicks.js';

/** Length of the subject of a visitor that has not given an email. */
export const VISITOR_BYTES = 16;

/** Length of a person's subject, the hash of the email. The key of a person that is known by something else is longer. */
export const PERSON_BYTES = 32;

/** First byte of a person's key, by what the person is known by. */
const [PHONE, EXTERNAL_ID, CLICK_ID] = ['01', '02', '03'] as const;

/** Length of the subject of a person without an email. */
export const KEY_BYTES = 33;

/** A person that is known by a phone, an external id or a click id: a digest, in hex, after a byte that says which of them it is of. */
export type PersonKey = string;

/** `digest`: SHA-256 of the number. */
export function phoneKey(digest: string): PersonKey {
  return PHONE + digest;
}

export function externalIdKey(externalId: string): PersonKey {
  return EXTERNAL_ID + hash('sha256', externalId);
}

export function clickKey(id: string): PersonKey {
  return CLICK_ID + hash('sha256', id);
}

export interface NamedPerson {
  readonly subject?: string | undefined;
  readonly person?: PersonKey | undefined;
}

/** Under which the log stores what is about the person, in hex: the hash of the email, otherwise the person's key. */
export function subjectOfPerson(personal: NamedPerson): string | undefined {
  return personal.subject ?? personal.person;
}

/** Where an event shows its subject: a key says nothing about an email. */
export function nameOfSubject(subject: string): keyof NamedPerson {
  return subject.length > 2 * PERSON_BYTES ? 'person' : 'subject';
}

/** Whether a subject is of a person, and not of a visitor that is not known yet. */
export function isPerson(subject: string | undefined): subject is string {
  return subject !== undefined && subject.length >= 2 * PERSON_BYTES;
}

interface Stated {
  /** SHA-256 of the number. */
  readonly phone?: string | undefined;
  readonly externalId?: string | undefined;
  readonly clickIds?: SentClickIds | undefined;
}

/** The keys of what a sender states about a person besides the email, the most lasting one first. */
export function statedKeys({ phone, externalId, clickIds }: Stated): PersonKey[] {
  const keys: PersonKey[] = [];
  if (phone !== undefined) keys.push(phoneKey(phone));
  if (externalId !== undefined) keys.push(externalIdKey(externalId));
  if (clickIds) for (const id of sentClickIds(clickIds)) keys.push(clickKey(id));
  return keys;
}
