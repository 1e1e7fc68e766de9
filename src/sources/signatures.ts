import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export function hmac(
  algorithm: 'sha1' | 'sha256',
  secret: string,
  encoding: 'hex' | 'base64',
  ...parts: readonly (Buffer | string)[]
): string {
  const digest = createHmac(algorithm, secret);
  for (const part of parts) digest.update(part);
  return digest.digest(encoding);
}

/** Takes the same time wherever the texts differ; their lengths are no secret. */
export function isEqual(sent: string, expected: string): boolean {
  const [one, other] = [Buffer.from(sent), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** A header that occurs once. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
