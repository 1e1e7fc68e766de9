import { hash } from 'node:crypto';

const DIGEST = /^[0-9a-f]{64}$/i;

/** SHA-256, hex. Undefined for an empty text, whose hash would match unrelated people. */
export function sha256Of(text: string | undefined): string | undefined {
  return text ? hash('sha256', text) : undefined;
}

/** The hash of the sender's id of the customer. An id that is a SHA-256 already is the hash that a pixel sends for it. */
export function externalIdHash(
  id: string | undefined,
  normalise = (text: string): string | undefined => text,
): string | undefined {
  if (id === undefined) return undefined;
  return DIGEST.test(id) ? id.toLowerCase() : sha256Of(normalise(id));
}

/** In lower case, letters and digits of the Latin alphabet only. Undefined unless it starts with a letter. */
export function latinOf(text: string | undefined): string | undefined {
  const latin = text?.replace(/[^a-z0-9]+/gi, '').toLowerCase();
  return latin && /^[a-z]/.test(latin) ? latin : undefined;
}

/** In lower case, without spaces, punctuation and symbols. Accents and other scripts are kept, as in names. */
export function joinedOf(text: string | undefined): string | undefined {
  return text?.replace(/[\s\p{P}\p{S}]+/gu, '').toLowerCase();
}

/** A code of two letters in lower case; undefined for a name, which has no such form. */
export function twoLettersOf(text: string | undefined): string | undefined {
  return text !== undefined && /^[a-z]{2}$/i.test(text) ? text.toLowerCase() : undefined;
}
