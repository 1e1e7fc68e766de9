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
import { API_VERSION } from './settings.js';
import { testVerdict } from './verdict.js';

export const BASE = 'https://api.pinterest.com';
export const TOKEN_PATH = `/${API_VERSION}/oauth/token`;

export function request(items: readonly string[], call: Call): PlatformRequest {
  return eventsRequest(items, call, '');
}

/** Pinterest validates the event and does not record it. */
export function test(item: string, call: Call): TestCall {
  return {
    request: eventsRequest([item], call, '?test=true'),
    sent: true,
    checks: ['payload', 'credentials', 'account'],
    verdict: testVerdict,
  };
}

/** A refresh token takes precedence over an access token that was set. */
export function token(connection: Connection): TokenRequest | undefined {
  const form = refreshTokenForm(connection);
  if (!form) return undefined;
  const { client_id, client_secret, ...rest } = form;
  const headers = basicAuthorization(client_id, client_secret);
  return { url: endpointUrl(connection, BASE, TOKEN_PATH), headers, form: { ...rest, continuous_refresh: 'true' } };
}

function eventsRequest(items: readonly string[], { connection, accessToken }: Call, query: string): PlatformRequest {
  const { ad_account_id, api_version = API_VERSION } = connection.settings;
  const { access_token = '' } = connection.secrets;
  return {
    method: 'POST',
    url: endpointUrl(connection, BASE, `/${api_version}/ad_accounts/${ad_account_id}/events${query}`),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${accessToken ?? access_token}` },
    body: `{"data":[${items.join()}]}`,
  };
}
