import { hash } from 'node:crypto';
import { fitsCodePoints } from './code-points.js';

/** The form of an email that is hashed to identify a data subject. */
export function normaliseEmail(text: string): string {
  return text.trim().toLowerCase();
}

/** Identifies the data subject of a normalised email. */
export function subjectOf(email: string): string {
  return hash('sha256', email);
}

/** An email address in a text, also one that is percent-encoded, once or several times. */
export const EMAIL_INSIDE = /[^\s@](?:@|%(?:25)*40)[^\s@]*[^\s@.]\.[^\s@.]/;

export function containsEmail(text: string): boolean {
  return EMAIL_INSIDE.test(text);
}

/** Whether a normalised email has a valid shape. Only sending a message could show whether it exists. */
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
