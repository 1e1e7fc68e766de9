import {
  acceptanceSlots,
  acceptanceTone,
  isByDay,
  labelledMarks,
  marksOf,
  stackedValues,
  unfinishedFrom,
} from './chart-view.js';

const at = (hour: number, minute = 0) => new Date(Date.UTC(2026, 10, 16, hour, minute)).toISOString();
const bucket = (hour: number, more: object = {}) => ({
  ...{ start: at(hour), end: at(hour + 1), conversions: 10, matched: 7, duplicates: 2, filtered: 1, platforms: {} },
  ...more,
});
const series = (more: object) => ({ buckets: [bucket(0), bucket(1)], annotations: [], ...more }) as never;

describe('the chart of the overview', () => {
  it('stacks conversions, duplicates and filtered ones', () => {
    expect(stackedValues([bucket(0), bucket(1, { conversions: 7, duplicates: 0 })] as never)).toEqual([
      [7, 7],
      [10, 7],
      [12, 7],
      [13, 8],
    ]);
  });

  it('knows that the last bucket is not over yet', () => {
    const until = (hour: number, minute: number) => series({ asOf: { position: 1, time: at(hour, minute) } });
    expect(unfinishedFrom(until(1, 59))).toBe(at(0));
    expect(unfinishedFrom(until(2, 0))).toBeUndefined();
    expect(unfinishedFrom(series({ buckets: [bucket(0)], asOf: { position: 1, time: at(0, 5) } }))).toBeUndefined();
    expect([isByDay([bucket(0)] as never), isByDay([bucket(0, { end: at(23) })] as never)]).toEqual([false, true]);
  });

  it('marks what happened to connections, the same change of several at once', () => {
    const annotations = [
      { time: at(0, 5), kind: 'connected', platform: 'meta', site: 'a' },
      { time: at(0, 6), kind: 'connected', platform: 'tiktok', site: 'a' },
      { time: at(1, 5), kind: 'parked', platform: 'microsoft_ads', reason: 'revoked', site: 'a' },
    ];
    expect(marksOf(series({ annotations }))).toEqual([
      { time: at(0, 5), text: '2 platforms connected', tone: 'plain' },
      { time: at(1, 5), text: 'Microsoft Ads stopped, needs attention', tone: 'bad', reason: 'revoked' },
    ]);
  });

  it('marks the versions that started', () => {
    const annotations = [
      { time: at(0, 5), kind: 'version', version: '0.3.0' },
      { time: at(1, 5), kind: 'version', version: '0.4.0' },
      { time: at(1, 6), kind: 'connected', platform: 'meta', site: 'a' },
      { time: at(1, 9), kind: 'version', version: '0.3.0' },
    ];
    expect(marksOf(series({ annotations })).map(({ time, text }) => [time, text])).toEqual([
      [at(0, 5), 'Version 0.3.0 started'],
      [at(1, 5), 'Version 0.4.0, 0.3.0 started'],
      [at(1, 6), 'Meta connected'],
    ]);
  });

  it('writes what needs action first, where there is room', () => {
    const mark = (hour: number, tone: 'plain' | 'bad') => ({ time: at(hour), text: '', tone });
    const marks = [mark(0, 'plain'), mark(1, 'bad'), mark(9, 'plain')];
    const hourOf = (time: string) => new Date(time).getUTCHours();
    expect(labelledMarks(marks, hourOf, 3).map(({ time }) => hourOf(time))).toEqual([1, 9]);
  });

  it('shows the acceptance of a platform over time', () => {
    const counts = { delivered: 0, accepted: 0, confirmed: 0, rejected: 0, failed: 0, skipped: 0, acceptance: null };
    const buckets = Array.from({ length: 56 }, (_, hour) => bucket(hour));
    buckets[2] = bucket(2, { platforms: { meta: { ...counts, delivered: 2, failed: 1 } } });
    buckets[3] = bucket(3, { platforms: { meta: { ...counts, confirmed: 1 } } });
    const slots = acceptanceSlots(series({ buckets }), 'meta');
    expect(slots).toHaveLength(28);
    expect(slots.slice(0, 2)).toEqual([
      { start: at(0), sent: 0, acceptance: null },
      { start: at(2), sent: 4, acceptance: 0.75 },
    ]);
    expect([null, 1, 0.95, 0.5].map(acceptanceTone)).toEqual(['plain', 'ok', 'warn', 'bad']);
  });
});
