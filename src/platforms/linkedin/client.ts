import {
  type Call,
  type Connection,
  endpointUrl,
  type PlatformRequest,
  refreshTokenForm,
  type TokenRequest,
} from '../platform.js';
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
  const form = refreshTokenForm(connection);
  return form && { url: endpointUrl(connection, 'https://www.linkedin.com', '/oauth/v2/accessToken'), form };
}
