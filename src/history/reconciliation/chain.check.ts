import type { ChainCounts, RemovedRange } from '../../log/chain-verifier.js';
import type { SealedRow } from '../../log/sealed-row.js';
import type { Finding } from '../verify.js';
import { Violations } from './violations.js';

const REMOVED = 'log.partition_removed.v1';

/** Every event equals what its seal covers, and every seal follows from the one before: nothing was changed since the append. */
export class ChainCheck {
  readonly name = 'chain';
  private readonly violations = new Violations();
  private readonly removed: RemovedRange[] = [];

  read(row: SealedRow): void {
    if (row.type === REMOVED) this.removed.push(row.data() as unknown as RemovedRange);
  }

  violation(text: string): void {
    this.violations.add(text);
  }

  /** What retention has removed, according to the log. */
  removals(): readonly RemovedRange[] {
    return this.removed;
  }

  finish({ start, seals, events, unsealed, removed }: ChainCounts): Finding {
    if (start === undefined)
      return this.violations.findingOfLog(
        unsealed === 0 ? 'the log has no events' : `${unsealed} events, all from before the upgrade that added seals`,
      );
    const before = unsealed === 0 ? '' : `; ${unsealed} events before it are older than the chain and have no seal`;
    const gone = removed === 0 ? '' : `, ${removed} more were removed by retention`;
    return this.violations.findingOfLog(
      `${events} events in ${seals} seals${gone}; the chain starts at position ${start}${before}`,
    );
  }
}
