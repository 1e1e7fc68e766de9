import { hash, randomBytes } from 'node:crypto';

/** A random secret and the digest that is stored of it. 256 random bits need no slow hash. */
interface SecretToken {
  readonly text: string;
  readonly hash: Buffer;
}

export function generateSecretToken(prefix = ''): SecretToken {
  const text = prefix + randomBytes(32).toString('base64url');
  return { text, hash: hashSecretToken(text) };
}

/** Names a stored hash in an event, without telling it. */
export function digestOf(stored: Buffer | string): string {
  return hash('sha256', stored, 'hex');
}

export function hashSecretToken(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
