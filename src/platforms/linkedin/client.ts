import { type Call, type Connection, endpointUrl, type PlatformRequest, type TokenRequest } from '../platform.js';
import { API_VERSION } from './settings.js';

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

/** Credentials for fresh tokens take precedence over a configured access token. */
export function token(connection: Connection): TokenRequest | undefined {
  const { client_secret, refresh_token } = connection.secrets;
  const { client_id } = connection.settings;
  if (!client_id || !client_secret || !refresh_token) return undefined;
  return {
    url: endpointUrl(connection, 'https://www.linkedin.com', '/oauth/v2/accessToken'),
    form: { grant_type: 'refresh_token', refresh_token, client_id, client_secret },
  };
}
