import { doubtOfClock } from '../log/retention/retention.js';
import { describeWait, readHolds } from '../log/retention/retention-holds.js';
import { readCertainlyBefore } from '../log/stored-time.js';
import { type CopiedProgress, expirePersonal } from '../visitors/erasure/expiry.js';
import { pruneIdentifiers } from '../visitors/prune-identifiers.js';
import { type HoldDependencies, personalHolds } from './hold-sources.js';

/** A delay that is not worth a warning: what was just stored is still being read. */
export const PERSONAL_WAIT_MS = 120_000;

/** Removes the personal parts that are older, up to what is still needed. Returns their number. */
export async function removeOldPersonalParts(
  dependencies: HoldDependencies,
  olderThanMs: number,
  copied: CopiedProgress,
  onMessage: (line: string) => void,
): Promise<number> {
  const { postgres, log } = dependencies;
  const doubt = doubtOfClock(postgres.clock);
  if (doubt !== undefined) {
    onMessage(`PERSONAL_RETENTION waits: ${doubt}.`);
    return 0;
  }
  const nowMs = postgres.clock.nowMs();
  const before = new Date(nowMs - olderThanMs);
  const holds = await readHolds(personalHolds(dependencies), await log.head());
  // Rows that were made of them first: a rebuild would not make them again.
  await pruneIdentifiers(postgres, before);
  const [first] = holds;
  const overdue = new Date(before.getTime() - PERSONAL_WAIT_MS);
  if (first && first.position < (await readCertainlyBefore(postgres.pool, overdue, nowMs)))
    onMessage(await describeWait('PERSONAL_RETENTION', postgres.pool, first, holds.length - 1));
  return expirePersonal(postgres, log, before, first?.position ?? Number.POSITIVE_INFINITY, copied);
}
