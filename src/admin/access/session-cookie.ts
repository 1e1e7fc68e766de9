import { SESSION_DAYS } from '../../users/session-days.js';

const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict';

export function sessionCookie(name: string, value: string): string {
  return `${name}=${value}; ${ATTRIBUTES}; Max-Age=${SESSION_DAYS * 24 * 60 * 60}`;
}

/** Makes the browser known for later sign-ins. It gives no access. */
export function browserCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; ${ATTRIBUTES}; Max-Age=${seconds}`;
}

export function endedSessionCookie(name: string): string {
  return `${name}=; ${ATTRIBUTES}; Max-Age=0`;
}

/** Says that the session came from the sign-in provider, so that signing out includes it. It gives no access. */
export const PROVIDER_COOKIE = 'cc_provider';

export function providerCookie(name: string): string {
  return sessionCookie(name, '1');
}

export function readSessionCookie(header: string | undefined, name: string): string | undefined {
  const value = readCookie(header, name);
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
}

export function readCookie(header: string | undefined, name: string): string | undefined {
  const found = header?.split(';').find((part) => part.trimStart().startsWith(`${name}=`));
  return found?.trim().slice(name.length + 1);
}
