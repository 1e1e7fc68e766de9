import type { Platform } from '../platform.js';
import { authorization } from './authorization.js';
import { BASE, request, test, token } from './client.js';
import { listAccount } from './list-account.js';
import { payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

const HOUR_MS = 60 * 60 * 1_000;
const LIMITS = { dedupWindowMs: 48 * HOUR_MS, ageMaxMs: 37 * 24 * HOUR_MS };

export const snapchat: Platform = {
  name: 'snapchat',
  fields,
  check,
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
