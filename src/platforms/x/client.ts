import { type Call, endpointUrl, type PlatformRequest } from '../platform.js';
import { API_VERSION } from './settings.js';

export const BASE = 'https://ads-api.x.com';

export function request(items: readonly string[], { connection }: Call): PlatformRequest {
  const { settings, secrets } = connection;
  const version = settings['api_version'] ?? API_VERSION;
  return {
    method: 'POST',
    url: endpointUrl(connection, BASE, `/${version}/measurement/conversions/${settings['pixel_id']}`),
    headers: { 'content-type': 'application/json', 'x-pixel-token': secrets['pixel_token'] ?? '' },
    body: `{"conversions":[${items.join(',')}]}`,
  };
}
