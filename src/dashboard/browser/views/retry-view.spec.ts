import { formatRetryCursor, parseRetryCursor } from '../../../history/retry-cursor.js';
import {
  previewedOf,
  type RetrySelection,
  retriedText,
  retryEnd,
  retrySelections,
  retryStatuses,
  runRetry,
  summarize,
} from './retry-view.js';

const ID = '01980000-0000-7000-8000-000000000000';
const NONE = { dryRun: true, deliveries: [], after: 0 };

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
      ...{ dryRun: false, requested: 5, connections: {}, deliveries: [], after: 0 },
      ...(Number(cursor) + 1 < count && { next: String(Number(cursor) + 1) }),
    });

  it('requests every page of every selection', async () => {
    let sum = 0;
    const add = ({ requested }: { requested: number }) => {
      sum += requested;
    };
    expect(await runRetry(Array(2).fill({}), pages(400), add, new AbortController().signal)).toBeUndefined();
    expect(sum).toBe(4_000);
  });

  it('stops after the request that runs, and keeps what was answered before an error', async () => {
    const stopping = new AbortController();
    let sum = 0;
    const stop = await runRetry(
      [{}],
      pages(9),
      ({ requested }) => {
        sum += requested;
        if (sum === 15) stopping.abort();
      },
      stopping.signal,
    );
    expect([stop, sum, retriedText(sum, 45, retryEnd(stop, true))]).toEqual([
      { selection: 0, cursor: '3' },
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

  it('looks no further than a preview that was stopped', async () => {
    // Attempts of each selection, as the service pages them: newest first, those from a position on.
    const attempts = { one: [90, 80, 70], other: [60, 50, 40, 30, 20] };
    const looked: number[] = [];
    const request = async ({ connection, from = '0' }: RetrySelection, cursor: string | undefined, limit: number) => {
      const before = cursor === undefined ? Number.POSITIVE_INFINITY : parseRetryCursor(cursor).before;
      const left = attempts[connection as 'one' | 'other'].filter((at) => at >= Number(from) && at < before);
      const page = left.slice(0, limit);
      looked.push(...page);
      const next = left.length > limit && { next: formatRetryCursor({ before: page.at(-1) as number, until: 99 }) };
      return { ...{ dryRun: false, requested: page.length, connections: {}, deliveries: [], after: 0 }, ...next };
    };
    const selections = [{ connection: 'one' }, { connection: 'other' }];
    /** What a preview of so many requests looks at, and then sending, whose requests look at more at once. */
    const lookedAt = async (requests: number) => {
      const stopping = new AbortController();
      let answers = 0;
      const count = () => {
        answers += 1;
        if (answers === requests) stopping.abort();
      };
      const stop = await runRetry(selections, (one, cursor) => request(one, cursor, 2), count, stopping.signal);
      const previewed = looked.splice(0);
      const all = new AbortController().signal;
      await runRetry(
        previewedOf(selections, stop),
        (one, cursor) => request(one, cursor, 3),
        () => {},
        all,
      );
      return { previewed, sent: looked.splice(0) };
    };
    const inTheMiddle = [90, 80, 70, 60, 50];
    expect(await lookedAt(3)).toEqual({ previewed: inTheMiddle, sent: inTheMiddle });
    expect(await lookedAt(2)).toEqual({ previewed: attempts.one, sent: attempts.one });
    const complete = [...attempts.one, ...attempts.other];
    expect(await lookedAt(9)).toEqual({ previewed: complete, sent: complete });
  });

  it('does not report that all was sent if attempts were not looked at', () => {
    expect(retriedText(200, 200, retryEnd(undefined, false))).toBe('200 deliveries are sent again');
    expect(retriedText(200, 200, retryEnd({ selection: 0 }, false))).toBe(
      '200 deliveries are sent again, but not all attempts were looked at within 10 minutes: choose a shorter time for the others',
    );
  });

  it('adds up what is sent, and tells what is not', () => {
    const answers = [
      { ...NONE, requested: 2, connections: { meta: { requested: 2, byStatus: { failed: 2, delivered: 1 } } } },
      { ...NONE, requested: 1, connections: { meta: { requested: 1, byStatus: { failed: 1, delivered: 2 } } } },
    ];
    expect(summarize(answers, ['failed', 'skipped'])).toEqual({
      requested: 3,
      connections: [{ connection: 'meta', requested: 3, notSent: [['delivered', 3]] }],
    });
  });

  it('shows the payload of a single delivery only', () => {
    const preview = { status: 'sent' as const, payload: { a: 1 } };
    const one = { ...NONE, requested: 1, connections: {}, preview };
    expect(summarize([one], ['failed']).preview).toEqual(preview);
    expect(summarize([one, one], ['failed']).preview).toBeUndefined();
  });
});
