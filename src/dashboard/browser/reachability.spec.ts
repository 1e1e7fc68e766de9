import { jest } from '@jest/globals';
import { Reachability } from './reachability.js';

describe('reachability', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('asks every five seconds until the service answers, and then reports it once', async () => {
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
    expect([seen, asked > 11]).toEqual([[false], true]);
    isUp = true;
    await jest.advanceTimersByTimeAsync(5_000);
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

  it('knows since when there is no sign of the service', async () => {
    const reachability = new Reachability(async () => {
      throw new Error('no answer');
    });
    reachability.answered();
    const lastMs = Date.now();
    await jest.advanceTimersByTimeAsync(3_000);
    expect(reachability.since).toBeUndefined();
    reachability.askNow();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(reachability.since).toBe(lastMs);
    reachability.answered();
    expect(reachability.since).toBeUndefined();
  });

  it('asks nothing in a hidden tab, and at once when the tab is shown again', async () => {
    let [asked, isShown] = [0, false];
    const reachability = new Reachability(
      async () => {
        asked += 1;
      },
      () => isShown,
    );
    reachability.notAnswered();
    await jest.advanceTimersByTimeAsync(300_000);
    reachability.shown();
    expect([asked, reachability.isReachable]).toEqual([0, false]);
    isShown = true;
    reachability.shown();
    await jest.advanceTimersByTimeAsync(0);
    expect([asked, reachability.isReachable]).toEqual([1, true]);
  });

  it('asks once at a time', () => {
    let asked = 0;
    const reachability = new Reachability(() => {
      asked += 1;
      return new Promise(() => {});
    });
    for (let count = 0; count < 10; count += 1) reachability.askNow();
    expect(asked).toBe(1);
  });
});
