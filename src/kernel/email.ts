import { hash } from 'node:crypto';
import { fitsCodePoints } from './code-points.js';

/** The spelling of an email that is hashed into the subject's key. */
export function normaliseEmail(text: string): string {
  return text.trim().toLowerCase();
}

/** The key of the person behind a normalised email. */
export function subjectOf(email: string): string {
  return hash('sha256', email);
}

/** Whether a normalised email is worth hashing: a shape check, since only a delivery could tell more. */
export function isEmail(email: string): boolean {
  const at = email.indexOf('@');
  return (
    at > 0 &&
    email.indexOf('@', at + 1) === -1 &&
    email.indexOf('.', at + 1) !== -1 &&
    fitsCodePoints(email, 254) &&
    (at <= 64 || fitsCodePoints(email.slice(0, at), 64)) &&
    !/[\s\p{Cc}]/u.test(email)
  );
}
