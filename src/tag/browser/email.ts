import { CONTROL } from './landing.js';

/** Must match the service's normalisation, so that one address has one hash. */
export function normaliseEmail(text: string): string {
  return text.trim().toLowerCase();
}

export function isEmail(email: string): boolean {
  return email.length <= 254 && /^[^\s@]{1,64}@[^\s@]*\.[^\s@]*$/.test(email) && email === email.replace(CONTROL, '');
}

/** SHA-256 in hex. Browsers provide `crypto.subtle` on https pages and on localhost only. */
export async function hashEmail(email: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(email));
  return Array.from(new Uint8Array(digest), (byte) => `0${byte.toString(16)}`.slice(-2)).join('');
}
