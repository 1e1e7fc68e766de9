import { readCheckpoint } from '../../checkpoints/checkpoint.js';
import { statesRemoval } from '../../checkpoints/signed-removal.js';
import type { TrustedKeys } from '../../checkpoints/trusted-keys.js';
import { decodeJws, isSignedBy } from '../../kernel/jws.js';
import type { Removal } from '../../log/audit/chain-verifier.js';

/** What the event `log.partition_removed.v1` records. */
export interface RecordedRemoval extends Removal {
  /** Position of the event. */
  readonly position: number;
  /** Not there, or anything else, in a forged event. */
  readonly signature?: unknown;
}

export interface JudgedRemovals {
  /** Only these explain why events are missing. */
  readonly accepted: readonly Removal[];
  /** How many of them were signed by keys before the trusted ones. */
  readonly unverified: number;
  readonly violations: readonly string[];
}

/**
 * Which removals retention made: those that a trusted key signed. What an earlier key signed cannot be verified, and is only
 * accepted up to the first checkpoint of a trusted key: from then on the earlier one signed nothing.
 */
export function acceptRemovals(
  recorded: readonly RecordedRemoval[],
  keys: TrustedKeys,
  firstCheckpoint: number,
): JudgedRemovals {
  const accepted: Removal[] = [];
  const violations: string[] = [];
  let unverified = 0;
  for (const removal of recorded) {
    const { first, last, position } = removal;
    const signature = String(removal.signature);
    const keyId = decodeJws(signature)?.keyId ?? '';
    const key = keys.get(keyId);
    const isOfEarlierKey = !key && keys.isEarlier(keyId) && position <= firstCheckpoint;
    const isSigned = isOfEarlierKey || (key !== undefined && isSignedBy(signature, key));
    if (isSigned && statesRemoval(signature, removal)) {
      accepted.push(removal);
      if (isOfEarlierKey) unverified += 1;
    } else
      violations.push(
        `the event at position ${position} states that retention removed positions ${first} to ${last}, and no trusted key signed that`,
      );
  }
  return { accepted, unverified, violations };
}

/** Position of the first of these checkpoints that a trusted key signed; infinite if there is none. */
export function firstCheckpointOf(keys: TrustedKeys, cell: string, tokens: readonly string[]): number {
  const positions = tokens.map((token) => {
    const checkpoint = readCheckpoint(token);
    const key = checkpoint?.cell === cell && keys.get(checkpoint.key);
    return key && isSignedBy(token, key) ? (checkpoint as { position: number }).position : Number.POSITIVE_INFINITY;
  });
  return positions.reduce((first, position) => Math.min(first, position), Number.POSITIVE_INFINITY);
}
