import { basicAuthorization } from '../authorization.js';
import {
  type Call,
  type Connection,
  endpointUrl,
  type PlatformRequest,
  refreshTokenForm,
  type TestCall,
  type TokenRequest,
} from '../platform.js';
import { memberVerdict, verdict } from './verdict.js';

export const BASE = 'https://ads-api.reddit.com';
export const OAUTH = 'https://www.reddit.com';

/** Reddit throttles the default user agents of HTTP libraries. */
export const USER_AGENT = 'clean-conversions/1 (server-side conversion relay)';

export function request(items: readonly string[], call: Call): PlatformRequest {
  return post(`{"data":{"events":[${items.join(',')}]}}`, call);
}

/** With a test id the event appears in Event Testing and is not counted. Without one, only the owner of the token is read. */
export function test(item: string, call: Call): TestCall {
  const testId = call.connection.settings['test_id'];
  if (testId === undefined)
    return { request: memberRequest(call), sent: false, checks: ['credentials'], verdict: memberVerdict };
  return {
    request: post(`{"data":{"test_id":${JSON.stringify(testId)},"events":[${item}]}}`, call),
    sent: true,
    checks: ['payload', 'credentials', 'pixel'],
    verdict: (response) => verdict(response, 1),
  };
}

/** A refresh token takes precedence over an access token that was set. */
export function token(connection: Connection): TokenRequest | undefined {
  const form = refreshTokenForm(connection);
  if (!form) return undefined;
  const { client_id, client_secret, ...rest } = form;
  const headers = { ...basicAuthorization(client_id, client_secret), 'user-agent': USER_AGENT };
  return { url: endpointUrl(connection, OAUTH, '/api/v1/access_token'), headers, form: rest };
}

function memberRequest({ connection, accessToken }: Call): PlatformRequest {
  return {
    method: 'GET',
    url: endpointUrl(connection, BASE, '/api/v3/me'),
    headers: {
      authorization: `Bearer ${accessToken ?? connection.secrets['access_token'] ?? ''}`,
      'user-agent': USER_AGENT,
    },
  };
}

function post(body: string, { connection, accessToken }: Call): PlatformRequest {
  return {
    method: 'POST',
    url: endpointUrl(connection, BASE, `/api/v3/pixels/${connection.settings['pixel_id']}/conversion_events`),
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${accessToken ?? connection.secrets['access_token']}`,
      'user-agent': USER_AGENT,
    },
    body,
  };
}
