import { jest } from '@jest/globals';
import { Reachability } from './reachability.js';

describe('reachability', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('asks until the service answers, and then reports it once', async () => {
    let isUp = false;
    let asked = 0;
    const reachability = new Reachability(async () => {
      asked += 1;
      if (!isUp) throw new Error('no answer');
    });
    const seen: boolean[] = [];
    reachability.watch(() => seen.push(reachability.isReachable));
    reachability.notAnswered();
    reachability.notAnswered();
    await jest.advanceTimersByTimeAsync(60_000);
    expect([seen, asked > 1]).toEqual([[false], true]);
    isUp = true;
    await jest.advanceTimersByTimeAsync(30_000);
    const before = asked;
    await jest.advanceTimersByTimeAsync(300_000);
    expect([seen, asked]).toEqual([[false, true], before]);
  });

  it('asks after the first pause, however many requests failed side by side', async () => {
    let asked = 0;
    const reachability = new Reachability(async () => {
      asked += 1;
    });
    for (let count = 0; count < 10; count += 1) reachability.notAnswered();
    await jest.advanceTimersByTimeAsync(1_000);
    expect([asked, reachability.isReachable]).toEqual([1, true]);
  });

  it('asks at once when the device is online again', async () => {
    const reachability = new Reachability(async () => {});
    reachability.notAnswered();
    reachability.askNow();
    await jest.advanceTimersByTimeAsync(0);
    expect(reachability.isReachable).toBe(true);
  });
});
