import { createHash, type KeyObject, sign, verify } from 'node:crypto';

/** Finds compact JWS tokens in any text. Their header is a JSON object, so the first part starts with `eyJ`. */
const TOKENS = /\beyJ[\w-]*\.eyJ[\w-]*\.[\w-]{86}(?![\w-])/g;

interface DecodedJws {
  readonly keyId: string;
  readonly payload: unknown;
}

/** A compact JWS (RFC 7515) signed with Ed25519 (RFC 8037). */
export function signJws(payload: object, privateKey: KeyObject, keyId: string): string {
  const header = { alg: 'EdDSA', kid: keyId };
  const input = `${encode(JSON.stringify(header))}.${encode(JSON.stringify(payload))}`;
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`;
}

/** Reads a token without checking its signature. Undefined if it is not an EdDSA token. */
export function decodeJws(token: string): DecodedJws | undefined {
  const [header, payload] = token.split('.').slice(0, 2).map(parse);
  const { alg, kid } = (header ?? {}) as { alg?: unknown; kid?: unknown };
  if (alg !== 'EdDSA' || typeof kid !== 'string' || payload === undefined) return undefined;
  return { keyId: kid, payload };
}

/** Whether the private key of `publicKey` signed the token. */
export function isSignedBy(token: string, publicKey: KeyObject): boolean {
  const end = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  return decodeJws(token) !== undefined && verify(null, Buffer.from(token.slice(0, end)), publicKey, signature);
}

export function findTokens(text: string): string[] {
  return text.match(TOKENS) ?? [];
}

/** Thumbprint (RFC 7638) of an Ed25519 key: computable from the public key alone. */
export function keyIdOf(key: KeyObject): string {
  const { x } = key.export({ format: 'jwk' });
  return createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url');
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64url');
}

function parse(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString());
  } catch {
    return undefined;
  }
}
