import type { PartitionEnd } from './partition-ends.js';
import type { RelayProgress } from './relay-progress.js';
import { refuseForeignEnds, startingPoint } from './starting-point.js';

const cluster = { id: 'c', partitions: new Map([['conversion', 3]]) };
const relayed: RelayProgress = {
  position: 100,
  published: { conversion: [80, 90, 100] },
  lineageStart: 0,
  lostBelow: 0,
};
const end = (partition: number, position?: number, more: Partial<PartitionEnd> = {}): PartitionEnd => ({
  category: 'conversion',
  partition,
  last: position === undefined ? undefined : { position, id: `id-${position}` },
  isTruncated: false,
  hasHangingTransaction: false,
  ...more,
});

describe('startingPoint', () => {
  it('is the position of the relay if the topics end at their published positions', () => {
    const { after, published } = startingPoint(relayed, [end(0, 80), end(1, 90), end(2, 100)], cluster);
    expect(after).toBe(100);
    expect(published.toJSON()).toEqual({ conversion: [80, 90, 100] });
  });

  it('skips events that a partition received just before a crash', () => {
    const { after, published } = startingPoint(relayed, [end(0, 80), end(1, 120), end(2, 100)], cluster);
    expect([after, published.get('conversion', 1)]).toEqual([100, 120]);
  });

  it('goes back to the end of a partition that lost published events', () => {
    expect(startingPoint(relayed, [end(0, 80), end(1, 40), end(2, 100)], cluster).after).toBe(40);
    expect(startingPoint(relayed, [end(0, 80), end(1), end(2, 100)], cluster).after).toBe(0);
  });

  it('does not go back for events deleted by retention', () => {
    const { after, published } = startingPoint(relayed, [end(0, undefined, { isTruncated: true })], cluster);
    expect([after, published.get('conversion', 0)]).toEqual([100, 80]);
  });
});

describe('refuseForeignEnds', () => {
  const same = { start: 0, drawn: 100 };
  const failedOver = { start: 1_000_000_000, drawn: 1_000_000_000 };
  const check = (inLog: [number, string][], lineage = same, from = relayed) =>
    refuseForeignEnds([end(0, 80)], new Map(inLog), from, lineage, 'cc.');

  it('accepts events of this log, including those that the log has dropped', () => {
    expect(check([[80, 'id-80']])).toBe(0);
    expect(check([[80, 'dropped']])).toBe(0);
  });

  it('rejects an event at a position that this log does not have or has dropped unpublished', () => {
    expect(() => check([[80, 'dropped']], same, { ...relayed, position: 79 })).toThrow(/is not in this log/);
  });

  it('rejects an event that is missing or different in the log, and names the setting to change', () => {
    expect(() => check([])).toThrow(/cc\.conversions ends with event id-80 at position 80.*KAFKA_TOPIC_PREFIX/);
    expect(() => check([[80, 'another']])).toThrow(/is not in this log/);
  });

  it('treats a missing event as lost after a failover that advanced the log, also on later starts', () => {
    expect(check([], failedOver)).toBe(1_000_000_000);
    expect(check([], same, { ...relayed, lostBelow: 1_000_000_000 })).toBe(1_000_000_000);
  });

  it('rejects a different event at the same position even after a failover', () => {
    expect(() => check([[80, 'another']], failedOver)).toThrow(/is not in this log/);
    expect(() => check([], { ...failedOver, drawn: 79 })).toThrow(/is not in this log/);
  });
});
