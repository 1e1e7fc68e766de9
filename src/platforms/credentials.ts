import { visibleAscii } from './fields.js';
import type { Connection, Field } from './platform.js';

/** The credentials of an OAuth app, where a connection may have them in place of an access token that does not expire. */
export const appFields: readonly Field[] = [
  {
    name: 'client_id',
    help: 'Client id of your OAuth app, in place of access_token. A sign-in sets it.',
    check: visibleAscii,
  },
  {
    name: 'client_secret',
    secret: true,
    help: 'Client secret of the same app. A sign-in sets it.',
    check: visibleAscii,
  },
  {
    name: 'refresh_token',
    secret: true,
    help: 'Refresh token that was granted to the app. A sign-in sets it.',
    check: visibleAscii,
  },
];

/** When an access token ends that is not renewed. */
export const accessTokenExpires: Field = {
  name: 'access_token_expires',
  about: 'access_token',
  help: 'Day on which access_token ends. A sign-in sets it: sign in again before that day.',
  check: (value) => (/^20\d\d-[01]\d-[0-3]\d$/.test(value) ? undefined : 'must be a date such as 2026-12-31'),
};

/** The value of `access_token_expires`; empty if the platform does not say when the token ends. */
export function expiryDate(lifetimeMs: number | undefined, nowMs: number): string {
  return lifetimeMs === undefined ? '' : new Date(nowMs + lifetimeMs).toISOString().slice(0, 10);
}

/** A connection has an access token, or all that is needed to obtain them. */
export function credentialsProblem({ settings, secrets }: Connection): string | undefined {
  const credentials = {
    client_id: settings['client_id'],
    client_secret: secrets['client_secret'],
    refresh_token: secrets['refresh_token'],
  };
  const missing = Object.entries(credentials).flatMap(([name, value]) => (value ? [] : [name]));
  if (missing.length === 0 || (missing.length === 3 && secrets['access_token'])) return undefined;
  if (missing.length === 3) return 'access_token is missing: set it, or client_id, client_secret and refresh_token';
  return `${missing.join(' and ')} missing: client_id, client_secret and refresh_token must be set together`;
}
