import type { Platform } from '../platform.js';
import { request, token } from './client.js';
import { payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

export const linkedin: Platform = {
  name: 'linkedin',
  fields,
  check,
  // It takes 5,000, but answers about each: of more than 64 KiB of answer the end would not be read.
  batchMax: 500,
  ageMaxMs: 90 * 24 * 60 * 60 * 1_000,
  payload,
  request,
  verdict,
  token,
};
