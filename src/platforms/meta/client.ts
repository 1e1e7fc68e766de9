import { type Call, type Connection, endpointUrl, type PlatformRequest, type TestCall } from '../platform.js';
import { API_VERSION } from './settings.js';
import { verdict } from './verdict.js';

export const BASE = 'https://graph.facebook.com';

export function request(items: readonly string[], { connection }: Call): PlatformRequest {
  return eventsRequest(connection, `"data":[${items.join()}]`);
}

/** Without a test code there is no test mode: Meta counts every event. */
export function test(item: string, { connection }: Call): TestCall | undefined {
  const { test_event_code } = connection.settings;
  if (test_event_code === undefined) return undefined;
  return {
    request: eventsRequest(connection, `"data":[${item}],"test_event_code":${JSON.stringify(test_event_code)}`),
    sent: true,
    verdict: (response) => verdict(response, 1),
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
