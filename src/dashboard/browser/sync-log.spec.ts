import { toCsv } from './csv.js';
import { retriedText, retryEnd, retrySelections, retryStatuses, runRetry, summarize } from './retry-view.js';
import { readLines, syncLogCsv } from './sync-log-export.js';
import { matchText, queryOf, readFilters, searchOf, withFilter } from './sync-log-filters.js';

const ID = '01980000-0000-7000-8000-000000000000';
const LINE = { position: 7, time: '2026-11-15T10:59:00.000Z', kind: 'delivery', attempt: 1, durationMs: 120 } as const;

describe('the filters of the sync log', () => {
  it('are read from the address, without what is no filter', () => {
    const query = { connection: 'meta:second', status: 'failed', kind: 'delivery', order: 'ORD-1', span: '7d' };
    expect(readFilters({ ...query, from: '2026-01-01', other: 'x' })).toEqual(query);
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
    expect(queryOf({ span: '24h', status: 'failed' }, nowMs)).toEqual({
      status: 'failed',
      from: '2026-11-14T12:00:00.000Z',
    });
    expect(queryOf({ from: '2026-01-01T00:00:00Z' }, nowMs)).toEqual({ from: '2026-01-01T00:00:00Z' });
  });

  it('say how many match, as far as they are known', () => {
    expect(matchText(50, true, true)).toBe('at least 50 match');
    expect(matchText(1, false, true)).toBe('1 matches');
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
    expect(await readLines(load)).toMatchObject({ lines: { length: 1_299 }, isTruncated: false });
    expect(await readLines(load, 700)).toMatchObject({ lines: { length: 700 }, isTruncated: true });
  });
});

describe('a retry of the sync log', () => {
  it('sends again only what was not accepted', () => {
    expect(retryStatuses(undefined)).toEqual(['failed', 'skipped']);
    expect(retryStatuses('rejected')).toEqual(['failed']);
    expect(retryStatuses('deferred')).toEqual(['queued']);
    expect(retryStatuses('delivered')).toBeUndefined();
  });

  it('selects what the filters select', () => {
    expect(retrySelections({ connection: 'meta', order: 'ORD-1' }, ['x'])).toEqual([
      { connection: 'meta', order: 'ORD-1' },
    ]);
    expect(retrySelections({ conversion: ID }, ['x'])).toEqual([{ conversion: ID }]);
    expect(retrySelections({}, ['meta', 'x'])).toEqual([{ connection: 'meta' }, { connection: 'x' }]);
  });

  it('selects attempts that ended as the filter says', () => {
    expect(retrySelections({ status: 'rejected' }, ['meta'])).toEqual([{ connection: 'meta', outcome: 'rejected' }]);
    expect(retrySelections({ status: 'failed', order: 'ORD-1' }, [])).toEqual([{ order: 'ORD-1', outcome: 'failed' }]);
  });

  const pages =
    (count: number) =>
    async (_: object, cursor = '0') => ({
      ...{ dryRun: false, requested: 5, connections: {} },
      ...(Number(cursor) + 1 < count && { next: String(Number(cursor) + 1) }),
    });

  it('requests every page of every selection, up to a limit', async () => {
    const { signal } = new AbortController();
    const sums = [];
    for (const [selections, count] of [
      [2, 3],
      [1, 41],
    ] as const) {
      let sum = 0;
      const add = ({ requested }: { requested: number }) => {
        sum += requested;
      };
      sums.push([await runRetry(Array(selections).fill({}), pages(count), add, signal), sum]);
    }
    expect(sums).toEqual([
      [true, 30],
      [false, 200],
    ]);
  });

  it('stops after the request that runs, and keeps what was answered before an error', async () => {
    const stopping = new AbortController();
    let sum = 0;
    const isDone = await runRetry(
      [{}],
      pages(9),
      ({ requested }) => {
        sum += requested;
        if (sum === 15) stopping.abort();
      },
      stopping.signal,
    );
    expect([isDone, sum, retriedText(sum, 45, retryEnd(isDone, true))]).toEqual([
      false,
      15,
      'Stopped: 15 of 45 deliveries sent again',
    ]);
    const answers: unknown[] = [];
    const failing = async (_: object, cursor = '0') => {
      if (cursor === '2') throw new Error('no answer');
      return pages(9)(_, cursor);
    };
    await expect(
      runRetry([{}], failing, (answer) => answers.push(answer), new AbortController().signal),
    ).rejects.toThrow('no answer');
    expect(answers).toHaveLength(2);
  });

  it('does not report that all was sent if attempts were not looked at', () => {
    expect(retriedText(200, 200, retryEnd(true, false))).toBe('200 deliveries are sent again');
    expect(retriedText(200, 200, retryEnd(false, false))).toBe(
      '200 deliveries are sent again, but not all attempts were looked at: choose a shorter time for the others',
    );
  });

  it('adds up what is sent, and tells what is not', () => {
    const answers = [
      { dryRun: true, requested: 2, connections: { meta: { requested: 2, byStatus: { failed: 2, delivered: 1 } } } },
      { dryRun: true, requested: 1, connections: { meta: { requested: 1, byStatus: { failed: 1, delivered: 2 } } } },
    ];
    expect(summarize(answers, ['failed', 'skipped'])).toEqual({
      requested: 3,
      connections: [{ connection: 'meta', requested: 3, notSent: [['delivered', 3]] }],
    });
  });

  it('shows the payload of a single delivery only', () => {
    const preview = { status: 'sent' as const, payload: { a: 1 } };
    const one = { dryRun: true, requested: 1, connections: {}, preview };
    expect(summarize([one], ['failed']).preview).toEqual(preview);
    expect(summarize([one, one], ['failed']).preview).toBeUndefined();
  });
});
