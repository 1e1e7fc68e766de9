import { jest } from '@jest/globals';
import { INTERVALS } from '../kernel/intervals.js';
import { permitFirstAttempts, permitLeased } from './attempt-window.js';

const REQUEST_MS = 10_000;
const DATABASE_MS = 1_700_000_000_000;

describe('attempt window', () => {
  let now: number;
  beforeEach(() => {
    now = 1_000;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('leaves a request that starts last in time to be recorded, before any other process may start', () => {
    const { first, lease, owedAfterMs } = INTERVALS.attempts;
    expect(first.startWithinMs + REQUEST_MS).toBeLessThan(first.recordWithinMs);
    expect(first.recordWithinMs).toBeLessThan(owedAfterMs);
    expect(lease.startWithinMs + REQUEST_MS).toBeLessThan(lease.recordWithinMs);
    expect(lease.recordWithinMs).toBeLessThan(lease.endsAfterMs);
  });

  it('counts first attempts from the time of the event, however late its append was answered', () => {
    const permit = permitFirstAttempts(DATABASE_MS - 6_000, DATABASE_MS, INTERVALS.attempts);
    expect(permit.notAfterMs).toBe(DATABASE_MS + 32_000);
    now += 8_999;
    expect([permit.mayStart, permit.mayRecord]).toEqual([true, true]);
    now += 1;
    expect([permit.mayStart, permit.mayRecord]).toEqual([false, true]);
    now += 23_000;
    expect(permit.mayRecord).toBe(false);
  });

  it('gives no more time to an event whose time is ahead of the clock', () => {
    const permit = permitFirstAttempts(DATABASE_MS + 60_000, DATABASE_MS, INTERVALS.attempts);
    now += 15_000;
    expect(permit.mayStart).toBe(false);
    now += 23_000;
    expect(permit.mayRecord).toBe(false);
  });

  it('counts a leased attempt from before the lease was requested', () => {
    const requestedMs = now;
    now += 5_000;
    const permit = permitLeased(requestedMs, DATABASE_MS + 60_000, INTERVALS.attempts);
    expect(permit.notAfterMs).toBe(DATABASE_MS + 58_000);
    now += 20_000;
    expect([permit.mayStart, permit.mayRecord]).toEqual([false, true]);
    now += 33_000;
    expect(permit.mayRecord).toBe(false);
  });
});
