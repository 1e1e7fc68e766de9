import { appFields, credentialsProblem } from '../credentials.js';
import { limitedDataUseField, requiredField, versionField, visibleAscii } from '../fields.js';
import type { Connection, Field } from '../platform.js';

export const API_VERSION = 'v3';

export const fields: readonly Field[] = [
  requiredField('pixel_id', 'Id of the Snap pixel: Ads Manager, Events Manager.', (value) =>
    /^[\da-zA-Z-]+$/.test(value) ? undefined : 'must be letters, digits and dashes only',
  ),
  {
    name: 'access_token',
    secret: true,
    help: 'Conversions API token: Business Manager > Business Details > Conversions API Tokens. Or sign in.',
    check: visibleAscii,
  },
  limitedDataUseField,
  versionField('api_version', 'Version of the Conversions API.', API_VERSION),
  ...appFields,
];

/** Checked when connecting: Snapchat would reject every event otherwise. */
export function check(connection: Connection): string | undefined {
  return credentialsProblem(connection) ?? mappingProblem(connection);
}

function mappingProblem({ settings }: Connection): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('event.') && !/^[A-Z][A-Z0-9_]*$/.test(value)) {
      return `${name} must be a Snapchat event in upper case: PURCHASE, SIGN_UP, CUSTOM_EVENT_1, …`;
    }
  }
  return undefined;
}
