import { actionsProblem } from '../event-mapping.js';
import {
  digitsOnly,
  oneOf,
  refundEventField,
  requiredField,
  requiredSecret,
  versionField,
  visibleAscii,
} from '../fields.js';
import type { Connection, Field, Settings } from '../platform.js';
import { presetsField } from '../presets.js';

const TEN_DIGITS = /^\d{10}$/;
const DIGITS = /^\d+$/;
const ACTION = 'the id of a conversion action, digits only: it is the ctId in the URL of its page in Google Ads';

const FALLBACK = { mode: 'data_manager', api_version: 'v1', upload_api_version: 'v25' } as const;

export const fields: readonly Field[] = [
  requiredField(
    'customer_id',
    'The Google Ads account that owns the conversion actions: 10 digits, at the top right of Google Ads.',
    accountId,
  ),
  {
    name: 'login_customer_id',
    help: 'The manager account that gives access to customer_id, if access is not direct.',
    check: accountId,
  },
  requiredField(
    'client_id',
    'Client id of the OAuth client: Google Cloud console, APIs & Services > Credentials.',
    visibleAscii,
  ),
  requiredSecret('client_secret', 'Client secret of the same OAuth client.'),
  requiredSecret(
    'refresh_token',
    'Refresh token granted to that client with the scope auth/datamanager (mode=upload: auth/adwords).',
  ),
  {
    name: 'require_click_id',
    help: 'yes: conversions without gclid, gbraid and wbraid are skipped. By default a hashed email or phone suffices.',
    fallback: 'no',
    check: oneOf('yes', 'no'),
  },
  {
    name: 'store_sales',
    help: 'yes: conversions with the source physical_store are sent as IN_STORE, which Google allows for selected accounts only.',
    fallback: 'no',
    check: oneOf('yes', 'no'),
  },
  presetsField(['customer_type', 'coupon']),
  {
    name: 'merchant_id',
    help: 'Merchant Center account of the products in items. With mode=upload, items are not sent without it.',
    check: digitsOnly,
  },
  {
    name: 'feed_country',
    help: 'Country of the Merchant Center feed, such as DE.',
    check: (value) => (/^[A-Z]{2}$/.test(value) ? undefined : 'must be a country code of two upper-case letters'),
  },
  {
    name: 'feed_language',
    help: 'Language of the Merchant Center feed, such as de.',
    check: (value) => (/^[a-z]{2}$/.test(value) ? undefined : 'must be a language code of two lower-case letters'),
  },
  {
    name: 'mode',
    help: 'data_manager, or upload for the legacy click conversion upload, which Google accepts only from earlier users.',
    fallback: FALLBACK.mode,
    check: oneOf('data_manager', 'upload'),
  },
  {
    name: 'developer_token',
    secret: true,
    help: 'With mode=upload: not needed. Google has ignored developer tokens since September 2026.',
    check: visibleAscii,
  },
  versionField('api_version', 'Version of the Data Manager API.', FALLBACK.api_version),
  versionField('upload_api_version', 'With mode=upload: version of the Google Ads API.', FALLBACK.upload_api_version),
  refundEventField,
];

export function check({ settings }: Connection): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    const problem = name.startsWith('event.') ? actionsProblem(name, value, DIGITS, ACTION) : undefined;
    if (problem !== undefined) return problem;
    // Google accepts a customer type in an upload from allow-listed accounts only, and has no field for a coupon there.
    if ((name.startsWith('field.') || name === 'presets') && isUpload(settings)) {
      return `${name} cannot be sent with mode=upload: leave it out, or use mode=data_manager`;
    }
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
