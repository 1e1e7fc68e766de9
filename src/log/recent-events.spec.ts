import { jest } from '@jest/globals';
import type { NewEvent } from './event.js';
import { fieldsOf, firstVersion, RecentEvents, RecentRow, subjectsOf } from './recent-events.js';

const SUBJECT = 'ab'.repeat(32);
const request = {
  category: 'conversion',
  stream: '01900000-0000-7000-8000-000000000001',
  site: 'a.example',
  actor: 'tag',
};

function rowAt(position: number, event: Partial<NewEvent> = {}): RecentRow {
  const content = { type: 'thing.made.v1', data: {}, ...event };
  return new RecentRow(position, 1_000, '1970-01-01T00:00:01.000Z', 1, request, content, `id-${position}`);
}

const positionsOf = (rows: readonly RecentRow[] | undefined) => rows?.map(({ position }) => position);

describe('the newest events of this process', () => {
  let nowMs: number;
  let recent: RecentEvents;

  beforeEach(() => {
    nowMs = 0;
    recent = new RecentEvents('all', () => nowMs);
    recent.add(5, [rowAt(6), rowAt(7)], 100);
    recent.add(7, [rowAt(8)], 100);
  });

  it('are read from any position that they follow', async () => {
    expect(positionsOf(await recent.read(5, 8))).toEqual([6, 7, 8]);
    expect(positionsOf(await recent.read(6, 7))).toEqual([7]);
    expect(positionsOf(await recent.read(8, 8))).toEqual([]);
  });

  it('are not read from before the first', async () => {
    expect(await recent.read(4, 8)).toBeUndefined();
  });

  it('are not read up to an event of another process', async () => {
    expect(await recent.read(5, 9)).toBeUndefined();
  });

  it('begin anew after an event of another process', async () => {
    recent.add(9, [rowAt(10)], 100);
    expect(await recent.read(8, 10)).toBeUndefined();
    expect(positionsOf(await recent.read(9, 10))).toEqual([10]);
  });

  it('continue over a gap in the positions', async () => {
    recent.add(8, [rowAt(1_000_000_009)], 100);
    expect(positionsOf(await recent.read(7, 1_000_000_009))).toEqual([8, 1_000_000_009]);
  });

  it('wait for the answer to an append that is committed', async () => {
    const reading = recent.read(7, 9);
    recent.add(8, [rowAt(9)], 100);
    expect(positionsOf(await reading)).toEqual([8, 9]);
  });

  it('are forgotten after ten seconds', async () => {
    nowMs = 9_000;
    recent.add(8, [rowAt(9)], 100);
    nowMs = 10_001;
    expect(await recent.read(7, 9)).toBeUndefined();
    expect(positionsOf(await recent.read(8, 9))).toEqual([9]);
  });

  it('do not stay in memory when nothing follows them', () => {
    jest.useFakeTimers();
    const idle = new RecentEvents('all', () => nowMs);
    idle.add(5, [rowAt(6)], 100);
    nowMs = 10_001;
    jest.advanceTimersByTime(10_001);
    expect(idle.last).toBe(0);
    jest.useRealTimers();
  });

  it('are forgotten after a failed append', async () => {
    recent.clear();
    expect(await recent.read(7, 8)).toBeUndefined();
    expect(recent.next(7, 10)).toEqual([]);
  });

  it('are bounded in number and size', async () => {
    for (let last = 8; last < 10_008; last += 1_000) {
      const rows = Array.from({ length: 1_000 }, (_, at) => rowAt(last + 1 + at));
      recent.add(last, rows, 1_000);
    }
    expect(await recent.read(2_007, 10_008)).toBeUndefined();
    expect((await recent.read(2_008, 10_008))?.length).toBe(8_000);
    for (let last = 10_008; last < 10_028; last += 1) recent.add(last, [rowAt(last + 1)], 500_000);
    expect(await recent.read(10_011, 10_028)).toBeUndefined();
    expect((await recent.read(10_012, 10_028))?.length).toBe(16);
  });

  it('come in pages of a limited size', () => {
    expect(positionsOf(recent.next(5, 2))).toEqual([6, 7]);
    expect(positionsOf(recent.next(7, 2))).toEqual([8]);
    expect(recent.next(8, 2)).toEqual([]);
    expect(recent.next(3, 2)).toEqual([]);
  });
});

describe('an event of this process', () => {
  it('equals the one that is read from the log', () => {
    const row = rowAt(3, { data: { one: 1, none: undefined }, personal: { subject: SUBJECT, visit: {} } as object });
    expect(row.event()).toEqual({
      position: 3,
      id: 'id-3',
      type: 'thing.made.v1',
      stream: `conversion-${request.stream}`,
      version: 1,
      site: 'a.example',
      time: '1970-01-01T00:00:01.000Z',
      actor: 'tag',
      data: { one: 1 },
      personal: { subject: SUBJECT, visit: {} },
    });
    expect(rowAt(3).event().personal).toBeNull();
  });

  it.each([
    ['new', 1],
    [4, 5],
    [{ owned: 2, position: 9 }, 3],
    ['any', undefined],
  ] as const)('has the version that follows %j', (expected, version) => {
    expect(firstVersion(expected)).toBe(version);
  });

  it('gives its subject if it is of the length that was asked for', () => {
    const rows = [rowAt(1, { personal: { subject: SUBJECT } }), rowAt(2, { personal: { subject: 'ab' } }), rowAt(3)];
    const options = { after: 0, until: 3, types: ['thing.made.v1'], bytes: 32 };
    expect(subjectsOf(rows, options)).toEqual([{ position: 1, site: 'a.example', subject: SUBJECT }]);
    expect(subjectsOf(rows, { ...options, types: ['other.v1'] })).toEqual([]);
  });

  it('gives one field as JSON', () => {
    const rows = [
      rowAt(1, { data: { platforms: ['meta'] } }),
      rowAt(2, { type: 'thing.sent.v1', data: { platform: 'meta' } }),
      rowAt(3, { type: 'thing.sent.v1' }),
    ];
    const opening = { type: 'thing.made.v1', field: 'platforms' };
    const options = { after: 0, until: 3, limit: 3, category: 'conversion', opening, field: 'platform' };
    const { stream } = request;
    expect(fieldsOf(rows, options)).toEqual([
      { position: 1, stream, isOpening: true, site: 'a.example', timeMs: 1_000, value: '["meta"]' },
      { position: 2, stream, isOpening: false, site: '', timeMs: 0, value: '"meta"' },
      { position: 3, stream, isOpening: false, site: '', timeMs: 0, value: null },
    ]);
    expect(fieldsOf(rows, { ...options, limit: 1 })).toHaveLength(1);
    expect(fieldsOf(rows, { ...options, category: 'visitor' })).toEqual([]);
  });
});
