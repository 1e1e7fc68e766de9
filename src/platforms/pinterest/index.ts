import type { Platform } from '../platform.js';
import { authorization } from './authorization.js';
import { BASE, request, test, token } from './client.js';
import { listAccount } from './list-account.js';
import { payload } from './payload.js';
import { check, fields } from './settings.js';
import { verdict } from './verdict.js';

export const pinterest: Platform = {
  name: 'pinterest',
  fields,
  check,
  account: ['ad_account_id'],
  // Pinterest accepts 1,000 events, but its answer describes each one and only 64 KiB of an answer are read.
  batchMax: 100,
  baseUrl: () => BASE,
  payload,
  request,
  verdict,
  token,
  authorization,
  test,
  listAccount,
};
