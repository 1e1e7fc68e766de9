import type { Platform } from '../platform.js';
import { request, test } from './client.js';
import { payload } from './payload.js';
import { fields } from './settings.js';
import { verdict } from './verdict.js';

export const webhook: Platform = {
  name: 'webhook',
  fields,
  customerAddress: true,
  baseUrl: ({ url = '' }) => url,
  account: ['url'],
  // A message has one id, by which the receiver detects duplicates.
  batchMax: 1,
  payload,
  request,
  verdict,
  test,
};
