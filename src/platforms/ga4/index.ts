import type { Platform } from '../platform.js';
import { request, test } from './client.js';
import { payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

export const ga4: Platform = {
  name: 'ga4',
  fields,
  check,
  // A request has one client id, and conversions have different ones.
  batchMax: 1,
  ageMaxMs: 72 * 60 * 60 * 1_000,
  payload,
  request,
  verdict,
  test,
};
