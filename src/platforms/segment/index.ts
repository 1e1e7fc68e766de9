import type { Platform } from '../platform.js';
import { withPresets } from '../presets.js';
import { BASE, request } from './client.js';
import { manifest } from './manifest.js';
import { EVENT_NAMES, payload } from './payload.js';
import { fields, PRESETS } from './settings.js';
import { verdict } from './verdict.js';

const LIMITS = { dedupWindowMs: 24 * 60 * 60 * 1_000 };

export const platform: Platform = {
  ...manifest,
  fields,
  demo: { write_key: 'demo-write-key' },
  // The write key identifies the source. Segment recognises a duplicate in all its sources.
  eventNames: EVENT_NAMES,
  account: [],
  // Segment accepts 2,500 events but silently drops what exceeds 500 kB: 100 events leave 5 kB for each.
  batchMax: 100,
  limits: () => LIMITS,
  baseUrl: () => BASE,
  takesAnonymous: ({ when_denied }) => when_denied !== 'skip',
  payload: (conversion, settings) => payload(conversion, withPresets(settings, PRESETS)),
  request,
  verdict,
  untested:
    'Segment has no test mode, and answers a wrong write_key like a right one. Look for a conversion in the debugger of the source.',
};
