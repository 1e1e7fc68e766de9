import { externalIdForm } from '../external-id.js';
import { digitsOnly, oneOf, versionField, visibleAscii } from '../fields.js';
import type { Connection, Field, Settings } from '../platform.js';

const TAG_ID = /^[0-9A-Za-z_-]+$/;

const FALLBACK = { mode: 'capi', phone_format: 'e164', api_version: 'v1', offline_api_version: 'v13' } as const;

/** Microsoft documents an anonymised id. */
export const EXTERNAL_ID_FORM = 'hashed';

/** Which of them are required depends on the mode; see `check`. */
export const fields: readonly Field[] = [
  {
    name: 'mode',
    help: 'capi for the UET Conversions API, or offline for offline conversion goals.',
    fallback: FALLBACK.mode,
    check: oneOf('capi', 'offline'),
  },
  {
    name: 'tag_id',
    help: 'Id of the UET tag: Microsoft Advertising, Conversions > UET tag.',
    check: (value) => (TAG_ID.test(value) ? undefined : 'must be the id of a UET tag, such as 12345678'),
  },
  {
    name: 'access_token',
    secret: true,
    help: 'Token from the page of the UET tag, "Use Conversions API"; Microsoft enables it per account.',
    check: visibleAscii,
  },
  {
    name: 'customer_id',
    help: 'With mode=offline: cid in the URL of any page of Microsoft Advertising.',
    check: digitsOnly,
  },
  {
    name: 'account_id',
    help: 'With mode=offline: aid in the URL of any page of Microsoft Advertising; not the account number.',
    check: digitsOnly,
  },
  {
    name: 'developer_token',
    secret: true,
    help: 'With mode=offline: developer token from developers.ads.microsoft.com > Account.',
    check: visibleAscii,
  },
  {
    name: 'client_id',
    help: 'With mode=offline: client id of the app registration in Microsoft Entra.',
    check: visibleAscii,
  },
  {
    name: 'client_secret',
    secret: true,
    help: 'With mode=offline: client secret of the same app registration.',
    check: visibleAscii,
  },
  {
    name: 'refresh_token',
    secret: true,
    help: 'With mode=offline: refresh token granted to that app with the scope msads.manage offline_access.',
    check: visibleAscii,
  },
  {
    name: 'phone_format',
    help: 'Format of phone numbers before hashing: e164 (+15550104477) or digits (15550104477).',
    fallback: FALLBACK.phone_format,
    check: oneOf('e164', 'digits'),
  },
  externalIdForm(EXTERNAL_ID_FORM),
  versionField('api_version', 'Version of the UET Conversions API.', FALLBACK.api_version),
  versionField(
    'offline_api_version',
    'With mode=offline: version of the Campaign Management API.',
    FALLBACK.offline_api_version,
  ),
];

const REQUIRED = {
  capi: ['tag_id', 'access_token'],
  offline: ['customer_id', 'account_id', 'developer_token', 'client_id', 'client_secret', 'refresh_token'],
} as const;

export function check({ settings, secrets }: Connection): string | undefined {
  const mode = isOffline(settings) ? 'offline' : 'capi';
  for (const name of REQUIRED[mode]) {
    if (settings[name] === undefined && secrets[name] === undefined) return `${name} is required with mode=${mode}`;
  }
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('event.') && value.trim() === '') {
      return `${name} must be the event action of a conversion goal (mode=offline: the goal's name)`;
    }
    if (name.startsWith('field.') && mode === 'offline') {
      return `${name} cannot be sent with mode=offline: leave it out, or use mode=capi`;
    }
  }
  return undefined;
}

export function isOffline(settings: Settings): boolean {
  return settings['mode'] === 'offline';
}

export function versionOf(settings: Settings, name: 'api_version' | 'offline_api_version'): string {
  return settings[name] ?? FALLBACK[name];
}
