import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { decodeJws, findTokens, isSignedBy, keyIdOf, signJws } from './jws.js';

/** The key of RFC 8037, appendix A. */
const RFC_KEY = {
  kty: 'OKP',
  crv: 'Ed25519',
  d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
};
const privateKey = createPrivateKey({ key: RFC_KEY, format: 'jwk' });
const publicKey = createPublicKey(privateKey);

describe('JWS', () => {
  it('identifies a key by its thumbprint, as in the example of RFC 8037', () => {
    expect(keyIdOf(publicKey)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
    expect(keyIdOf(privateKey)).toBe(keyIdOf(publicKey));
  });

  it('verifies with the key that signed it and with no other', () => {
    const token = signJws({ position: 7 }, privateKey, 'k');
    expect(decodeJws(token)).toEqual({ keyId: 'k', payload: { position: 7 } });
    expect(isSignedBy(token, publicKey)).toBe(true);
    expect(isSignedBy(token, generateKeyPairSync('ed25519').publicKey)).toBe(false);
  });

  it('does not verify a changed payload, a changed header or another algorithm', () => {
    const [header, , signature] = signJws({ position: 7 }, privateKey, 'k').split('.');
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    expect(isSignedBy(`${header}.${part({ position: 8 })}.${signature}`, publicKey)).toBe(false);
    expect(isSignedBy(`${part({ alg: 'EdDSA', kid: 'l' })}.${part({ position: 7 })}.${signature}`, publicKey)).toBe(
      false,
    );
    expect(isSignedBy(`${part({ alg: 'none', kid: 'k' })}.${part({ position: 7 })}.`, publicKey)).toBe(false);
    expect(isSignedBy('not a token', publicKey)).toBe(false);
  });

  it('is found in headers, JSON and lines of text', () => {
    const [one, two] = [signJws({ position: 1 }, privateKey, 'k'), signJws({ position: 2 }, privateKey, 'k')];
    expect(findTokens(`X-CC-Checkpoint: ${one}\n{"checkpoint":"${two}"}`)).toEqual([one, two]);
    expect(findTokens('nothing here')).toEqual([]);
  });
});
