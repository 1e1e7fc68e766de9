import { tokenOf } from '../account-listing.js';
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
import { accountsVerdict } from './verdict.js';

export const BASE = 'https://api.linkedin.com';

/** A single conversion is sent as a batch too, so that all answers have the same format. */
export function request(items: readonly string[], { connection, accessToken }: Call): PlatformRequest {
  return {
    method: 'POST',
    url: endpointUrl(connection, BASE, '/rest/conversionEvents'),
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${accessToken ?? connection.secrets['access_token']}`,
      'linkedin-version': connection.settings['api_version'] ?? API_VERSION,
      'x-restli-protocol-version': '2.0.0',
      'x-restli-method': 'BATCH_CREATE',
    },
    body: `{"elements":[${items.join(',')}]}`,
  };
}

/** LinkedIn has no test mode, and conversion rules are read by account, which no setting names: the accounts are read. */
export function test(_item: string, call: Call): TestCall {
  return { request: accountsRequest(call, 1), sent: false, checks: ['credentials'], verdict: accountsVerdict };
}

export function accountsRequest(call: Call, pageSize: number, token?: string): PlatformRequest {
  const page = token === undefined ? '' : `&pageToken=${encodeURIComponent(token)}`;
  // LinkedIn requires these brackets as they are.
  const search = 'search=(status:(values:List(ACTIVE,DRAFT)))';
  return get(call, `/rest/adAccounts?q=search&${search}&pageSize=${pageSize}${page}`);
}

export function get(call: Call, path: string): PlatformRequest {
  return {
    method: 'GET',
    url: endpointUrl(call.connection, BASE, path),
    headers: {
      authorization: `Bearer ${tokenOf(call)}`,
      'linkedin-version': call.connection.settings['api_version'] ?? API_VERSION,
      'x-restli-protocol-version': '2.0.0',
    },
  };
}

/** Credentials for fresh tokens take precedence over a configured access token. */
export function token(connection: Connection): TokenRequest | undefined {
  const form = refreshTokenForm(connection);
  return form && { url: endpointUrl(connection, 'https://www.linkedin.com', '/oauth/v2/accessToken'), form };
}
