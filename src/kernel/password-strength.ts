import { UserError } from './errors.js';

const LENGTH_MIN = 12;
const LENGTH_MAX = 256;
const NAME_LENGTH_MIN = 4;

/** Throws if the password is too easy to guess. */
export function requireStrongPassword(password: string, email: string): void {
  if (password.length < LENGTH_MIN || password.length > LENGTH_MAX)
    throw new UserError(`Choose a password of ${LENGTH_MIN} to ${LENGTH_MAX} characters.`);
  const name = email.split('@')[0] as string;
  // A short name is part of many good passwords.
  const hasName = name.length >= NAME_LENGTH_MIN && password.toLowerCase().includes(name.toLowerCase());
  if (new Set(password).size < 5 || hasName)
    throw new UserError('Choose a password with more different characters, and without your email address.');
}
