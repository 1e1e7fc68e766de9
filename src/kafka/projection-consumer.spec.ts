import { foldedUpTo } from './projection-consumer.js';

describe('foldedUpTo', () => {
  const partitionCheckpoints = (byShard: Record<number, number>) => ({
    of: ({ shard }: { shard: number }) => byShard[shard] ?? 0,
  });

  it('is the relay’s position if every shard has folded its published events', () => {
    expect(foldedUpTo(500, { conversion: [400, 0, 90] }, ['conversion'], 100, partitionCheckpoints({ 0: 400 }))).toBe(
      500,
    );
  });

  it('is the position of the slowest shard otherwise, but at least the projection’s checkpoint', () => {
    const published = { conversion: [400, 480, 90], site: [490] };
    expect(foldedUpTo(500, published, ['conversion'], 100, partitionCheckpoints({ 0: 300, 1: 480 }))).toBe(300);
    expect(foldedUpTo(500, published, ['conversion'], 100, partitionCheckpoints({ 1: 480 }))).toBe(100);
  });
});
