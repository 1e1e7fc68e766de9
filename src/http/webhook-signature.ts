import { createHmac } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';

/** Signs a message as Standard Webhooks defines it: over the id, the timestamp and the exact bytes of the body. */
export function signature(secret: string, id: string, timestamp: number, body: string): string {
  const digest = createHmac('sha256', signingKey(secret)).update(`${id}.${timestamp}.${body}`).digest('base64');
  return `v1,${digest}`;
}

/** Returns what is wrong with a signing secret, or undefined. */
export function secretProblem(value: string): string | undefined {
  if (value.trim() === '') return 'must not be empty: leave it out to have one generated';
  if (!value.startsWith(SECRET_PREFIX)) return undefined;
  // The decoder ignores characters that are not base64, so a typo would silently become another key.
  const encoded = value.slice(SECRET_PREFIX.length);
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && encoded.length % 4 === 0;
  return isBase64 && signingKey(value).length > 0 ? undefined : 'must have base64 after whsec_';
}

function signingKey(secret: string): Buffer {
  return secret.startsWith(SECRET_PREFIX)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    : Buffer.from(secret);
}
