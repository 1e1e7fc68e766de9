import fc from 'fast-check';
import { erasureParts, type FoundEvent } from './erasure-search.js';

const found: fc.Arbitrary<FoundEvent[]> = fc.uniqueArray(
  fc.record({
    position: fc.nat(1_000),
    stream: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    isLink: fc.boolean(),
  }),
  { selector: ({ position }) => position, maxLength: 40 },
);

describe('the parts of an erasure', () => {
  it('have every event once, whole streams, and what names linked subjects in the last one', () => {
    fc.assert(
      fc.property(found, fc.integer({ min: 1, max: 10 }), (events, most) => {
        const parts = erasureParts(events, most);
        const byPosition = (all: readonly FoundEvent[]) => all.toSorted((one, other) => one.position - other.position);
        expect(byPosition(parts.flat())).toEqual(byPosition(events));
        const last = parts.at(-1) as FoundEvent[];
        for (const event of events) {
          const holders = parts.filter((part) => part.some(({ stream }) => stream === event.stream));
          expect(holders).toHaveLength(1);
          if (event.isLink) expect(last).toContain(event);
        }
        for (const part of parts.slice(0, -1)) {
          const streams = new Set(part.map(({ stream }) => stream));
          expect(part.length <= most || streams.size === 1).toBe(true);
        }
      }),
    );
  });

  it('are one, without events, if nothing was found', () => {
    expect(erasureParts([], 10)).toEqual([[]]);
  });
});
