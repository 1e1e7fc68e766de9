import type { Platform } from '../platform.js';
import { request, test } from './client.js';
import { payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

export const pinterest: Platform = {
  name: 'pinterest',
  fields,
  check,
  // A call may carry 1,000, but the answer describes each one, and of an answer no more than 64 KiB is read.
  batchMax: 100,
  payload,
  request,
  verdict,
  test,
};
