import type { Platform } from '../platform.js';
import { authorization } from './authorization.js';
import { BASE, request, test, token } from './client.js';
import { listAccount } from './list-account.js';
import { manifest } from './manifest.js';
import { EVENT_NAMES, payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const LIMITS = { dedupWindowMs: 2 * DAY_MS, ageMaxMs: 7 * DAY_MS };

export const platform: Platform = {
  ...manifest,
  fields,
  demo: { pixel_id: 't2_demo1', access_token: 'demo-access-token' },
  check,
  eventNames: EVENT_NAMES,
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
  untested: 'Reddit counts every event without a test id. Set test_id to the one of Event Testing in Events Manager.',
  listAccount,
};
