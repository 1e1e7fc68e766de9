import type { Field } from '../platform.js';

/** Meta keeps a version for at least two years. */
export const API_VERSION = 'v26.0';

export const fields: readonly Field[] = [
  {
    name: 'pixel_id',
    required: true,
    help: 'Number of the pixel (dataset): Events Manager, Data sources, Settings.',
    check: (value) => (/^\d+$/.test(value) ? undefined : 'must be a number, digits only'),
  },
  {
    name: 'access_token',
    secret: true,
    required: true,
    help: 'Token of a system user: Events Manager, Settings, Conversions API, Generate access token.',
    check: (value) => (/^[!-~]+$/.test(value) ? undefined : 'must be one line of text without spaces'),
  },
  {
    name: 'test_event_code',
    help: 'Code of the Test events tab in Events Manager; used by `platforms test` only.',
    check: (value) => (/^[\w-]+$/.test(value) ? undefined : 'must be letters and digits only, such as TEST12345'),
  },
  {
    name: 'api_version',
    help: 'Version of the Graph API.',
    check: (value) => (/^v\d+\.\d+$/.test(value) ? undefined : `must look like ${API_VERSION}`),
    fallback: API_VERSION,
  },
];
