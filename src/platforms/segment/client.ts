import { addressOf, type Call, type PlatformRequest } from '../platform.js';

const BASE = 'https://api.segment.io';
/** Jitsu's own addresses have no version in them. */
const JITSU = /\/api\/s(?:\/s2s)?\/?$/;

export function request(items: readonly string[], { connection }: Call): PlatformRequest {
  const [single] = items.length === 1 ? items : [];
  const version = JITSU.test(connection.endpoint ?? '') ? '' : '/v1';
  return {
    method: 'POST',
    url: addressOf(connection, BASE, version + (single === undefined ? '/batch' : '/track')),
    headers: {
      'content-type': 'application/json',
      authorization: `Basic ${credentials(connection.secrets['write_key'] ?? '')}`,
    },
    body: single ?? `{"batch":[${items.join(',')}]}`,
  };
}

/** A user without a password; Jitsu's key is both. */
function credentials(writeKey: string): string {
  return Buffer.from(writeKey.includes(':') ? writeKey : `${writeKey}:`).toString('base64');
}
