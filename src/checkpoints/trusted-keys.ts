import { createPublicKey, type KeyObject } from 'node:crypto';
import { decodeJws, isSignedBy, keyIdOf } from '../kernel/jws.js';

/** What the event `log.key_rotated.v1` records. */
export interface KeyRotation {
  readonly position: number;
  readonly keyId: string;
  /** PEM. */
  readonly publicKey: string;
  readonly previousKeyId: string;
  /** JWS of the previous key over the new key's id and public key. */
  readonly signature: string;
}

/** The keys whose checkpoints are accepted: those given, and those that they have handed over to. */
export class TrustedKeys {
  readonly violations: string[] = [];
  private readonly keys = new Map<string, KeyObject>();
  /** Keys that signed before a given one. They are not trusted because of it: anyone can sign a hand-over to a known key. */
  private readonly earlier = new Set<string>();

  /** `rotations` in log order. */
  constructor(pems: readonly string[], rotations: readonly KeyRotation[]) {
    for (const pem of pems) {
      const key = createPublicKey(pem);
      this.keys.set(keyIdOf(key), key);
    }
    for (const rotation of rotations) this.follow(rotation);
    for (const { previousKeyId } of rotations) if (!this.keys.has(previousKeyId)) this.earlier.add(previousKeyId);
  }

  get(id: string): KeyObject | undefined {
    return this.keys.get(id);
  }

  isEarlier(id: string): boolean {
    return this.earlier.has(id);
  }

  private follow({ position, keyId, publicKey, previousKeyId, ...rotation }: KeyRotation): void {
    const previous = this.keys.get(previousKeyId);
    if (!previous) return;
    // A forged event may have none.
    const signature = String(rotation.signature);
    const payload = decodeJws(signature)?.payload as { keyId?: string; publicKey?: string } | undefined;
    const isStated = payload?.keyId === keyId && payload.publicKey === publicKey;
    if (!isStated || !isSignedBy(signature, previous)) {
      this.violations.push(`the key rotation at position ${position} is not signed by the key before`);
      return;
    }
    const key = createPublicKey(publicKey);
    if (keyIdOf(key) === keyId) this.keys.set(keyId, key);
    else this.violations.push(`the key rotation at position ${position} names another key than it contains`);
  }
}
