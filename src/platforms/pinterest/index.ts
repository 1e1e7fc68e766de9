import type { Platform } from '../platform.js';
import { withPresets } from '../presets.js';
import { authorization } from './authorization.js';
import { BASE, request, test, token } from './client.js';
import { listAccount } from './list-account.js';
import { manifest } from './manifest.js';
import { EVENT_NAMES, payload } from './payload.js';
import { check, fields, PRESETS } from './settings.js';
import { verdict } from './verdict.js';

export const platform: Platform = {
  ...manifest,
  fields,
  demo: { ad_account_id: '123456789012', access_token: 'demo-access-token' },
  check,
  eventNames: EVENT_NAMES,
  account: ['ad_account_id'],
  // Pinterest accepts 1,000 events, but its answer describes each one and only 64 KiB of an answer are read.
  batchMax: 100,
  baseUrl: () => BASE,
  payload: (conversion, settings) => payload(conversion, withPresets(settings, PRESETS)),
  request,
  verdict,
  token,
  authorization,
  test,
  listAccount,
};
