import { createHmac, hash } from 'node:crypto';
import type { ConversionPersonal } from '../../events/conversion.events.js';

/**
 * Tells whether two attempts sent the same body. A payload may hold little more than the hash of an address, so the digest is keyed with
 * a random key in the personal part: without it, a list of addresses does not tell whose payload it is, and an erasure deletes it. Conversions that
 * were received before there was a key have a plain digest, which is not published (`unpublished-fields.ts`).
 */
export function bodyDigest(body: string, { payloadKey }: Pick<ConversionPersonal, 'payloadKey'>): string {
  if (payloadKey === undefined) return hash('sha256', body);
  return createHmac('sha256', payloadKey).update(body).digest('base64url');
}
