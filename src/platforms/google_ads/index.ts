import type { Platform } from '../platform.js';
import { authorization } from './authorization.js';
import { baseUrl, request, statusRequest, test, token } from './client.js';
import { correction, limits } from './correction.js';
import { fix, misconfigured } from './errors.js';
import { listAccount } from './list-account.js';
import { manifest } from './manifest.js';
import { payload } from './payload.js';
import { confirmationVerdict } from './request-status.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

export const platform: Platform = {
  ...manifest,
  fields,
  demo: {
    customer_id: '1234567890',
    client_id: 'demo-client',
    client_secret: 'demo-client-secret',
    refresh_token: 'demo-refresh-token',
    'event.purchase': '111111111',
    'event.lead': '222222222',
    'event.signup': '333333333',
    refund_event: 'refund',
  },
  check,
  account: ['customer_id', 'mode'],
  batchMax: 2_000,
  limits,
  baseUrl,
  payload,
  correction,
  request,
  verdict,
  fix,
  misconfigured,
  token,
  authorization,
  confirmation: { request: statusRequest, verdict: confirmationVerdict },
  test,
  listAccount,
};
