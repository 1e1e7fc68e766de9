import type { Platform } from '../platform.js';
import { request } from './client.js';
import { payload } from './payload.js';
import { fields } from './settings.js';
import { verdict } from './verdict.js';

export const segment: Platform = {
  name: 'segment',
  fields,
  // It takes 2,500, but 500 kB in all: that leaves 5 kB for each, and drops what is beyond without a word.
  batchMax: 100,
  dedupWindowMs: 24 * 60 * 60 * 1_000,
  payload,
  request,
  verdict,
};
