import { type Call, endpointUrl, type PlatformRequest, type TestCall } from '../platform.js';
import { isApp } from './settings.js';
import { validationVerdict } from './verdict.js';

export const BASE = 'https://www.google-analytics.com';

export function request([item = '']: readonly string[], call: Call): PlatformRequest {
  return post('/mp/collect', item, call);
}

/** Google's validation endpoint reports errors in a payload. It records nothing and does not check the credentials. */
export function test(item: string, call: Call): TestCall {
  return {
    request: post('/debug/mp/collect', item, call),
    sent: false,
    checks: ['payload'],
    verdict: validationVerdict,
  };
}

function post(path: string, body: string, { connection }: Call): PlatformRequest {
  const stream = isApp(connection.settings) ? 'firebase_app_id' : 'measurement_id';
  const query = new URLSearchParams({
    [stream]: connection.settings[stream] ?? '',
    api_secret: connection.secrets['api_secret'] ?? '',
  });
  return {
    method: 'POST',
    url: endpointUrl(connection, BASE, `${path}?${query}`),
    headers: { 'content-type': 'application/json' },
    body,
  };
}
