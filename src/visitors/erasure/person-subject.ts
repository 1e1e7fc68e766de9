import { isEmail, normaliseEmail, subjectOf } from '../../kernel/email.js';
import { UserError } from '../../kernel/errors.js';

/** A person as an operator names one: by address or by hash. */
export type NamedPerson = { readonly email: string } | { readonly hash: string };

/** The data subject. Messages do not repeat the address, because it is personal data. */
export function personSubject(person: NamedPerson): string {
  if ('hash' in person) {
    if (!/^[0-9a-f]{64}$/i.test(person.hash))
      throw new UserError('The hash must be a SHA-256 hex digest of 64 characters.');
    return person.hash.toLowerCase();
  }
  const address = normaliseEmail(person.email);
  if (!isEmail(address)) throw new UserError('This is not an email address. Give one such as jane@example.com.');
  return subjectOf(address);
}
