import { decodeJws, signJws } from '../kernel/jws.js';
import type { SigningKey } from './signing-keys.js';

/** A statement that the hash chain of a log had this head. */
export interface Checkpoint {
  readonly cell: string;
  /** Position of the last event that the head covers. */
  readonly position: number;
  /** Head of the hash chain there, in hex. */
  readonly head: string;
  /** When the checkpoint was signed, by the database's clock. */
  readonly time: string;
  /** Id of the key that signed it. */
  readonly key: string;
}

export function signCheckpoint(key: SigningKey, content: Omit<Checkpoint, 'key'>): string {
  const { cell, position, head, time } = content;
  return signJws({ cell, position, head, time, key: key.id }, key.privateKey, key.id);
}

/** Reads a token without checking its signature. Undefined if it is not a checkpoint. */
export function readCheckpoint(token: string): Checkpoint | undefined {
  const decoded = decodeJws(token);
  const { cell, position, head, time, key } = (decoded?.payload ?? {}) as Partial<Record<keyof Checkpoint, unknown>>;
  if (typeof cell !== 'string' || typeof time !== 'string' || key !== decoded?.keyId) return undefined;
  if (!Number.isSafeInteger(position) || typeof head !== 'string' || !/^[0-9a-f]{64}$/.test(head)) return undefined;
  return { cell, position: position as number, head, time, key: key as string };
}
