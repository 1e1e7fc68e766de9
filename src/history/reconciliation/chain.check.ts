import { type KeyRotation, TrustedKeys } from '../../checkpoints/trusted-keys.js';
import { counted } from '../../kernel/counted.js';
import type { ChainCounts, Removal } from '../../log/audit/chain-verifier.js';
import type { SealedRow } from '../../log/audit/sealed-row.js';
import { acceptRemovals, firstCheckpointOf, type RecordedRemoval } from './removals.js';
import { type Finding, Violations } from './violations.js';

const REMOVED = 'log.partition_removed.v1';
const ROTATED = 'log.key_rotated.v1';

/** Every event equals what its seal covers, and every seal follows from the one before: nothing was changed since the append. */
export class ChainCheck {
  readonly name = 'chain';
  private readonly violations = new Violations();
  private readonly recorded: RecordedRemoval[] = [];
  private readonly rotations: KeyRotation[] = [];
  private accepted: readonly Removal[] | undefined;
  private unverified = 0;

  /** `publicKeys`: trusted, in PEM. `tokens`: checkpoints of this database, and those kept elsewhere. */
  constructor(
    private readonly cell: string,
    private readonly publicKeys: readonly string[],
    private readonly tokens: readonly string[],
  ) {}

  read(row: SealedRow): void {
    const { position } = row;
    if (row.type === REMOVED) this.recorded.push({ ...(row.data() as RecordedRemoval), position });
    if (row.type === ROTATED) this.rotations.push({ ...(row.data() as KeyRotation), position });
  }

  violation(text: string): void {
    this.violations.add(text);
  }

  /** What retention has removed, according to the log and as far as it is signed. Called after the last event. */
  removals(): readonly Removal[] {
    if (this.accepted) return this.accepted;
    const keys = new TrustedKeys(this.publicKeys, this.rotations);
    const judged = acceptRemovals(this.recorded, keys, firstCheckpointOf(keys, this.cell, this.tokens));
    for (const violation of judged.violations) this.violations.add(violation);
    this.unverified = judged.unverified;
    this.accepted = judged.accepted;
    return this.accepted;
  }

  finish({ start, seals, events, unsealed, removed }: ChainCounts): Finding {
    if (start === undefined)
      return this.violations.findingOfLog(
        unsealed === 0
          ? 'the log has no events'
          : `${counted(unsealed, 'event')}, all from before the upgrade that added seals`,
      );
    const before =
      unsealed === 0
        ? ''
        : `; ${counted(unsealed, 'event')} before it ${unsealed === 1 ? 'is older than the chain and has' : 'are older than the chain and have'} no seal`;
    const gone = removed === 0 ? '' : `, ${removed} more were removed by retention`;
    const unverified =
      this.unverified === 0
        ? ''
        : `; the signatures of ${this.unverified} removals were not verified: they are of keys before the given one`;
    return this.violations.findingOfLog(
      `${counted(events, 'event')} in ${counted(seals, 'seal')}${gone}; the chain starts at position ${start}${before}${unverified}`,
    );
  }
}
