import { appFields, credentialsProblem } from '../credentials.js';
import { digitsOnly, limitedDataUseField, requiredField, versionField, visibleAscii } from '../fields.js';
import type { Connection, Field } from '../platform.js';
import { presetsField } from '../presets.js';

export const API_VERSION = 'v5';

export const PRESETS = { brand: 'content_brand' };

export const fields: readonly Field[] = [
  requiredField('ad_account_id', 'Id of the ad account, digits only: Ads > Conversions > Set up API.', digitsOnly),
  {
    name: 'access_token',
    secret: true,
    help: 'Conversion access token: Ads > Conversions > Set up API > Generate new token. Or sign in.',
    check: visibleAscii,
  },
  limitedDataUseField,
  versionField('api_version', 'Version of the Pinterest API.', API_VERSION),
  ...appFields,
  presetsField(Object.keys(PRESETS)),
];

/** String fields of `custom_data` that the payload does not set itself. Pinterest rejects events with unknown fields. */
const CUSTOM_FIELDS = [
  'content_brand',
  'content_category',
  'content_name',
  'opt_out_type',
  'predicted_ltv',
  'search_string',
];

/** Checked when connecting: Pinterest would reject every event otherwise. */
export function check(connection: Connection): string | undefined {
  return credentialsProblem(connection) ?? mappingProblem(connection);
}

function mappingProblem({ settings }: Connection): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('event.') && !/^[a-z][a-z_]*$/.test(value)) {
      return `${name} must be a Pinterest event in lower case: checkout, lead, signup, custom, …`;
    }
    if (name.startsWith('field.') && !CUSTOM_FIELDS.includes(name.slice('field.'.length))) {
      return `${name} is not a field of Pinterest. Available: ${CUSTOM_FIELDS.join(', ')}`;
    }
  }
  return undefined;
}
