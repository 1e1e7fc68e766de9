import { oneWord } from '../field-checks.js';
import type { Connection, Field } from '../platform.js';

/** LinkedIn retires each version a year after its month, so it can be set without waiting for a release of ours. */
export const API_VERSION = '202608';

export const fields: readonly Field[] = [
  {
    name: 'access_token',
    secret: true,
    help: 'Of a member with access to the ad account, for 60 days. Or give client_id, client_secret and refresh_token.',
    check: oneWord,
  },
  { name: 'client_id', help: 'Of your LinkedIn app, where it may refresh tokens: My apps > Auth.', check: oneWord },
  { name: 'client_secret', secret: true, help: 'Of the same app.', check: oneWord },
  {
    name: 'refresh_token',
    secret: true,
    help: 'From the sign-in that approved the app; lasts 365 days, then sign in again.',
    check: oneWord,
  },
  {
    name: 'api_version',
    help: 'LinkedIn-Version, a year and month such as 202608.',
    check: (value) => (/^20\d\d(?:0[1-9]|1[0-2])$/.test(value) ? undefined : 'must be a year and month such as 202608'),
    fallback: API_VERSION,
  },
];

export function check({ settings, secrets }: Connection): string | undefined {
  return credentialsProblem(settings, secrets) ?? mappingProblem(settings);
}

function credentialsProblem(settings: Connection['settings'], secrets: Connection['secrets']): string | undefined {
  const refreshing = {
    client_id: settings['client_id'],
    client_secret: secrets['client_secret'],
    refresh_token: secrets['refresh_token'],
  };
  const missing = Object.entries(refreshing).flatMap(([name, value]) => (value ? [] : [name]));
  if (missing.length === 0 || (missing.length === 3 && secrets['access_token'])) return undefined;
  if (missing.length === 3) return 'access_token is missing: set it, or client_id, client_secret and refresh_token';
  return `${missing.join(' and ')} missing: client_id, client_secret and refresh_token go together`;
}

function mappingProblem(settings: Connection['settings']): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('event.') && !/^\d{1,20}$/.test(value))
      return `${name} must be the id of a conversion rule, digits only`;
    if (name.startsWith('field.')) return `${name}: LinkedIn takes no fields of your own`;
  }
  return undefined;
}
