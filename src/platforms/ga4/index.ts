import type { Platform } from '../platform.js';
import { BASE, request, test } from './client.js';
import { correction, payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

const LIMITS = { ageMaxMs: 72 * 60 * 60 * 1_000 };

export const ga4: Platform = {
  name: 'ga4',
  fields,
  check,
  account: ['measurement_id', 'firebase_app_id'],
  // A request has one client id, and conversions have different ones.
  batchMax: 1,
  limits: () => LIMITS,
  hidesRefusals: true,
  baseUrl: () => BASE,
  payload,
  correction,
  request,
  verdict,
  test,
};
