import type { Platform } from '../platform.js';
import { request, test, token } from './client.js';
import { payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

export const microsoftAds: Platform = {
  name: 'microsoft_ads',
  fields,
  check,
  batchMax: 1_000,
  // The limit of the Conversions API. Offline conversions may be 90 days old, longer than any delivery is retried.
  ageMaxMs: 7 * 24 * 3_600_000,
  payload,
  request,
  verdict,
  token,
  test,
};
