import { SESSION_DAYS } from '../users/sessions.service.js';

/** `__Host-`: only this host can set it, and only over a secure connection or loopback. */
const NAME = '__Host-cc_session';
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict';

export function sessionCookie(value: string): string {
  return `${NAME}=${value}; ${ATTRIBUTES}; Max-Age=${SESSION_DAYS * 24 * 60 * 60}`;
}

export function endedSessionCookie(): string {
  return `${NAME}=; ${ATTRIBUTES}; Max-Age=0`;
}

export function readSessionCookie(header: string | undefined): string | undefined {
  const value = readCookie(header, NAME);
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
}

export function readCookie(header: string | undefined, name: string): string | undefined {
  const found = header?.split(';').find((part) => part.trimStart().startsWith(`${name}=`));
  return found?.trim().slice(name.length + 1);
}
