import { accessTokenExpires } from '../credentials.js';
import {
  digitsOnly,
  limitedDataUseField,
  oneOf,
  requiredField,
  requiredSecret,
  testEventCode,
  versionField,
} from '../fields.js';
import type { Connection, Field } from '../platform.js';
import { presetsField } from '../presets.js';

/** Meta supports a version for at least two years. */
export const API_VERSION = 'v26.0';

/** Meta requires a name. */
export const LEAD_EVENT_SOURCE = 'CRM';

export const PRESETS = { profit: 'net_revenue' };

export const fields: readonly Field[] = [
  requiredField(
    'pixel_id',
    'Number of the pixel (dataset): Events Manager > Data sources > the pixel > Settings.',
    digitsOnly,
  ),
  requiredSecret(
    'access_token',
    'Token of a system user: Events Manager > the pixel > Settings > Conversions API > Generate access token.',
  ),
  {
    name: 'test_event_code',
    help: 'Code of the Test events tab in Events Manager; used by `platforms test` only.',
    check: testEventCode,
  },
  {
    name: 'lead_event_source',
    help: 'Name of your CRM, such as HubSpot: Meta shows it for conversions with the source crm, and for those with a lead_id.',
    check: (value) =>
      value.trim() !== '' && value.length <= 100 ? undefined : 'must be a name of 1 to 100 characters',
    fallback: LEAD_EVENT_SOURCE,
  },
  presetsField(Object.keys(PRESETS)),
  limitedDataUseField,
  {
    name: 'data_processing_country',
    help: 'Country of a conversion for limited use: 1 is the United States; 0 (default) lets Meta determine it.',
    check: oneOf('0', '1'),
    fallback: '0',
  },
  {
    name: 'data_processing_state',
    help: 'State of a conversion for limited use, such as 1000 for California; 0 (default) lets Meta determine it.',
    check: (value) => (/^(0|1\d{3})$/.test(value) ? undefined : 'must be 0 or a number such as 1000'),
    fallback: '0',
  },
  versionField('api_version', 'Version of the Graph API.', API_VERSION),
  accessTokenExpires,
];

export function check({ settings }: Connection): string | undefined {
  const { data_processing_country = '0', data_processing_state = '0' } = settings;
  if ((data_processing_country === '0') === (data_processing_state === '0')) return undefined;
  return 'data_processing_country and data_processing_state must both be set, or both be 0';
}
