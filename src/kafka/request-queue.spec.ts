import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import { stopIdleQueueChecks } from './request-queue.js';

interface Queue {
  pending: unknown[];
  throttledUntil: number;
  maybeThrottle(ms: number): void;
  push(request: object): void;
  fulfillRequest(response: object): void;
  destroy(): void;
}

const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js') as new (
  options: object,
) => Queue;

describe('stopIdleQueueChecks', () => {
  stopIdleQueueChecks();
  const log = () => {};
  const makeQueue = (maxInFlightRequests: number | null) =>
    new RequestQueue({
      maxInFlightRequests,
      requestTimeout: 1_000,
      enforceRequestTimeout: false,
      clientId: 'client',
      broker: 'broker',
      logger: { debug: log, warn: log },
    });
  const makeRequest = (correlationId: number, sendRequest: () => void) => ({
    entry: { correlationId, resolve: log, reject: log },
    expectResponse: true,
    sendRequest,
  });
  const answer = (correlationId: number) => ({ correlationId, payload: Buffer.alloc(0), size: 0 });

  afterEach(() => jest.restoreAllMocks());

  it('sets no timer after a response when no request is pending', () => {
    const setTimer = jest.spyOn(globalThis, 'setTimeout');
    const queue = makeQueue(null);
    queue.push(makeRequest(1, log));
    queue.fulfillRequest(answer(1));
    expect(setTimer).not.toHaveBeenCalled();
  });

  it('sends a throttled request when the throttling ends, with no negative delay', async () => {
    const setTimer = jest.spyOn(globalThis, 'setTimeout');
    const queue = makeQueue(null);
    queue.maybeThrottle(30);
    await new Promise<void>((sent) => queue.push(makeRequest(1, sent)));
    expect(Date.now()).toBeGreaterThanOrEqual(queue.throttledUntil);
    expect(setTimer.mock.calls.every(([, ms]) => Number(ms) > 0)).toBe(true);
  });

  it('sends a request that exceeds the limit of requests in flight after the next response', () => {
    const sent: number[] = [];
    const queue = makeQueue(1);
    for (const id of [1, 2]) queue.push(makeRequest(id, () => sent.push(id)));
    expect(sent).toEqual([1]);
    queue.fulfillRequest(answer(1));
    expect(sent).toEqual([1, 2]);
    queue.destroy();
  });
});
