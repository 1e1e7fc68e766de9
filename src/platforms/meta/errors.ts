import type { ErrorRow } from '../error-table.js';

/** By Graph's ranges of error codes: single codes of a range are used without notice. */
export const ERRORS: readonly ErrorRow[] = [
  // Unknown error, service unavailable; blocked for a time; internal; the data set is not ready.
  { codes: [1, 2, 368, 5000, 21009], verdict: 'server_error' },
  // Limits of the application, user, page and account, and those of business use cases.
  { codes: [4, 17, 32, 341, 613, [80_000, 80_014]], verdict: 'throttled' },
  {
    codes: [102, 190],
    verdict: 'unauthorized',
    fix: 'Generate a new access token in Events Manager (Settings, Conversions API) and set it as access_token.',
  },
  {
    codes: [3, 10, [200, 299]],
    verdict: 'unauthorized',
    fix: 'Give the user of the token access to the pixel in Business settings (Data sources), or set another access_token.',
  },
  {
    codes: ['100/33'],
    verdict: 'misconfigured',
    fix: 'Check pixel_id, and that the user of the token has access to this pixel.',
  },
  // The whole Marketing API answers so once a version is retired.
  { codes: [2635], verdict: 'misconfigured', fix: 'Set a current api_version.' },
  { codes: [100], verdict: 'rejected' },
];
