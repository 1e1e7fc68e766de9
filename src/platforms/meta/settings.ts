import { digitsOnly, testEventCode, versionLike, visibleAscii } from '../field-checks.js';
import type { Field } from '../platform.js';

/** Meta supports a version for at least two years. */
export const API_VERSION = 'v26.0';

export const fields: readonly Field[] = [
  {
    name: 'pixel_id',
    required: true,
    help: 'Number of the pixel (dataset): Events Manager, Data sources, Settings.',
    check: digitsOnly,
  },
  {
    name: 'access_token',
    secret: true,
    required: true,
    help: 'Token of a system user: Events Manager, Settings, Conversions API, Generate access token.',
    check: visibleAscii,
  },
  {
    name: 'test_event_code',
    help: 'Code of the Test events tab in Events Manager; used by `platforms test` only.',
    check: testEventCode,
  },
  {
    name: 'api_version',
    help: 'Version of the Graph API.',
    check: versionLike(API_VERSION),
    fallback: API_VERSION,
  },
];
