import { jest } from '@jest/globals';
import { AlignedInterval } from './aligned-interval.js';

describe('AlignedInterval', () => {
  const started: AlignedInterval[] = [];

  beforeEach(() => {
    jest.useFakeTimers();
  });

  afterEach(() => {
    for (const each of started.splice(0)) each.stop();
    jest.useRealTimers();
  });

  function record(everyMs: number, times: number[]): AlignedInterval {
    const interval = new AlignedInterval(() => times.push(Math.round(performance.now())), everyMs);
    started.push(interval);
    return interval;
  }

  function advanceTo(ms: number): void {
    jest.advanceTimersByTime(ms - performance.now());
  }

  it('runs together with intervals that started at another time', () => {
    const [first, second, slow]: [number[], number[], number[]] = [[], [], []];
    advanceTo(10_120);
    record(500, first);
    advanceTo(10_210);
    record(500, second);
    record(1_000, slow);
    advanceTo(12_100);
    expect(first).toEqual([10_500, 11_000, 11_500, 12_000]);
    expect(second).toEqual(first);
    expect(slow).toEqual([11_000, 12_000]);
  });

  it('does not run twice when a timer is early by a millisecond', () => {
    const times: number[] = [];
    advanceTo(20_100);
    record(500, times);
    const now = jest.spyOn(performance, 'now');
    for (const ms of [20_499.4, 20_999.2]) {
      now.mockReturnValue(ms);
      jest.advanceTimersToNextTimer();
    }
    now.mockReturnValue(20_999.9);
    jest.advanceTimersByTime(400);
    now.mockRestore();
    expect(times).toHaveLength(2);
  });

  it('skips what it missed while the process was frozen', () => {
    const times: number[] = [];
    advanceTo(30_100);
    record(500, times);
    const now = jest.spyOn(performance, 'now').mockReturnValue(34_700);
    jest.advanceTimersToNextTimer();
    now.mockRestore();
    expect(times).toHaveLength(1);
  });

  it('runs no more after it was stopped', () => {
    const times: number[] = [];
    advanceTo(40_100);
    const interval = record(500, times);
    advanceTo(40_600);
    interval.stop();
    advanceTo(45_000);
    expect(times).toEqual([40_500]);
  });

  it('lets the process end if it is told so, also after its first run', () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const times: number[] = [];
    advanceTo(60_100);
    record(500, times).unref();
    advanceTo(61_100);
    const keepsProcess = timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef());
    timers.mockRestore();
    expect(times).toEqual([60_500, 61_000]);
    expect(keepsProcess).toEqual([false, false, false]);
  });

  it('ends when it is stopped by its own run', () => {
    const times: number[] = [];
    advanceTo(50_100);
    const interval = new AlignedInterval(() => {
      times.push(performance.now());
      interval.stop();
    }, 500);
    advanceTo(55_000);
    expect(times).toHaveLength(1);
  });
});
