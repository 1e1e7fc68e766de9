import type { ErrorRow } from '../error-table.js';

const NEW_TOKEN = 'Generate a new access token in Events Manager (pixel, Settings) and set it as access_token.';

/** Codes are grouped like HTTP statuses: 40000 and above is a client error, 50000 and above a server error. */
export const ERRORS: readonly ErrorRow[] = [
  // 40050: a duplicate.
  { codes: [0, 40_050], verdict: 'delivered' },
  { codes: [40_016, 40_100, 40_132, 40_133], verdict: 'throttled' },
  { codes: [40_202, 40_700, 50_000, 50_002, 51_305, 60_001], verdict: 'server_error' },
  {
    codes: [40_101, 40_102, [40_104, 40_106], 40_113, [40_115, 40_119], 40_124, 40_125],
    verdict: 'unauthorized',
    fix: NEW_TOKEN,
  },
  {
    codes: [40_001, 40_300, 40_301],
    verdict: 'unauthorized',
    fix: 'Check pixel_code, and make the user of the token an admin or operator of the pixel’s advertiser account.',
  },
  // The version does not exist or does not support the request; the endpoint does not exist or is switched off.
  {
    codes: [40_006, 40_008, 40_051, 41_001],
    verdict: 'misconfigured',
    fix: 'Set a current api_version.',
  },
  { codes: [40_010], verdict: 'misconfigured', fix: 'Check the endpoint: TikTok does not serve this host.' },
  {
    codes: [41_000],
    verdict: 'misconfigured',
    fix: 'TikTok refuses requests from the country of this server’s address: send them from another one, or through an endpoint there.',
  },
  { codes: [40_000, 40_002, 40_007], verdict: 'rejected' },
];
