import { createHash } from 'node:crypto';
import { ChainVerifier, type Removal } from './chain-verifier.js';
import { batchDigest, CHAIN_START, chainHead, type Digest, type Seal } from './seals.js';

const digestOf = (position: number, content = '') => createHash('sha256').update(`${position}${content}`).digest('hex');

/** Seals batches of these positions, as the append does. */
function sealAll(batches: readonly (readonly number[])[]): Seal[] {
  let head = CHAIN_START;
  return batches.map((positions) => {
    const digest = batchDigest(positions.map((position) => digestOf(position)));
    head = chainHead(head, digest);
    return {
      first: positions[0] as number,
      last: positions.at(-1) as number,
      count: positions.length,
      digest,
      head,
      timeMs: 0,
    };
  });
}

interface Found {
  readonly removed?: ReadonlyMap<number, Digest>;
  readonly removals?: readonly Removal[];
  readonly digest?: (position: number) => Digest;
}

/** As retention records it. `whole`: the seals of the batches of which nothing else is left. */
function removalOf(whole: readonly Seal[], range: Omit<Removal, 'digest'>): Removal {
  const hash = createHash('sha256');
  for (const { head } of whole) hash.update(Buffer.from(head, 'hex'));
  return { ...range, digest: hash.digest('hex') };
}

function verify(seals: readonly Seal[], positions: readonly number[], found: Found = {}) {
  const violations: string[] = [];
  const verifier = new ChainVerifier((violation) => violations.push(violation));
  const { removed = new Map(), removals = [], digest = digestOf } = found;
  let next = 0;
  for (const seal of seals) {
    for (; next < positions.length && (positions[next] as number) <= seal.last; next += 1)
      verifier.event(positions[next] as number, digest(positions[next] as number));
    verifier.seal(seal, new Map([...removed].filter(([at]) => at >= seal.first && at <= seal.last)));
  }
  for (const position of positions.slice(next)) verifier.event(position, digest(position));
  return { counts: verifier.finish(removals), violations };
}

describe('ChainVerifier', () => {
  const seals = sealAll([[1], [2, 3, 4], [9, 10], [1_000_000_009]]);
  const all = [1, 2, 3, 4, 9, 10, 1_000_000_009];

  it('accepts a chain with gaps of rolled back batches and of a restored backup', () => {
    expect(verify(seals, all)).toEqual({
      violations: [],
      counts: { start: 1, seals: 4, events: 7, unsealed: 0, removed: 0 },
    });
  });

  it('names the positions of a changed event', () => {
    const changed = (position: number) => digestOf(position, position === 3 ? 'changed' : '');
    expect(verify(seals, all, { digest: changed }).violations).toEqual([
      'the batch at positions 2 to 4 differs from its seal: an event or its personal part was changed',
    ]);
  });

  it('names the positions of a removed, an added and a moved event', () => {
    expect(verify(seals, [1, 2, 4, 9, 10, 1_000_000_009]).violations).toEqual([
      'the batch at positions 2 to 4 has 2 events, its seal covers 3: events were added or removed',
    ]);
    expect(verify(seals, [1, 2, 3, 4, 9, 10]).violations).toEqual([
      'the event at position 1000000009 is missing, and no event records that retention removed it',
    ]);
    expect(verify(seals, [1, 2, 3, 4, 7, 9, 10, 1_000_000_009, 1_000_000_010]).violations).toEqual([
      'the event at position 7 has no seal: it was not appended by the service',
      'the event at position 1000000010 has no seal: it was not appended by the service',
    ]);
  });

  it('names where a seal was removed, changed or inserted', () => {
    const [one, two, three, four] = seals as [Seal, Seal, Seal, Seal];
    expect(verify([one, three, four], all).violations).toEqual([
      'the event at position 2 has no seal: it was not appended by the service',
      'the event at position 3 has no seal: it was not appended by the service',
      'the event at position 4 has no seal: it was not appended by the service',
      'the head at position 10 does not follow from the one at position 1: a seal was changed, inserted or removed there',
    ]);
    expect(verify([two, three, four], all.slice(1)).violations).toEqual([
      'the head at position 4 does not follow from the one at position 0: a seal was changed, inserted or removed there',
    ]);
    const digest = batchDigest([digestOf(9, 'changed'), digestOf(10)]);
    const changed = (position: number) => digestOf(position, position === 9 ? 'changed' : '');
    expect(verify([one, two, { ...three, digest }, four], all, { digest: changed }).violations).toEqual([
      'the head at position 10 does not follow from the one at position 4: a seal was changed, inserted or removed there',
    ]);
    const recomputed = { ...three, digest, head: chainHead(two.head, digest) };
    expect(verify([one, two, recomputed, four], all, { digest: changed }).violations).toEqual([
      'the head at position 1000000009 does not follow from the one at position 10: a seal was changed, inserted or removed there',
    ]);
  });

  it('accepts what the log records as removed by retention, and nothing else', () => {
    const removed = new Map([2, 4].map((position) => [position, digestOf(position)]));
    const found = { removed, removals: [removalOf(seals.slice(0, 1), { first: 1, last: 4, events: 3 })] };
    expect(verify(seals, [3, 9, 10, 1_000_000_009], found)).toEqual({
      violations: [],
      counts: { start: 1, seals: 4, events: 4, unsealed: 0, removed: 3 },
    });
    expect(verify(seals, [3, 9, 10, 1_000_000_009], { removed }).violations).toEqual([
      'the event at position 1 is missing, and no event records that retention removed it',
      'the event at position 2 is missing, and no event records that retention removed it',
      'the event at position 4 is missing, and no event records that retention removed it',
    ]);
    const changed = new Map([...removed, [2, digestOf(2, 'changed')]]);
    expect(verify(seals, [3, 9, 10, 1_000_000_009], { ...found, removed: changed }).violations).toEqual([
      'the batch at positions 2 to 4 differs from its seal: an event or its personal part was changed',
    ]);
  });

  describe('after retention removed positions 1 to 10 and kept 3 and 10', () => {
    const digests = (...positions: number[]) => new Map(positions.map((position) => [position, digestOf(position)]));
    const removals = [removalOf(seals.slice(0, 1), { first: 1, last: 9, events: 4 })];
    const left = [3, 10, 1_000_000_009];
    const differs = (missing: number) =>
      `retention removed 4 events from positions 1 to 9, now ${missing} are missing, or others than it removed`;

    it('accepts what is left', () => {
      expect(verify(seals, left, { removed: digests(2, 4, 9), removals }).violations).toEqual([]);
    });

    it('finds that a kept event was deleted with the digests of its batch', () => {
      const found = { removed: digests(9), removals };
      expect(verify(seals, [10, 1_000_000_009], found).violations).toEqual([differs(5)]);
    });

    it('finds that a kept event was deleted and its digest added to those of removed events', () => {
      const found = { removed: digests(2, 3, 4, 9), removals };
      expect(verify(seals, [10, 1_000_000_009], found).violations).toEqual([differs(5)]);
    });

    it('finds that a removed batch was replaced by another one with as many events', () => {
      const other = [removalOf([{ ...(seals[0] as Seal), head: digestOf(1) }], { first: 1, last: 9, events: 4 })];
      const found = { removed: digests(2, 4, 9), removals: other };
      expect(verify(seals, left, found).violations).toEqual([differs(4)]);
    });

    it('finds that a kept event was changed whose former digest is among those of removed events', () => {
      const earlier = [removalOf(seals.slice(0, 1), { first: 0, last: 9, events: 100 })];
      const digest = (position: number) => digestOf(position, position === 3 ? 'changed' : '');
      expect(verify(seals, left, { removed: digests(2, 3, 4, 9), removals: earlier, digest }).violations).toEqual([
        'the event at position 3 is there, and its digest among those of removed events',
      ]);
    });

    it('does not count events from before the first seal', () => {
      const earlier = [removalOf(seals.slice(0, 1), { first: 0, last: 9, events: 100 })];
      expect(verify(seals, left, { removed: digests(2, 4, 9), removals: earlier }).violations).toEqual([]);
    });
  });
});
