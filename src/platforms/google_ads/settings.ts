import { oneOf, versionLike, visibleAscii } from '../field-checks.js';
import type { Connection, Field, Settings } from '../platform.js';

const TEN_DIGITS = /^\d{10}$/;
const DIGITS = /^\d+$/;

const FALLBACK = { mode: 'data_manager', api_version: 'v1', upload_api_version: 'v25' } as const;

export const fields: readonly Field[] = [
  {
    name: 'customer_id',
    required: true,
    help: 'The Google Ads account that owns the conversion actions: 10 digits, at the top right of Google Ads.',
    check: accountId,
  },
  {
    name: 'login_customer_id',
    help: 'The manager account that gives access to customer_id, if access is not direct.',
    check: accountId,
  },
  {
    name: 'client_id',
    required: true,
    help: 'Client id of the OAuth client: Google Cloud console, APIs & Services > Credentials.',
    check: visibleAscii,
  },
  {
    name: 'client_secret',
    secret: true,
    required: true,
    help: 'Client secret of the same OAuth client.',
    check: visibleAscii,
  },
  {
    name: 'refresh_token',
    secret: true,
    required: true,
    help: 'Refresh token granted to that client with the scope auth/datamanager (mode=upload: auth/adwords).',
    check: visibleAscii,
  },
  {
    name: 'require_click_id',
    help: 'yes: conversions without gclid, gbraid and wbraid are skipped. By default a hashed email or phone suffices.',
    fallback: 'no',
    check: oneOf('yes', 'no'),
  },
  {
    name: 'mode',
    help: 'data_manager, or upload for the legacy click conversion upload, which Google allows for few developer tokens.',
    fallback: FALLBACK.mode,
    check: oneOf('data_manager', 'upload'),
  },
  {
    name: 'developer_token',
    secret: true,
    help: 'With mode=upload: developer token of the manager account, from its API Center.',
    check: visibleAscii,
  },
  {
    name: 'api_version',
    help: 'Version of the Data Manager API.',
    fallback: FALLBACK.api_version,
    check: versionLike(FALLBACK.api_version),
  },
  {
    name: 'upload_api_version',
    help: 'With mode=upload: version of the Google Ads API.',
    fallback: FALLBACK.upload_api_version,
    check: versionLike(FALLBACK.upload_api_version),
  },
];

export function check({ settings, secrets }: Connection): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('event.') && !DIGITS.test(value)) {
      return `${name} must be the id of a conversion action, digits only: it is the ctId in the URL of its page in Google Ads`;
    }
    if (name.startsWith('field.') && isUpload(settings)) {
      return `${name} cannot be sent with mode=upload: leave it out, or use mode=data_manager`;
    }
  }
  if (isUpload(settings) && secrets['developer_token'] === undefined) {
    return 'developer_token is required with mode=upload: copy it from the API Center of the manager account';
  }
  return undefined;
}

export function isUpload(settings: Settings): boolean {
  return settings['mode'] === 'upload';
}

export function versionOf(settings: Settings, name: 'api_version' | 'upload_api_version'): string {
  return settings[name] ?? FALLBACK[name];
}

function accountId(value: string): string | undefined {
  return TEN_DIGITS.test(value) ? undefined : 'must be 10 digits, without hyphens';
}
