import { generateKeyPairSync } from 'node:crypto';
import { signCheckpoint } from '../../checkpoints/checkpoint.js';
import { signRemoval } from '../../checkpoints/signed-removal.js';
import type { SigningKey } from '../../checkpoints/signing-keys.js';
import { type KeyRotation, TrustedKeys } from '../../checkpoints/trusted-keys.js';
import { keyIdOf, signJws } from '../../kernel/jws.js';
import { acceptRemovals, firstCheckpointOf } from './removals.js';

function newKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { id: keyIdOf(publicKey), privateKey, publicKey: publicKey.export({ format: 'pem', type: 'spki' }) as string };
}

function handOver(position: number, previous: SigningKey, next: SigningKey): KeyRotation {
  const data = { keyId: next.id, publicKey: next.publicKey, previousKeyId: previous.id };
  return { ...data, position, signature: signJws(data, previous.privateKey, previous.id) };
}

describe('acceptRemovals', () => {
  const [key, next, forger] = [newKey(), newKey(), newKey()];
  const removal = { first: 500, last: 600, events: 101, digest: 'ab'.repeat(32) };
  const signed = (by: SigningKey, position = 700) => ({ ...removal, position, signature: signRemoval(by, removal) });
  const rotations = [handOver(650, key, next)];
  const REFUSED =
    'the event at position 700 states that retention removed positions 500 to 600, and no trusted key signed that';
  const checkpoint = (by: SigningKey, position: number, cell = 'local') =>
    signCheckpoint(by, { cell, position, head: 'cd'.repeat(32), time: '2026-01-01T00:00:00.000Z' });

  it('accepts what a trusted key signed, and a key that it has handed over to', () => {
    const keys = new TrustedKeys([key.publicKey], rotations);
    for (const each of [signed(key), signed(next)])
      expect(acceptRemovals([each], keys, 0)).toEqual({ accepted: [each], unverified: 0, violations: [] });
  });

  it.each([
    ['without a signature', { ...removal, position: 700 }],
    ['with a signature that is none', { ...removal, position: 700, signature: 'x.y.z' }],
    ['signed by another key', signed(forger)],
    ['signed by another key under the id of a trusted one', signed({ ...forger, id: key.id })],
    [
      'with the signature of another removal',
      { ...signed(key), signature: signRemoval(key, { ...removal, last: 599 }) },
    ],
    ['with the signature of a checkpoint', { ...signed(key), signature: checkpoint(key, 600) }],
  ])('refuses a removal %s', (_, recorded) => {
    const keys = new TrustedKeys([key.publicKey], []);
    expect(acceptRemovals([recorded], keys, 0)).toEqual({ accepted: [], unverified: 0, violations: [REFUSED] });
  });

  it('counts what a key before the given one signed, and refuses it after a checkpoint of the given one', () => {
    const keys = new TrustedKeys([next.publicKey], rotations);
    const each = signed(key);
    expect(acceptRemovals([each], keys, 700)).toEqual({ accepted: [each], unverified: 1, violations: [] });
    expect(acceptRemovals([each], keys, 699)).toEqual({ accepted: [], unverified: 0, violations: [REFUSED] });
  });

  it('is not misled by a forged hand-over to the trusted key, if a checkpoint was kept before', () => {
    const keys = new TrustedKeys([key.publicKey], [handOver(699, forger, key)]);
    const first = firstCheckpointOf(keys, 'local', [checkpoint(key, 690), checkpoint(key, 680), checkpoint(forger, 1)]);
    expect(first).toBe(680);
    expect(acceptRemovals([signed(forger)], keys, first).violations).toEqual([REFUSED]);
  });

  it('does not take checkpoints of other cells or of other keys for those of the trusted key', () => {
    const keys = new TrustedKeys([key.publicKey], []);
    const tokens = [checkpoint(key, 1, 'other'), checkpoint({ ...forger, id: key.id }, 2), 'no token'];
    expect(firstCheckpointOf(keys, 'local', tokens)).toBe(Number.POSITIVE_INFINITY);
  });
});
