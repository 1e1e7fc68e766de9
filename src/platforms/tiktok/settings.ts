import { limitedDataUseField, requiredField, requiredSecret, testEventCode, versionField } from '../fields.js';
import type { Field } from '../platform.js';
import { presetsField } from '../presets.js';

export const API_VERSION = 'v1.3';

function lettersAndDigits(value: string): string | undefined {
  return /^[A-Za-z0-9]+$/.test(value) ? undefined : 'must be letters and digits only';
}

export const fields: readonly Field[] = [
  requiredField('pixel_code', 'Code of the pixel: Tools > Events > the pixel > Settings.', lettersAndDigits),
  requiredSecret('access_token', 'Token of the pixel: Tools > Events > the pixel > Settings > Generate access token.'),
  {
    name: 'test_event_code',
    help: 'Code of the Test events tab in Events Manager; used by `platforms test` only.',
    check: testEventCode,
  },
  {
    name: 'crm_event_set_id',
    help: 'Id of a CRM event set (Tools > Events): conversions with the source crm, or without source and visit, are sent there.',
    check: lettersAndDigits,
  },
  {
    name: 'offline_event_set_id',
    help: 'Id of an offline event set (Tools > Events): conversions with the source physical_store or phone_call are sent there.',
    check: lettersAndDigits,
  },
  {
    name: 'app_id',
    help: 'TikTok App ID (Tools > Events > App): conversions with the source app are sent there.',
    check: lettersAndDigits,
  },
  {
    name: 'currencies',
    help: 'Currencies that TikTok accepts from this account, such as EUR,USD; amounts in others are left out. Default: all.',
    check: (value) =>
      /^[A-Z]{3}(, ?[A-Z]{3})*$/.test(value) ? undefined : 'must be ISO 4217 codes separated by commas: EUR,USD',
  },
  limitedDataUseField,
  presetsField(['brand']),
  versionField('api_version', 'Version of the Business API.', API_VERSION),
];
