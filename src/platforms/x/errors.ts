import type { ErrorRow } from '../error-table.js';

/** Errors of the account, its credentials or the settings. Every other one is interpreted by its status. */
export const ERRORS: readonly ErrorRow[] = [
  {
    codes: ['UNAUTHORIZED_ACCESS', 'UNAUTHORIZED_CLIENT_APPLICATION', 'READONLY_CLIENT_APPLICATION'],
    verdict: 'unauthorized',
    fix: 'Generate a new token for the pixel in Events Manager and set it as pixel_token.',
  },
  {
    codes: ['ACCOUNT_NOT_FOUND', 'ACCOUNT_LOCKED_OUT', 'CURRENT_USER_SUSPENDED', 'USER_NOT_FOUND'],
    verdict: 'unauthorized',
    fix: 'Check the state of the account in X Ads Manager, and that pixel_id and pixel_token belong to it.',
  },
  { codes: ['ROUTE_NOT_FOUND'], verdict: 'misconfigured', fix: 'Check api_version and the endpoint.' },
];
