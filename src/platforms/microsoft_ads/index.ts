import { fixOf, isMisconfiguration } from '../error-table.js';
import type { Platform } from '../platform.js';
import { authorization } from './authorization.js';
import { baseUrl, request, test, token } from './client.js';
import { ERRORS } from './errors.js';
import { listAccount } from './list-account.js';
import { manifest } from './manifest.js';
import { payload } from './payload.js';
import { check, fields, isOffline } from './settings.js';
import { verdict } from './verdict.js';

const DAY_MS = 24 * 3_600_000;
const CAPI_LIMITS = { ageMaxMs: 7 * DAY_MS };
const OFFLINE_LIMITS = { ageMaxMs: 90 * DAY_MS };

export const platform: Platform = {
  ...manifest,
  fields,
  demo: {
    tag_id: '12345678',
    access_token: 'demo-access-token',
    'event.purchase': 'purchase',
    'event.lead': 'lead',
    'event.signup': 'signup',
  },
  check,
  account: ['mode', 'tag_id', 'customer_id', 'account_id'],
  batchMax: 1_000,
  limits: (settings) => (isOffline(settings) ? OFFLINE_LIMITS : CAPI_LIMITS),
  baseUrl,
  payload,
  request,
  verdict,
  fix: (reason) => fixOf(ERRORS, reason),
  misconfigured: (reason) => isMisconfiguration(ERRORS, reason),
  token,
  authorization,
  test,
  untested: 'Microsoft Advertising has no test mode.',
  listAccount,
};
