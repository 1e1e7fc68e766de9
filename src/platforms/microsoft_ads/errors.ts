import type { ErrorRow } from '../error-table.js';

const MINUTE_MS = 60_000;
const TWO_HOURS_MS = 2 * 3_600_000;

/** Errors of the Campaign Management API, by number. All others are rejections. */
export const ERRORS: readonly ErrorRow[] = [
  {
    codes: [105, 109],
    verdict: 'unauthorized',
    fix: 'Sign in again with the Microsoft Advertising user and set the new refresh_token; check developer_token.',
  },
  {
    codes: [106],
    verdict: 'unauthorized',
    fix: 'Give the user access to the account in Microsoft Advertising, and check customer_id and account_id.',
  },
  {
    codes: [5613],
    verdict: 'misconfigured',
    fix: 'Enable offline conversions for the account in Microsoft Advertising.',
  },
  { codes: [117], verdict: 'throttled', afterMs: MINUTE_MS },
  { codes: [0, 5612], verdict: 'server_error' },
  // The goal was created less than two hours ago. Conversions of other goals do not have to wait.
  { codes: [5615], verdict: 'server_error', afterMs: TWO_HOURS_MS, unknown: false },
  // Too many conversions in one request.
  { codes: [5601], verdict: 'split' },
];
