import { fixOf } from '../error-table.js';
import type { Platform } from '../platform.js';
import { BASE, request } from './client.js';
import { ERRORS } from './errors.js';
import { payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

export const x: Platform = {
  name: 'x',
  fields,
  check,
  account: ['pixel_id'],
  batchMax: 500,
  baseUrl: () => BASE,
  payload,
  request,
  verdict,
  fix: (reason) => fixOf(ERRORS, reason),
};
