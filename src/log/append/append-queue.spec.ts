import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { LogUnavailable } from '../../kernel/errors.js';
import type { AppendOutcome, AppendRequest } from '../event.js';
import { RecentEvents } from '../recent-events.js';
import { type AppendCall, AppendQueue, type BatchOutcome, BatchRefused } from './append-queue.js';

const NOW_MS = Date.parse('2026-03-01T10:00:00.000Z');
const CLOCK = { at: () => NOW_MS, refusal: () => undefined };
const LIMITS = {
  batchEventsMax: 1_000,
  batchBytesMax: 1_000_000,
  waitingEventsMax: 5,
  waitingBytesMax: 1_000_000,
  deadlineMs: 60_000,
  retryDelayMs: 1,
};
const STORED: BatchOutcome = {
  time: NOW_MS,
  previous: 0,
  first: 1,
  lost: null,
  stored: null,
  conflicts: null,
  stale: null,
  paused: null,
};

function outcomeOf(stream: string, over: Partial<AppendRequest> = {}): AppendRequest {
  const expected = { owned: 1, position: 1 };
  const events: AppendRequest['events'] = [{ type: 'thing.happened.v1', data: { stream } }];
  return { category: 'thing', stream, expected, site: 'shop.example', actor: 'system', events, ...over };
}

const rowsOf = ({ batch }: AppendCall) => JSON.parse(batch) as { id: string; stream: string; data: object }[];
const appended = (position: number) => ({ status: 'appended', position, time: '2026-03-01T10:00:00.000Z' });

describe('AppendQueue', () => {
  it('does not keep as recent what it stored before an append failed', async () => {
    const recent = new RecentEvents();
    const answers = [() => Promise.resolve(STORED), () => Promise.reject(new Error('connection lost'))];
    const port = { append: () => (answers.shift() ?? (() => Promise.resolve({ ...STORED, previous: 5, first: 6 })))() };
    const queue = new AppendQueue(port, CLOCK, () => {}, { ...LIMITS, batchEventsMax: 1 }, recent);
    await Promise.all([queue.append(outcomeOf('a')), queue.append(outcomeOf('b'))]);
    expect(recent.next(0, 10)).toEqual([]);
    expect(recent.next(5, 10).map(({ streamId }) => streamId)).toEqual(['b']);
  });
});

describe('AppendQueue, with several requests in one turn,', () => {
  let calls: AppendCall[];

  beforeEach(() => {
    calls = [];
  });

  function queueOn(append: (call: AppendCall) => Promise<BatchOutcome>, limits = LIMITS): AppendQueue {
    const port = {
      append: (call: AppendCall) => {
        calls.push(call);
        return append(call);
      },
    };
    return new AppendQueue(port, CLOCK, () => {}, limits);
  }

  function appendAll(queue: AppendQueue, requests: readonly AppendRequest[]): Promise<(AppendOutcome | Error)[]> {
    return Promise.all(requests.map((request) => queue.append(request).catch((error: Error) => error)));
  }

  it('stores all requests in one batch and answers each, a conflict too, in their order', async () => {
    const queue = queueOn(async () => ({ ...STORED, conflicts: [2] }));
    const two = outcomeOf('c', { events: [...outcomeOf('c').events, { type: 'thing.ended.v1', data: {} }] });
    expect(await appendAll(queue, [outcomeOf('a'), outcomeOf('b'), two])).toEqual([
      appended(1),
      { status: 'conflict' },
      appended(3),
    ]);
    expect(calls.map((call) => rowsOf(call).map(({ stream }) => stream))).toEqual([['a', 'b', 'c', 'c']]);
  });

  it('gives a refused event an error, and stores the others', async () => {
    const queue = queueOn(async (call) => {
      if (call.batch.includes('"bad"')) throw new BatchRefused('bad_row', 'invalid byte');
      return STORED;
    });
    const outcomes = await appendAll(
      queue,
      ['a', 'bad', 'c'].map((stream) => outcomeOf(stream)),
    );
    expect(outcomes).toMatchObject([{ status: 'appended' }, new Error('The log refused the event: invalid byte'), {}]);
    expect(outcomes[2]).toMatchObject({ status: 'appended' });
    expect(outcomes[1]).not.toBeInstanceOf(LogUnavailable);
  });

  it('sends the same rows again after a broken connection, and reports what the first call stored', async () => {
    const queue = queueOn(async () => {
      if (calls.length === 1) throw new Error('Connection terminated unexpectedly');
      return {
        ...STORED,
        first: null,
        stored: [
          { position: 7, time: NOW_MS },
          { position: 8, time: NOW_MS },
        ],
      };
    });
    expect(await appendAll(queue, [outcomeOf('a'), outcomeOf('b')])).toEqual([appended(7), appended(8)]);
    expect(calls.map(({ checked }) => checked)).toEqual([false, true]);
    expect(calls[1]?.batch).toBe(calls[0]?.batch);
  });

  it('answers at the deadlines, also the one that its sender states, and ignores what is stored later', async () => {
    let store = () => {};
    const stored = new Promise<void>((next) => {
      store = next;
    });
    const queue = queueOn(() => stored.then(() => STORED), { ...LIMITS, deadlineMs: 20 });
    const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
    const answered = appendAll(queue, [outcomeOf('a'), outcomeOf('b', { notAfterMs: NOW_MS - 1 })]);
    // The deadline comes once the batch is being stored, however busy the machine is.
    while (calls.length === 0) await sleep(1);
    clock.mockReturnValue(20);
    const outcomes = await answered;
    clock.mockRestore();
    expect(outcomes).toEqual([expect.any(LogUnavailable), expect.any(LogUnavailable)]);
    store();
    await queue.drained();
    await sleep(0);
    expect(outcomes).toEqual([expect.any(LogUnavailable), expect.any(LogUnavailable)]);
    expect(calls.map((call) => rowsOf(call).length)).toEqual([1]);
  });

  it('refuses what the queue has no room for, and stores the rest', async () => {
    const queue = queueOn(async () => STORED);
    const streams = ['a', 'b', 'c', 'd', 'e', 'f'];
    const outcomes = await appendAll(
      queue,
      streams.map((stream) => outcomeOf(stream)),
    );
    expect(outcomes.map((outcome) => outcome instanceof LogUnavailable)).toEqual([
      ...Array.from({ length: LIMITS.waitingEventsMax }, () => false),
      true,
    ]);
  });
});
