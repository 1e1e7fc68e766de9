import type { Platform } from '../platform.js';
import { authorization } from './authorization.js';
import { BASE, request, test, token } from './client.js';
import { fix, misconfigured } from './errors.js';
import { listAccount } from './list-account.js';
import { manifest } from './manifest.js';
import { payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

const LIMITS = { ageMaxMs: 90 * 24 * 60 * 60 * 1_000 };

export const platform: Platform = {
  ...manifest,
  fields,
  demo: {
    access_token: 'demo-access-token',
    'event.purchase': '1001',
    'event.lead': '1002',
    'event.signup': '1003',
  },
  check,
  // The payload names the conversion rule, which belongs to one ad account.
  account: [],
  // LinkedIn accepts 5,000 conversions, but its answer describes each one and only 64 KiB of an answer are read.
  batchMax: 500,
  limits: () => LIMITS,
  baseUrl: () => BASE,
  payload,
  request,
  verdict,
  fix,
  misconfigured,
  token,
  authorization,
  test,
  untested: 'LinkedIn has no test mode.',
  listAccount,
};
