import type { Platform } from '../platform.js';
import { request, test } from './client.js';
import { manifest } from './manifest.js';
import { payload } from './payload.js';
import { fields } from './settings.js';
import { verdict } from './verdict.js';

export const platform: Platform = {
  ...manifest,
  fields,
  demo: { url: 'https://receiver.example/conversions', secret: 'whsec_ZGVtby1zZWNyZXQtZGVtby1zZWNyZXQ=' },
  customerAddress: true,
  baseUrl: ({ url = '' }) => url,
  account: ['url'],
  // A message has one id, by which the receiver detects duplicates.
  batchMax: 1,
  takesAnonymous: () => true,
  payload,
  request,
  verdict,
  test,
};
