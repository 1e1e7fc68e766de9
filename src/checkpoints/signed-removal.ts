import { decodeJws, signJws } from '../kernel/jws.js';
import type { Removal } from '../log/audit/chain-verifier.js';
import type { SignRemoval } from '../log/retention/removal-record.js';
import type { Checkpoints } from './checkpoints.js';
import type { SigningKey, SigningKeys } from './signing-keys.js';

/** Signs what retention removes, with the key that signs checkpoints. */
export async function removalSigner(keys: SigningKeys, checkpoints: Checkpoints): Promise<SignRemoval> {
  // A log with a key has a checkpoint, or `history verify` reports it.
  await checkpoints.createIfDue();
  // The first use generates a key, which needs a transaction of its own.
  await keys.active();
  return async (client, removal) => signRemoval(await keys.activeUntilCommit(client), removal);
}

export function signRemoval({ id, privateKey }: SigningKey, { first, last, events, digest }: Removal): string {
  return signJws({ first, last, events, digest }, privateKey, id);
}

/** Whether the token states this removal. Does not check its signature. */
export function statesRemoval(token: string, removal: Removal): boolean {
  const stated = (decodeJws(token)?.payload ?? {}) as Partial<Removal>;
  return (['first', 'last', 'events', 'digest'] as const).every((field) => stated[field] === removal[field]);
}
