import { type Call, endpointUrl, type PlatformRequest, type TestCall } from '../platform.js';
import { verdict } from './verdict.js';

export const BASE = 'https://ads-api.reddit.com';

/** Reddit throttles the default user agents of HTTP libraries. */
export const USER_AGENT = 'clean-conversions/1 (server-side conversion relay)';

export function request(items: readonly string[], call: Call): PlatformRequest {
  return post(`{"data":{"events":[${items.join(',')}]}}`, call);
}

/** With a test id the event appears in Event Testing and is not counted. */
export function test(item: string, call: Call): TestCall | undefined {
  const testId = call.connection.settings['test_id'];
  if (testId === undefined) return undefined;
  return {
    request: post(`{"data":{"test_id":${JSON.stringify(testId)},"events":[${item}]}}`, call),
    sent: true,
    verdict: (response) => verdict(response, 1),
  };
}

function post(body: string, { connection }: Call): PlatformRequest {
  return {
    method: 'POST',
    url: endpointUrl(connection, BASE, `/api/v3/pixels/${connection.settings['pixel_id']}/conversion_events`),
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${connection.secrets['access_token']}`,
      'user-agent': USER_AGENT,
    },
    body,
  };
}
