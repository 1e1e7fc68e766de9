import { type Call, endpointUrl, type PlatformRequest } from '../platform.js';
import { API_VERSION } from './settings.js';

export function request(items: readonly string[], { connection }: Call): PlatformRequest {
  const { settings, secrets } = connection;
  const version = settings['api_version'] ?? API_VERSION;
  return {
    method: 'POST',
    url: endpointUrl(
      connection,
      'https://ads-api.x.com',
      `/${version}/measurement/conversions/${settings['pixel_id']}`,
    ),
    headers: { 'content-type': 'application/json', 'x-pixel-token': secrets['pixel_token'] ?? '' },
    body: `{"conversions":[${items.join(',')}]}`,
  };
}
