import type { Platform } from '../platform.js';
import { authorization } from './authorization.js';
import { BASE, request, test, token } from './client.js';
import { listAccount } from './list-account.js';
import { manifest } from './manifest.js';
import { EVENT_NAMES, payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

const HOUR_MS = 60 * 60 * 1_000;
const LIMITS = { dedupWindowMs: 48 * HOUR_MS, ageMaxMs: 37 * 24 * HOUR_MS };

export const platform: Platform = {
  ...manifest,
  fields,
  demo: { pixel_id: '7e5a1b2c-0000-4000-8000-000000000001', access_token: 'demo-access-token' },
  check,
  eventNames: EVENT_NAMES,
  account: ['pixel_id'],
  batchMax: 2_000,
  limits: () => LIMITS,
  baseUrl: () => BASE,
  payload,
  request,
  verdict,
  token,
  authorization,
  test,
  listAccount,
};
