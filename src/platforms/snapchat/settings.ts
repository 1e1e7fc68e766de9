import { versionLike, visibleAscii } from '../field-checks.js';
import type { Connection, Field } from '../platform.js';

export const API_VERSION = 'v3';

export const fields: readonly Field[] = [
  {
    name: 'pixel_id',
    required: true,
    help: 'Id of the Snap pixel: Ads Manager, Events Manager.',
    check: (value) => (/^[\da-zA-Z-]+$/.test(value) ? undefined : 'must be letters, digits and dashes only'),
  },
  {
    name: 'access_token',
    secret: true,
    required: true,
    help: 'Conversions API token: Ads Manager, Business details, Conversions API tokens.',
    check: visibleAscii,
  },
  {
    name: 'api_version',
    help: 'Version of the Conversions API.',
    check: versionLike(API_VERSION),
    fallback: API_VERSION,
  },
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
