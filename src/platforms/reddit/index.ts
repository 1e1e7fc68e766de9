import type { Platform } from '../platform.js';
import { authorization } from './authorization.js';
import { BASE, request, test, token } from './client.js';
import { listAccount } from './list-account.js';
import { payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const LIMITS = { dedupWindowMs: 2 * DAY_MS, ageMaxMs: 7 * DAY_MS };

export const reddit: Platform = {
  name: 'reddit',
  fields,
  check,
  account: ['pixel_id'],
  batchMax: 1_000,
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
