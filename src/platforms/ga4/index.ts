import type { Platform } from '../platform.js';
import { withPresets } from '../presets.js';
import { BASE, request, test } from './client.js';
import { manifest } from './manifest.js';
import { correction, EVENT_NAMES, payload } from './payload.js';
import { check, fields, isApp, PRESETS } from './settings.js';
import { verdict } from './verdict.js';

const LIMITS = { ageMaxMs: 72 * 60 * 60 * 1_000 };

export const platform: Platform = {
  ...manifest,
  fields,
  demo: {
    measurement_id: 'G-DEMO123456',
    api_secret: 'demo-api-secret',
    synthetic_client_id: 'yes',
    refund_event: 'refund',
  },
  check,
  eventNames: EVENT_NAMES,
  account: ['measurement_id', 'firebase_app_id'],
  // A request has one client id, and conversions have different ones.
  batchMax: 1,
  limits: () => LIMITS,
  hidesRefusals: true,
  baseUrl: () => BASE,
  takesAnonymous: (settings) => settings['synthetic_client_id'] === 'yes' && !isApp(settings),
  payload: (conversion, settings) => payload(conversion, withPresets(settings, PRESETS)),
  correction,
  request,
  verdict,
  test,
  untested:
    'Google Analytics validates the form of events only: it answers a wrong api_secret like a right one. Look for a conversion in its Realtime report.',
};
