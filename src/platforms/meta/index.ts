import { fixOf, isMisconfiguration } from '../error-table.js';
import type { Platform } from '../platform.js';
import { withPresets } from '../presets.js';
import { authorization } from './authorization.js';
import { BASE, request, test } from './client.js';
import { ERRORS } from './errors.js';
import { listAccount } from './list-account.js';
import { manifest } from './manifest.js';
import { EVENT_NAMES, payload } from './payload.js';
import { check, fields, PRESETS } from './settings.js';
import { verdict } from './verdict.js';

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;
const LIMITS = { dedupWindowMs: 48 * HOUR_MS, ageMaxMs: 7 * DAY_MS };
/** Shops upload their sales late, so Meta accepts those for longer. */
const STORE_LIMITS = { ...LIMITS, ageMaxMs: 62 * DAY_MS };

export const platform: Platform = {
  ...manifest,
  fields,
  demo: { pixel_id: '1234567890', access_token: 'demo-access-token' },
  check,
  eventNames: EVENT_NAMES,
  account: ['pixel_id'],
  batchMax: 1_000,
  limits: (_, { source }) => (source === 'physical_store' ? STORE_LIMITS : LIMITS),
  baseUrl: () => BASE,
  payload: (conversion, settings) => payload(conversion, withPresets(settings, PRESETS)),
  request,
  verdict,
  authorization,
  fix: (reason) => fixOf(ERRORS, reason),
  misconfigured: (reason) => isMisconfiguration(ERRORS, reason),
  test,
  untested:
    'Meta counts every event without a test code. Set test_event_code to the code of the Test events tab in Events Manager.',
  listAccount,
};
