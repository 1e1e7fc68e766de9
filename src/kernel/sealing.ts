import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { UserError } from './errors.js';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Opened {
  readonly by: 'current' | 'previous';
  readonly plain: Buffer;
}

/** How many sealed values the current key opens, how many only the previous one, and which neither opens. */
export interface CountedByKey {
  current: number;
  previous: number;
  readonly unreadable: string[];
}

/** AES-256-GCM. `label` identifies the value: a sealed value does not open under another label. */
export class Sealer {
  constructor(
    private readonly key: Buffer,
    /** Opens values that were sealed before the key changed, until they are sealed again. */
    private readonly previousKey?: Buffer,
  ) {}

  seal(plain: Buffer, label: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.key, nonce).setAAD(Buffer.from(label));
    const body = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), body]);
  }

  open(sealed: Buffer, label: string): Buffer {
    const opened = this.tryOpen(sealed, label);
    if (opened) return opened.plain;
    throw new UserError(
      `A stored secret (${label}) does not open with SECRET_KEY. Set the key it was sealed with as SECRET_KEY_PREVIOUS.`,
    );
  }

  /** The value and the key that opens it; undefined if neither does. */
  tryOpen(sealed: Buffer, label: string): Opened | undefined {
    for (const [by, key] of [['current', this.key] as const, ['previous', this.previousKey] as const]) {
      if (!key) continue;
      try {
        return { by, plain: unseal(key, sealed, label) };
      } catch {
        // Not sealed with this key.
      }
    }
    return undefined;
  }
}

function unseal(key: Buffer, sealed: Buffer, label: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(label)).setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
}
