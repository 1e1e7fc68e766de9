import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { keyIdOf, signJws } from '../kernel/jws.js';
import { type KeyRotation, TrustedKeys } from './trusted-keys.js';

const newKey = () => generateKeyPairSync('ed25519');
const pemOf = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString();

const [first, second, third] = [newKey(), newKey(), newKey()] as const;

/** From one key to another, signed by the first of them unless another one signs. */
function rotation(
  from: typeof first,
  to: typeof first,
  { signer = from, stated = to }: { signer?: typeof first; stated?: typeof first } = {},
): KeyRotation {
  const previousKeyId = keyIdOf(from.publicKey);
  const payload = { keyId: keyIdOf(stated.publicKey), publicKey: pemOf(stated.publicKey) };
  return {
    position: 7,
    keyId: keyIdOf(to.publicKey),
    publicKey: pemOf(to.publicKey),
    previousKeyId,
    signature: signJws(payload, signer.privateKey, previousKeyId),
  };
}

const trusting = (...rotations: KeyRotation[]) => new TrustedKeys([pemOf(first.publicKey)], rotations);
const knows = (keys: TrustedKeys, { publicKey }: typeof first) => keys.get(keyIdOf(publicKey)) !== undefined;

describe('the keys whose checkpoints are trusted', () => {
  it('include those that a trusted key has handed over to, one after the other', () => {
    const keys = trusting(rotation(first, second), rotation(second, third));
    expect([first, second, third].map((key) => knows(keys, key))).toEqual([true, true, true]);
    expect(keys.violations).toEqual([]);
  });

  it('do not include the key of a rotation that another key has signed', () => {
    const keys = trusting(rotation(first, second, { signer: third }));
    expect(knows(keys, second)).toBe(false);
    expect(keys.violations).toEqual(['the key rotation at position 7 is not signed by the key before']);
  });

  it('do not include the key of a rotation whose signature states another key', () => {
    const keys = trusting(rotation(first, second, { stated: third }));
    expect([second, third].map((key) => knows(keys, key))).toEqual([false, false]);
    expect(keys.violations).toEqual(['the key rotation at position 7 is not signed by the key before']);
  });

  it('do not include a key that hands over to a trusted one', () => {
    const keys = trusting(rotation(third, first));
    expect(knows(keys, third)).toBe(false);
    expect(keys.isEarlier(keyIdOf(third.publicKey))).toBe(true);
    expect(keys.violations).toEqual([]);
  });
});
