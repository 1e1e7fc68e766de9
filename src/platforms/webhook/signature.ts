import { createHmac } from 'node:crypto';

export const SECRET_PREFIX = 'whsec_';

/** As Standard Webhooks has it: over id, time and the exact bytes that are sent. */
export function signature(secret: string, id: string, timestamp: number, body: string): string {
  const digest = createHmac('sha256', signingKey(secret)).update(`${id}.${timestamp}.${body}`).digest('base64');
  return `v1,${digest}`;
}

export function signingKey(secret: string): Buffer {
  return secret.startsWith(SECRET_PREFIX)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    : Buffer.from(secret);
}
