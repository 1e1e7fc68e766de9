import { limitedDataUseField, requiredField, requiredSecret, versionField } from '../fields.js';
import type { Connection, Field } from '../platform.js';

export const API_VERSION = 'v3';

export const fields: readonly Field[] = [
  requiredField('pixel_id', 'Id of the Snap pixel: Ads Manager, Events Manager.', (value) =>
    /^[\da-zA-Z-]+$/.test(value) ? undefined : 'must be letters, digits and dashes only',
  ),
  requiredSecret(
    'access_token',
    'Conversions API token: Business Manager > Business Details > Conversions API Tokens.',
  ),
  limitedDataUseField,
  versionField('api_version', 'Version of the Conversions API.', API_VERSION),
];

/** Checked when connecting: Snapchat would reject every event otherwise. */
export function check({ settings }: Connection): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('event.') && !/^[A-Z][A-Z0-9_]*$/.test(value)) {
      return `${name} must be a Snapchat event in upper case: PURCHASE, SIGN_UP, CUSTOM_EVENT_1, …`;
    }
  }
  return undefined;
}
