import { type Call, endpointUrl, type PlatformRequest, type TestCall } from '../platform.js';
import { API_VERSION } from './settings.js';
import { testVerdict } from './verdict.js';

export const BASE = 'https://api.pinterest.com';

export function request(items: readonly string[], call: Call): PlatformRequest {
  return eventsRequest(items, call, '');
}

/** Pinterest validates the event and does not record it. */
export function test(item: string, call: Call): TestCall {
  return { request: eventsRequest([item], call, '?test=true'), sent: true, verdict: testVerdict };
}

function eventsRequest(items: readonly string[], { connection }: Call, query: string): PlatformRequest {
  const { ad_account_id, api_version = API_VERSION } = connection.settings;
  const { access_token = '' } = connection.secrets;
  return {
    method: 'POST',
    url: endpointUrl(connection, BASE, `/${api_version}/ad_accounts/${ad_account_id}/events${query}`),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${access_token}` },
    body: `{"data":[${items.join()}]}`,
  };
}
