import { type Call, type Connection, endpointUrl, type PlatformRequest, type TestCall } from '../platform.js';
import { API_VERSION } from './settings.js';
import { pixelVerdict, verdict } from './verdict.js';

export const BASE = 'https://graph.facebook.com';

export function request(items: readonly string[], { connection }: Call): PlatformRequest {
  return eventsRequest(connection, `"data":[${items.join()}]`);
}

/** Without a test code Meta counts every event, so only the token and the pixel are read. */
export function test(item: string, { connection }: Call): TestCall {
  const { test_event_code } = connection.settings;
  if (test_event_code === undefined)
    return { request: pixelRequest(connection), sent: false, checks: ['credentials', 'pixel'], verdict: pixelVerdict };
  return {
    request: eventsRequest(connection, `"data":[${item}],"test_event_code":${JSON.stringify(test_event_code)}`),
    sent: true,
    checks: ['payload', 'credentials', 'pixel'],
    verdict: (response) => verdict(response, 1),
  };
}

function pixelRequest(connection: Connection): PlatformRequest {
  const { pixel_id, api_version = API_VERSION } = connection.settings;
  return {
    method: 'GET',
    url: `${endpointUrl(connection, BASE, `/${api_version}/${pixel_id}`)}?fields=id`,
    headers: { authorization: `Bearer ${connection.secrets['access_token'] ?? ''}` },
  };
}

/** The token is sent in the body, because proxies log URLs. */
function eventsRequest(connection: Connection, members: string): PlatformRequest {
  const { pixel_id, api_version = API_VERSION } = connection.settings;
  const { access_token = '' } = connection.secrets;
  return {
    method: 'POST',
    url: endpointUrl(connection, BASE, `/${api_version}/${pixel_id}/events`),
    headers: { 'content-type': 'application/json' },
    body: `{"access_token":${JSON.stringify(access_token)},${members}}`,
  };
}
