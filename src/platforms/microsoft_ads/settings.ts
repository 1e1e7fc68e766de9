import { digitsOnly, oneOf, oneWord, versionLike } from '../field-checks.js';
import type { Connection, Field, Settings } from '../platform.js';

const TAG_ID = /^[0-9A-Za-z_-]+$/;

const FALLBACK = { mode: 'capi', phone_format: 'e164', api_version: 'v1', offline_api_version: 'v13' } as const;

/** Which of them are needed depends on the mode: `check` says so. */
export const fields: readonly Field[] = [
  {
    name: 'mode',
    help: 'capi for the UET Conversions API, or offline for offline conversion goals.',
    fallback: FALLBACK.mode,
    check: oneOf('capi', 'offline'),
  },
  {
    name: 'tag_id',
    help: 'Of the UET tag, in Microsoft Advertising under Conversions > UET tag.',
    check: (value) => (TAG_ID.test(value) ? undefined : 'must be the id of a UET tag, such as 12345678'),
  },
  {
    name: 'access_token',
    secret: true,
    help: 'Made on the page of the UET tag under "Use Conversions API"; Microsoft opens it per account.',
    check: oneWord,
  },
  {
    name: 'customer_id',
    help: 'With mode=offline: cid in the address of any page of Microsoft Advertising.',
    check: digitsOnly,
  },
  {
    name: 'account_id',
    help: 'With mode=offline: aid in the address of any page of Microsoft Advertising; not the account number.',
    check: digitsOnly,
  },
  {
    name: 'developer_token',
    secret: true,
    help: 'With mode=offline: from the developer portal of Microsoft Advertising.',
    check: oneWord,
  },
  {
    name: 'client_id',
    help: 'With mode=offline: of the app registration in Microsoft Entra.',
    check: oneWord,
  },
  { name: 'client_secret', secret: true, help: 'With mode=offline: of the same app registration.', check: oneWord },
  {
    name: 'refresh_token',
    secret: true,
    help: 'With mode=offline: granted to that app with the scope msads.manage offline_access.',
    check: oneWord,
  },
  {
    name: 'phone_format',
    help: 'How phones are spelt before they are hashed: e164 (+15550104477) or digits (15550104477).',
    fallback: FALLBACK.phone_format,
    check: oneOf('e164', 'digits'),
  },
  {
    name: 'api_version',
    help: 'Of the UET Conversions API.',
    fallback: FALLBACK.api_version,
    check: versionLike(FALLBACK.api_version),
  },
  {
    name: 'offline_api_version',
    help: 'Of the Campaign Management API, with mode=offline.',
    fallback: FALLBACK.offline_api_version,
    check: versionLike(FALLBACK.offline_api_version),
  },
];

const NEEDED = {
  capi: ['tag_id', 'access_token'],
  offline: ['customer_id', 'account_id', 'developer_token', 'client_id', 'client_secret', 'refresh_token'],
} as const;

export function check({ settings, secrets }: Connection): string | undefined {
  const mode = isOffline(settings) ? 'offline' : 'capi';
  for (const name of NEEDED[mode]) {
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
