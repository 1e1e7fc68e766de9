import { fixOf, isMisconfiguration } from '../error-table.js';
import type { Platform } from '../platform.js';
import { authorization } from './authorization.js';
import { baseUrl, request, statusRequest, test, token } from './client.js';
import { correction, limits } from './correction.js';
import { UPLOAD_ERRORS } from './errors.js';
import { listAccount } from './list-account.js';
import { payload } from './payload.js';
import { confirmationVerdict } from './request-status.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

export const googleAds: Platform = {
  name: 'google_ads',
  fields,
  check,
  account: ['customer_id', 'mode'],
  batchMax: 2_000,
  limits,
  baseUrl,
  payload,
  correction,
  request,
  verdict,
  fix: (reason) => fixOf(UPLOAD_ERRORS, reason),
  misconfigured: (reason) => isMisconfiguration(UPLOAD_ERRORS, reason),
  token,
  authorization,
  confirmation: { request: statusRequest, verdict: confirmationVerdict },
  test,
  listAccount,
};
