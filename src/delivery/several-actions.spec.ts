import type { AttemptResult, QueuedDelivery } from './destination-queue.js';
import { combineResults, enqueueParts } from './several-actions.js';

const ACTIONS = ['111', '222', '333'];
const delivered: AttemptResult = { status: 'delivered', durationMs: 5, requestId: 'r1', httpStatus: 200 };
const accepted: AttemptResult = { status: 'accepted', durationMs: 5, requestId: 'r2' };
const failed: AttemptResult = { status: 'failed', reason: 'EXPIRED', durationMs: 9, httpStatus: 200, unknown: false };
const timeout: AttemptResult = { status: 'deferred', reason: 'timeout', durationMs: 10, unknown: true };
const throttled: AttemptResult = {
  ...{ status: 'deferred', reason: 'throttled', durationMs: 3, afterMs: 7, httpStatus: 429 },
  unknown: false,
};
const parked: AttemptResult = { status: 'deferred', reason: 'authorization', durationMs: 4, unknown: false };
const withdrawn: AttemptResult = { status: 'withdrawn', durationMs: 0 };
const optedOut: AttemptResult = { status: 'opted_out', durationMs: 0, unknown: false };
const erased: AttemptResult = { status: 'erased', durationMs: 0, unknown: false };

const combine = (...results: AttemptResult[]) =>
  combineResults(results.map((result, index) => ({ action: ACTIONS[index] as string, result })));

describe('combineResults', () => {
  it.each<[string, AttemptResult[], object]>([
    ['all delivered', [delivered, delivered], { ...delivered }],
    ['one accepted only', [delivered, accepted], { status: 'accepted', requestId: 'r2' }],
    [
      'one failed',
      [delivered, failed],
      { status: 'failed', reason: 'delivered, but not to 222: EXPIRED', durationMs: 9, unknown: false },
    ],
    ['all failed', [failed, failed], { status: 'failed', reason: 'EXPIRED' }],
    ['none sent in time', [withdrawn, withdrawn], { status: 'withdrawn' }],
    ['one not sent in time, and none accepted', [failed, withdrawn], { status: 'withdrawn' }],
    ['one not sent in time', [delivered, withdrawn], { status: 'deferred', reason: 'timeout', unknown: true }],
    ['one that may be accepted', [withdrawn, timeout], { status: 'deferred', reason: 'timeout', unknown: true }],
    ['a person who has opted out', [optedOut, failed], { status: 'opted_out' }],
    ['a person who was erased', [optedOut, erased], { status: 'erased' }],
    [
      'a person who was erased when one was delivered',
      [delivered, erased],
      { reason: 'delivered, but not to 222: erased' },
    ],
    [
      'a person who opted out when one was delivered',
      [delivered, optedOut],
      { status: 'failed', reason: 'delivered, but not to 222: consent_denied' },
    ],
    [
      'one throttled: bound to the account that has the other',
      [delivered, throttled],
      { status: 'deferred', reason: 'throttled', afterMs: 7, httpStatus: 429, unknown: true },
    ],
    ['all throttled: bound to nothing', [throttled, throttled], { status: 'deferred', unknown: false }],
    ['one failed and one throttled', [failed, throttled], { status: 'deferred', reason: 'throttled', unknown: false }],
    [
      'one wrong setting: not bound to it',
      [delivered, parked],
      { status: 'deferred', reason: 'authorization', unknown: false },
    ],
    [
      'one wrong setting among others that wait',
      [throttled, timeout, parked],
      { status: 'deferred', reason: 'authorization', afterMs: 7, unknown: true },
    ],
  ])('gives one result for several actions: %s', (_, results, expected) => {
    expect(combine(...results)).toMatchObject(expected);
  });
});

describe('enqueueParts', () => {
  it('queues an item for each action, and is done when all are', () => {
    const queued: QueuedDelivery[] = [];
    const results: AttemptResult[] = [];
    const delivery: QueuedDelivery = {
      payload: { body: '[1,2]', group: 'upload', account: { key: '[]', settings: {} } },
      ...{ bound: true, alone: false, probe: false },
      mayDeliver: () => true,
      decided: { atMs: 0, position: 1 },
      done: (result) => results.push(result),
    };
    const parts = [
      { action: '111', body: '1' },
      { action: '222', body: '2' },
    ];
    enqueueParts({ enqueue: (part) => queued.push(part) }, delivery, parts);
    expect(queued.map(({ payload, bound }) => [payload.body, payload.group, bound])).toEqual([
      ['1', 'upload', true],
      ['2', 'upload', true],
    ]);
    queued[1]?.done(failed);
    expect(results).toEqual([]);
    queued[0]?.done({ ...failed, reason: 'INVALID' });
    expect(results).toMatchObject([{ status: 'failed', reason: '111: INVALID; 222: EXPIRED' }]);
  });
});
