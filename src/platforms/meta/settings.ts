import { digitsOnly, requiredField, requiredSecret, testEventCode, versionField } from '../fields.js';
import type { Field } from '../platform.js';

/** Meta supports a version for at least two years. */
export const API_VERSION = 'v26.0';

export const fields: readonly Field[] = [
  requiredField('pixel_id', 'Number of the pixel (dataset): Events Manager, Data sources, Settings.', digitsOnly),
  requiredSecret(
    'access_token',
    'Token of a system user: Events Manager, Settings, Conversions API, Generate access token.',
  ),
  {
    name: 'test_event_code',
    help: 'Code of the Test events tab in Events Manager; used by `platforms test` only.',
    check: testEventCode,
  },
  versionField('api_version', 'Version of the Graph API.', API_VERSION),
];
