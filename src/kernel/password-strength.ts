import { createRequire } from 'node:module';
import { UserError } from './errors.js';

const LENGTH_MIN = 12;
const LENGTH_MAX = 256;
const NAME_LENGTH_MIN = 4;
/** Score of zxcvbn: more than 10^10 guesses with lists of common passwords, words, names, dates and keyboards. */
const SCORE_MIN = 4;
/** The time it takes grows with the square of the length, and this many characters decide. */
const JUDGED_MAX = 64;
const PRODUCT = ['clean', 'conversions', 'clean-conversions'];

/** Throws if the password is too easy to guess. */
export function requireStrongPassword(password: string, email: string): void {
  if (password.length < LENGTH_MIN || password.length > LENGTH_MAX)
    throw new UserError(`Choose a password of ${LENGTH_MIN} to ${LENGTH_MAX} characters.`);
  const name = email.split('@')[0] as string;
  // A short name is part of many good passwords.
  const hasName = name.length >= NAME_LENGTH_MIN && password.toLowerCase().includes(name.toLowerCase());
  if (new Set(password).size < 5 || hasName)
    throw new UserError('Choose a password with more different characters, and without your email address.');
  // Loaded on first use: it has a megabyte of dictionaries, and most processes check no password.
  const zxcvbn: typeof import('zxcvbn') = createRequire(import.meta.url)('zxcvbn');
  const { score } = zxcvbn(password.slice(0, JUDGED_MAX), [...email.split(/[@.]/), ...PRODUCT]);
  if (score < SCORE_MIN)
    throw new UserError(
      'Choose a password that is harder to guess, such as four random words: this one is common, or made of common parts.',
    );
}
