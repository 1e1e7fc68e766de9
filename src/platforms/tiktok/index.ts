import { fixOf, isMisconfiguration } from '../error-table.js';
import type { Platform } from '../platform.js';
import { authorization } from './authorization.js';
import { BASE, request, test } from './client.js';
import { ERRORS } from './errors.js';
import { isOffline } from './event-source.js';
import { listAccount } from './list-account.js';
import { manifest } from './manifest.js';
import { EVENT_NAMES, payload } from './payload.js';
import { fields } from './settings.js';
import { verdict } from './verdict.js';

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;
const LIMITS = { dedupWindowMs: 48 * HOUR_MS, ageMaxMs: 7 * DAY_MS };
const OFFLINE_LIMITS = { ...LIMITS, ageMaxMs: 28 * DAY_MS };

export const platform: Platform = {
  ...manifest,
  fields,
  demo: { pixel_code: 'DEMOPIXELCODE', access_token: 'demo-access-token' },
  // Without a mapping a purchase is sent as CompletePayment, its earlier name at TikTok.
  initialSettings: { 'event.purchase': 'Purchase' },
  eventNames: EVENT_NAMES,
  account: ['pixel_code', 'crm_event_set_id', 'offline_event_set_id', 'app_id'],
  batchMax: 1_000,
  limits: (settings, conversion) => (isOffline(conversion, settings) ? OFFLINE_LIMITS : LIMITS),
  baseUrl: () => BASE,
  payload,
  request,
  verdict,
  authorization,
  fix: (reason) => fixOf(ERRORS, reason),
  misconfigured: (reason) => isMisconfiguration(ERRORS, reason),
  test,
  untested:
    'TikTok counts every event without a test code. Set test_event_code to the code of the Test events tab in Events Manager.',
  listAccount,
};
