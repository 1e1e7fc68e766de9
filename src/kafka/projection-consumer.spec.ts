import { foldedUpTo } from './projection-consumer.js';

describe('foldedUpTo', () => {
  const published = { conversion: [400, 480, 90], site: [490] };
  const folded = (byShard: Record<number, number>, isLost: (position: number) => boolean = () => false) =>
    foldedUpTo(500, published, ['conversion'], 100, { of: ({ shard }) => byShard[shard] ?? 0 }, isLost);

  it('is the relay’s position if every shard has folded its published events', () => {
    expect(folded({ 0: 400, 1: 480 })).toBe(500);
  });

  it('is the position of the slowest shard while one is behind, but at least the projection’s position', () => {
    expect(folded({ 0: 300, 1: 480 })).toBe(300);
    expect(folded({ 1: 480 })).toBe(100);
  });

  it('does not wait for the record of an event that the log has lost', () => {
    expect(folded({ 1: 480 }, (position) => position === 400)).toBe(500);
  });
});
