import { type Call, type Connection, endpointUrl, type PlatformRequest, type TestCall } from '../platform.js';
import { sourceOfGroup } from './event-source.js';
import { API_VERSION } from './settings.js';
import { userVerdict, verdictOfCall } from './verdict.js';

export const BASE = 'https://business-api.tiktok.com';

export function request(items: readonly string[], call: Call): PlatformRequest {
  return trackRequest(call, `"data":[${items.join()}]`);
}

/** Without a test code TikTok counts every event, so only the owner of the token is read. */
export function test(item: string, call: Call): TestCall {
  const { test_event_code } = call.connection.settings;
  if (test_event_code === undefined)
    return { request: userRequest(call.connection), sent: false, checks: ['credentials'], verdict: userVerdict };
  return {
    request: trackRequest(call, `"data":[${item}],"test_event_code":${JSON.stringify(test_event_code)}`),
    sent: true,
    checks: ['payload', 'credentials', 'pixel'],
    verdict: (response) => verdictOfCall(response, 1),
  };
}

function userRequest(connection: Connection): PlatformRequest {
  const { api_version = API_VERSION } = connection.settings;
  return {
    method: 'GET',
    url: endpointUrl(connection, BASE, `/open_api/${api_version}/user/info/`),
    headers: { 'access-token': connection.secrets['access_token'] ?? '' },
  };
}

function trackRequest({ connection, group }: Call, members: string): PlatformRequest {
  const { pixel_code, api_version = API_VERSION } = connection.settings;
  const { access_token = '' } = connection.secrets;
  const source = sourceOfGroup(group, pixel_code);
  return {
    method: 'POST',
    // The trailing slash is part of the path: TikTok answers 404 without it.
    url: endpointUrl(connection, BASE, `/open_api/${api_version}/event/track/`),
    headers: { 'content-type': 'application/json', 'access-token': access_token },
    body: `{"event_source":"${source.type}","event_source_id":${JSON.stringify(source.id)},${members}}`,
  };
}
