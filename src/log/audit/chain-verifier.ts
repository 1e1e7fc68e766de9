import { batchDigest, CHAIN_START, chainHead, type Digest, type Seal } from './seals.js';

/** Positions of which retention removed events. */
export interface RemovedRange {
  readonly first: number;
  readonly last: number;
}

/** What an event of the log states that retention removed. */
export interface Removal extends RemovedRange {
  readonly events: number;
  /** SHA-256 over the heads of the batches of which nothing is left but their seal, in order. */
  readonly digest: Digest;
}

/** Events that are missing: a whole batch, of which the head is left, or one event. */
interface Gap extends RemovedRange {
  readonly count: number;
  readonly head?: Digest;
}

export interface ChainCounts {
  /** Position of the first sealed event; undefined in a log without seals. */
  readonly start: number | undefined;
  readonly seals: number;
  readonly events: number;
  /** Events before the first seal. */
  readonly unsealed: number;
  /** Sealed events that retention removed. */
  readonly removed: number;
}

/**
 * Recomputes the hash chain. Called with the seals in order, and before each seal with the digests of the events up to its
 * last position, in order. A differing batch does not hide what follows: each seal is checked against the stored one before.
 */
export class ChainVerifier {
  private previous = CHAIN_START;
  private previousLast = 0;
  private digests: { position: number; digest: Digest }[] = [];
  /** Events that are missing, which the log must record as removed by retention. */
  private readonly gaps: Gap[] = [];
  private start: number | undefined;
  private seals = 0;
  private events = 0;
  private unsealed = 0;
  private removed = 0;

  constructor(private readonly report: (violation: string) => void) {}

  /** An event from before the first seal of all: it is older than the chain. */
  eventBeforeChain(): void {
    this.unsealed += 1;
  }

  event(position: number, digest: Digest): void {
    this.digests.push({ position, digest });
  }

  /** `removed`: digests of events that retention removed from this batch, of which it kept others. */
  seal(seal: Seal, removed: ReadonlyMap<number, Digest>): void {
    const where = rangeText(seal);
    if (this.start === undefined) this.start = seal.first;
    if (seal.first <= this.previousLast || seal.last < seal.first)
      this.report(`the seal of ${where} overlaps the one before, which ends at ${this.previousLast}`);
    this.reportUnsealed(seal.first);
    const kept = this.digests.length;
    if (kept === 0 && removed.size === 0) this.gaps.push(seal);
    else this.compare(seal, where, removed);
    for (const position of removed.keys()) this.gaps.push({ first: position, last: position, count: 1 });
    this.events += kept;
    this.removed += seal.count - kept;
    if (chainHead(this.previous, seal.digest) !== seal.head)
      this.report(
        `the head at position ${seal.last} does not follow from the one at position ${this.previousLast}: a seal was changed, inserted or removed there`,
      );
    this.previous = seal.head;
    this.previousLast = seal.last;
    this.digests = [];
    this.seals += 1;
  }

  /** Called after the last seal and the events behind it. `removals`: what the log records as removed by retention. */
  finish(removals: readonly Removal[]): ChainCounts {
    this.reportUnsealed(Number.POSITIVE_INFINITY);
    for (const removal of removals) this.compareRemoval(removal);
    for (const gap of this.gaps) {
      if (removals.some((removal) => includes(removal, gap))) continue;
      this.report(`${rangeText(gap)} is missing, and no event records that retention removed it`);
    }
    const { start, seals, events, unsealed, removed } = this;
    return { start, seals, events, unsealed, removed };
  }

  /** Otherwise an event that retention kept could be deleted later, together with the digests of the rest of its batch. */
  private compareRemoval(removal: Removal): void {
    const { first, last } = removal;
    const gaps = this.gaps.filter((gap) => includes(removal, gap));
    const digest = batchDigest(gaps.flatMap(({ head }) => head ?? []));
    const missing = gaps.reduce((sum, { count }) => sum + count, 0);
    // Events from before the first seal cannot be counted.
    const isCounted = this.start !== undefined && first >= this.start;
    if (digest === removal.digest && (missing === removal.events || !isCounted)) return;
    this.report(
      `retention removed ${countText(removal.events)} from positions ${first} to ${last}, now ${missing} are missing, or others than it removed`,
    );
  }

  private compare(seal: Seal, where: string, removed: ReadonlyMap<number, Digest>): void {
    for (const { position } of this.digests)
      if (removed.has(position))
        this.report(`the event at position ${position} is there, and its digest among those of removed events`);
    const all = [
      ...this.digests.filter(({ position }) => !removed.has(position)),
      ...[...removed].map(([position, digest]) => ({ position, digest })),
    ].sort((one, other) => one.position - other.position);
    if (all.length !== seal.count) {
      this.report(`${where} has ${countText(all.length)}, its seal covers ${seal.count}: events were added or removed`);
      return;
    }
    if (all[0]?.position !== seal.first || all.at(-1)?.position !== seal.last) {
      this.report(`${where} has events from ${all[0]?.position} to ${all.at(-1)?.position}: events were moved`);
      return;
    }
    if (batchDigest(all.map(({ digest }) => digest)) !== seal.digest)
      this.report(
        `${where} differs from its seal: ${seal.count === 1 ? 'the event' : 'an event'} or its personal part was changed`,
      );
  }

  /** Events before the first position of the next seal belong to none. */
  private reportUnsealed(first: number): void {
    const index = this.digests.findIndex(({ position }) => position >= first);
    for (const { position } of this.digests.splice(0, index === -1 ? this.digests.length : index))
      this.report(`the event at position ${position} has no seal: it was not appended by the service`);
  }
}

function includes(range: RemovedRange, { first, last }: RemovedRange): boolean {
  return range.first <= first && last <= range.last;
}

function rangeText({ first, last }: RemovedRange): string {
  return first === last ? `the event at position ${first}` : `the batch at positions ${first} to ${last}`;
}

function countText(count: number): string {
  return count === 1 ? '1 event' : `${count} events`;
}
