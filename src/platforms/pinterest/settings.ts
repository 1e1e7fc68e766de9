import { digitsOnly, oneWord, versionLike } from '../field-checks.js';
import type { Connection, Field } from '../platform.js';

export const API_VERSION = 'v5';

export const fields: readonly Field[] = [
  {
    name: 'ad_account_id',
    required: true,
    help: 'Number of the ad account: Ads Manager, Ads, Conversions, API.',
    check: digitsOnly,
  },
  {
    name: 'access_token',
    secret: true,
    required: true,
    help: 'Conversion access token: Ads Manager, Ads, Conversions, Set up API, Generate new token.',
    check: oneWord,
  },
  {
    name: 'api_version',
    help: 'Version of the Pinterest API.',
    check: versionLike(API_VERSION),
    fallback: API_VERSION,
  },
];

/** Texts of `custom_data` that we do not fill ourselves. Pinterest refuses events with any name it does not know. */
const CUSTOM_FIELDS = [
  'content_brand',
  'content_category',
  'content_name',
  'opt_out_type',
  'predicted_ltv',
  'search_string',
];

/** Checked here because Pinterest would refuse every event, each time. */
export function check({ settings }: Connection): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('event.') && !/^[a-z][a-z_]*$/.test(value)) {
      return `${name} must be an event of Pinterest's, in small letters: checkout, lead, signup, custom, …`;
    }
    if (name.startsWith('field.') && !CUSTOM_FIELDS.includes(name.slice('field.'.length))) {
      return `${name} is no field of Pinterest's. There are: ${CUSTOM_FIELDS.join(', ')}`;
    }
  }
  return undefined;
}
