import { exportedText, readLines, syncLogCsv, toCsv } from './sync-log-export.js';
import { matchText, readFilters, searchOf, withFilter } from './sync-log-filters.js';
import { withTimes } from './time-filter.js';

const ID = '01980000-0000-7000-8000-000000000000';
const LINE = { position: 7, time: '2026-11-15T10:59:00.000Z', kind: 'delivery', attempt: 1, durationMs: 120 } as const;

describe('the filters of the sync log', () => {
  it('are read from the address, without what is no filter', () => {
    const query = {
      connection: 'meta:second',
      status: 'failed',
      kind: 'delivery',
      order: 'ORD-1',
      event: 'lead',
      reason: 'HTTP 5',
    };
    expect(readFilters({ ...query, span: '7d', from: '2026-01-01', other: 'x' })).toEqual({ ...query, span: '7d' });
    expect(readFilters({ status: 'unknown', kind: 'x', span: '9d', conversion: 'x', from: 'yesterday' })).toEqual({});
    expect(readFilters({ platform: 'meta' })).toEqual({ connection: 'meta' });
    expect(readFilters({ conversion: ID, from: '2026-01-01T00:00:00Z' })).toEqual({
      conversion: ID,
      from: '2026-01-01T00:00:00Z',
    });
  });

  it('are written to the address, and removed by an empty value', () => {
    const path = '/sites/shop.example/sync-log';
    expect(withFilter(path, { status: 'failed' }, { order: 'A&B' })).toBe(`${path}?status=failed&order=A%26B`);
    expect(withFilter(path, { status: 'failed' }, { status: '' })).toBe(path);
  });

  it('search by the id of a conversion, or else of an order', () => {
    expect(searchOf(` ${ID} `)).toEqual({ conversion: ID, order: '' });
    expect(searchOf('ORD-1')).toEqual({ conversion: '', order: 'ORD-1' });
  });

  it('count a span back from the moment of opening', () => {
    const nowMs = Date.parse('2026-11-15T12:00:00Z');
    expect(withTimes({ span: '24h', status: 'failed' }, nowMs)).toEqual({
      status: 'failed',
      from: '2026-11-14T12:00:00.000Z',
    });
    expect(withTimes({ from: '2026-01-01T00:00:00Z' }, nowMs)).toEqual({ from: '2026-01-01T00:00:00Z' });
  });

  it('say how many match, as far as they are known', () => {
    expect(matchText(50, true, true)).toBe('at least 50 match');
    expect(matchText(1, false, true)).toBe('1 matches');
    expect(matchText(0, true, true)).toBe('none found so far');
    expect(matchText(12, false, false)).toBe('12 attempts');
  });
});

describe('the export of the sync log', () => {
  it('has no cell that a spreadsheet runs as a formula', () => {
    for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])
      expect(toCsv([[text]]).replaceAll('"', '')).toMatch(/^'/);
    expect(toCsv([['a "b", c', 5, undefined]])).toBe('"a ""b"", c",5,\r\n');
  });

  it('has a line for each attempt', () => {
    const csv = syncLogCsv([{ ...LINE, status: 'failed', reason: '=cmd()', platform: 'tiktok', orderId: 'ORD-1' }]);
    const [header, line] = csv.split('\r\n');
    expect(header).toBe(
      '\uFEFFtime,kind,order,event,connection,outcome,reason,http_status,attempt,duration_ms,next_attempt,window_start,window_end,conversions,bot_traffic_removed,requests,conversion,position',
    );
    expect(line).toBe("2026-11-15T10:59:00.000Z,delivery,ORD-1,,tiktok,failed,'=cmd(),,1,120,,,,,,,,7");
  });

  it('has the window and the totals of a push, and the number of refused requests', () => {
    const window = { windowStart: '2026-11-15T10:30:00Z', windowEnd: '2026-11-15T10:45:00Z' };
    const push = { ...LINE, kind: 'push' as const, status: 'delivered', window };
    const csv = syncLogCsv([
      { ...push, payload: { conversions: 12, bot_traffic_removed: 3 } },
      { ...LINE, kind: 'inbound', status: 'rejected', count: 40, reasons: { invalid: 40 } },
    ]);
    const [, pushed, refused] = csv.split('\r\n');
    expect(pushed).toContain(',2026-11-15T10:30:00Z,2026-11-15T10:45:00Z,12,3,,');
    expect(refused).toMatch(/,rejected,invalid,.*,40,,7$/);
  });

  it('reads all pages, up to the limit', async () => {
    const load = async (cursor = 1_300, limit = 0) => {
      const count = Math.min(limit, cursor - 1);
      const items = Array.from({ length: count }, (_, at) => ({
        ...LINE,
        status: 'failed',
        position: cursor - 1 - at,
      }));
      return { items, ...(cursor - count > 1 && { next: cursor - count }) };
    };
    expect(await readLines(load)).toMatchObject({ lines: { length: 1_299 }, end: 'complete' });
    expect(await readLines(load, 700)).toMatchObject({ lines: { length: 700 }, end: 'full' });
  });

  it('reads on through pages without a match, and says when it stops before the end', async () => {
    const load = async (cursor = 400) =>
      cursor === 1 ? { items: [{ ...LINE, status: 'failed', position: 1 }] } : { items: [], next: cursor - 1 };
    expect(await readLines(load)).toMatchObject({ lines: { length: 1 }, end: 'complete' });
    const stopped = await readLines(load, 700, AbortSignal.abort());
    expect(stopped).toEqual({ lines: [], end: 'timed out' });
    expect(exportedText(stopped)).toMatch(/^The search stopped after 2 minutes\. The newest 0 lines are exported\./);
    expect(exportedText({ lines: [], end: 'full' })).toMatch(/^The newest 0 lines are exported\. Choose/);
  });
});
