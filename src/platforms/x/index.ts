import { fixOf } from '../error-table.js';
import type { Platform } from '../platform.js';
import { BASE, request } from './client.js';
import { ERRORS } from './errors.js';
import { manifest } from './manifest.js';
import { payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

export const platform: Platform = {
  ...manifest,
  fields,
  demo: {
    pixel_id: 'o8z6j',
    pixel_token: 'demo-pixel-token',
    'event.purchase': 'tw-o8z6j-o87ne',
    'event.lead': 'tw-o8z6j-o87nf',
    'event.signup': 'tw-o8z6j-o87ng',
  },
  check,
  account: ['pixel_id'],
  batchMax: 500,
  baseUrl: () => BASE,
  payload,
  request,
  verdict,
  untested: 'X has no test mode, and no request that checks pixel_token without a conversion.',
  fix: (reason) => fixOf(ERRORS, reason),
};
