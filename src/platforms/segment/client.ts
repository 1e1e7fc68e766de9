import { type Call, endpointUrl, type PlatformRequest } from '../platform.js';

export const BASE = 'https://api.segment.io';
/** Jitsu's own paths have no version prefix. */
const JITSU = /\/api\/s(?:\/s2s)?\/?$/;

export function request(items: readonly string[], { connection }: Call): PlatformRequest {
  const [single] = items.length === 1 ? items : [];
  const version = JITSU.test(connection.endpoint ?? '') ? '' : '/v1';
  return {
    method: 'POST',
    url: endpointUrl(connection, BASE, version + (single === undefined ? '/batch' : '/track')),
    headers: {
      'content-type': 'application/json',
      authorization: `Basic ${credentials(connection.secrets['write_key'] ?? '')}`,
    },
    body: single ?? `{"batch":[${items.join(',')}]}`,
  };
}

/** The write key is a user name without a password; a Jitsu key contains both. */
function credentials(writeKey: string): string {
  return Buffer.from(writeKey.includes(':') ? writeKey : `${writeKey}:`).toString('base64');
}
