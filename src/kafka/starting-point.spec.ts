import type { Checkpoint } from './checkpoint.js';
import { refuseForeignEnds, startingPoint } from './starting-point.js';
import type { PartitionEnd } from './topic-ends.js';

const cluster = { id: 'c', partitions: new Map([['conversion', 3]]) };
const checkpoint: Checkpoint = {
  position: 100,
  published: { conversion: [80, 90, 100] },
  system: '1',
  timeline: '00000001',
  lostBelow: 0,
};
const end = (partition: number, position?: number, more: Partial<PartitionEnd> = {}): PartitionEnd => ({
  category: 'conversion',
  partition,
  last: position === undefined ? undefined : { position, id: `id-${position}` },
  whole: true,
  hanging: false,
  ...more,
});

describe('startingPoint', () => {
  it('is the checkpoint when the topics end as they were left', () => {
    const { after, ends } = startingPoint(checkpoint, [end(0, 80), end(1, 90), end(2, 100)], cluster);
    expect(after).toBe(100);
    expect(ends.toJSON()).toEqual({ conversion: [80, 90, 100] });
  });

  it('leaves out what a partition got just before a crash', () => {
    const { after, ends } = startingPoint(checkpoint, [end(0, 80), end(1, 120), end(2, 100)], cluster);
    expect([after, ends.get('conversion', 1)]).toEqual([100, 120]);
  });

  it('goes back to where a partition has lost what it was given', () => {
    expect(startingPoint(checkpoint, [end(0, 80), end(1, 40), end(2, 100)], cluster).after).toBe(40);
    expect(startingPoint(checkpoint, [end(0, 80), end(1), end(2, 100)], cluster).after).toBe(0);
  });

  it('does not go back for what retention has taken', () => {
    const { after, ends } = startingPoint(checkpoint, [end(0, undefined, { whole: false })], cluster);
    expect([after, ends.get('conversion', 0)]).toEqual([100, 80]);
  });
});

describe('refuseForeignEnds', () => {
  const same = { system: '1', timeline: '00000001', drawn: 100 };
  const failedOver = { system: '1', timeline: '00000002', drawn: 1_000_000_000 };
  const judge = (inLog: [number, string][], lineage = same, from = checkpoint) =>
    refuseForeignEnds([end(0, 80)], new Map(inLog), from, lineage, 'cc.');

  it('is content with its own events, also with those that the log no longer keeps', () => {
    expect(judge([[80, 'id-80']])).toBe(0);
    expect(judge([[80, 'dropped']])).toBe(0);
  });

  it('refuses an event that is not in the log, or is another one there, and says what to do', () => {
    expect(() => judge([])).toThrow(/cc\.conversions ends with event id-80 at position 80.*KAFKA_TOPIC_PREFIX/);
    expect(() => judge([[80, 'another']])).toThrow(/does not hold/);
  });

  it('takes it for lost when the log has leapt beyond it after a fail-over, and remembers that', () => {
    expect(judge([], failedOver)).toBe(1_000_000_000);
    expect(judge([], same, { ...checkpoint, lostBelow: 1_000_000_000 })).toBe(1_000_000_000);
  });

  it('refuses another event at the same position even after a fail-over', () => {
    expect(() => judge([[80, 'another']], failedOver)).toThrow(/does not hold/);
    expect(() => judge([], { ...failedOver, drawn: 79 })).toThrow(/does not hold/);
  });
});
