import { testEventCode, versionLike, visibleAscii } from '../field-checks.js';
import type { Field } from '../platform.js';

export const API_VERSION = 'v1.3';

export const fields: readonly Field[] = [
  {
    name: 'pixel_code',
    required: true,
    help: 'Code of the pixel: Events Manager, Web, the pixel, Settings.',
    check: (value) => (/^[A-Za-z0-9]+$/.test(value) ? undefined : 'must be letters and digits only'),
  },
  {
    name: 'access_token',
    secret: true,
    required: true,
    help: 'Token of the pixel: Events Manager, the pixel, Settings, Generate access token.',
    check: visibleAscii,
  },
  {
    name: 'test_event_code',
    help: 'Code of the Test events tab in Events Manager; used by `platforms test` only.',
    check: testEventCode,
  },
  {
    name: 'crm_event_set_id',
    help: 'Id of a CRM event set: conversions without a visit are sent there instead of to the pixel.',
    check: (value) => (/^[A-Za-z0-9]+$/.test(value) ? undefined : 'must be letters and digits only'),
  },
  {
    name: 'currencies',
    help: 'Currencies that TikTok accepts from this account, such as EUR,USD; amounts in others are left out. Default: all.',
    check: (value) =>
      /^[A-Z]{3}(, ?[A-Z]{3})*$/.test(value) ? undefined : 'must be ISO 4217 codes separated by commas: EUR,USD',
  },
  {
    name: 'api_version',
    help: 'Version of the Business API.',
    check: versionLike(API_VERSION),
    fallback: API_VERSION,
  },
];
