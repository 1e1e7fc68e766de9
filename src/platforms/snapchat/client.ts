import {
  type Call,
  type Connection,
  endpointUrl,
  type PlatformRequest,
  refreshTokenForm,
  type TestCall,
  type TokenRequest,
} from '../platform.js';
import { API_VERSION } from './settings.js';
import { verdict } from './verdict.js';

export const BASE = 'https://tr.snapchat.com';
export const ACCOUNTS = 'https://accounts.snapchat.com';

export function request(items: readonly string[], call: Call): PlatformRequest {
  return eventsRequest(items, call, '/events');
}

/** Snapchat validates the event and does not record it. */
export function test(item: string, call: Call): TestCall {
  return {
    request: eventsRequest([item], call, '/events/validate'),
    sent: true,
    checks: ['payload', 'credentials', 'pixel'],
    verdict: (response) => verdict(response, 1),
  };
}

/** A refresh token takes precedence over an access token that was set. */
export function token(connection: Connection): TokenRequest | undefined {
  const form = refreshTokenForm(connection);
  return form && { url: endpointUrl(connection, ACCOUNTS, '/login/oauth2/access_token'), form };
}

/** Snapchat accepts the token only in the query, which makes the whole URL a secret. */
function eventsRequest(items: readonly string[], { connection, accessToken }: Call, path: string): PlatformRequest {
  const { pixel_id, api_version = API_VERSION } = connection.settings;
  const { access_token = '' } = connection.secrets;
  const query = `?access_token=${encodeURIComponent(accessToken ?? access_token)}`;
  return {
    method: 'POST',
    url: endpointUrl(connection, BASE, `/${api_version}/${pixel_id}${path}${query}`),
    headers: { 'content-type': 'application/json' },
    body: `{"data":[${items.join()}]}`,
  };
}
