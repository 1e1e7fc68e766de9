import fc from 'fast-check';
import type { Platform } from '../platforms/platform.js';
import { type FailedAttempt, nextAttemptMs, type RetryRules, sendableForMs } from './retry-schedule.js';

const HOUR_MS = 3_600_000;
const RULES: RetryRules = { scheduleMs: [30_000, 120_000, 600_000], giveUpMs: 168 * HOUR_MS };

const platform = (windows: Pick<Platform, 'dedupWindowMs' | 'ageMaxMs'> = {}) => windows as Platform;

describe('sendableForMs', () => {
  it.each<[string, Pick<Platform, 'dedupWindowMs' | 'ageMaxMs'>, number]>([
    ['is the give-up time for a platform without limits', {}, 168],
    ['is one hour less than the dedup window', { dedupWindowMs: 48 * HOUR_MS }, 47],
    ['exceeds the give-up time if the dedup window is longer', { dedupWindowMs: 1_000 * HOUR_MS }, 999],
    ['is one hour less than the maximum age', { ageMaxMs: 72 * HOUR_MS }, 71],
    ['is the shorter of both limits', { dedupWindowMs: 48 * HOUR_MS, ageMaxMs: 24 * HOUR_MS }, 23],
  ])('%s', (_, windows, hours) => {
    expect(sendableForMs(platform(windows), RULES)).toBe(hours * HOUR_MS);
  });
});

describe('nextAttemptMs', () => {
  const failed: FailedAttempt = { attempt: 1, receivedMs: 0, nowMs: 0, random: 0.5 };

  it('follows the schedule and repeats its last delay', () => {
    const delays = [1, 2, 3, 4, 40].map((attempt) => nextAttemptMs({ ...failed, attempt }, platform(), RULES));
    expect(delays).toEqual([30_000, 120_000, 600_000, 600_000, 600_000]);
  });

  it('lengthens the delay if the platform requests it, and never shortens it', () => {
    expect(nextAttemptMs({ ...failed, afterMs: 1_000 }, platform(), RULES)).toBe(30_000);
    expect(nextAttemptMs({ ...failed, afterMs: 90_000 }, platform(), RULES)).toBe(90_000);
  });

  it('returns undefined if the attempt would be too late', () => {
    const nowMs = 47 * HOUR_MS - 30_000;
    expect(nextAttemptMs({ ...failed, nowMs }, platform({ dedupWindowMs: 48 * HOUR_MS }), RULES)).toBe(47 * HOUR_MS);
    expect(
      nextAttemptMs({ ...failed, nowMs: nowMs + 1 }, platform({ dedupWindowMs: 48 * HOUR_MS }), RULES),
    ).toBeUndefined();
  });

  it('respects Retry-After and the window, with at most ±20 % jitter', () => {
    const delay = fc.integer({ min: 1, max: 20 * HOUR_MS });
    fc.assert(
      fc.property(
        fc.record({
          attempt: fc.integer({ min: 1, max: 50 }),
          receivedMs: fc.integer({ min: 0, max: 2e12 }),
          elapsedMs: fc.integer({ min: 0, max: 200 * HOUR_MS }),
          afterMs: fc.option(fc.double({ min: 0, max: 100 * HOUR_MS, noNaN: true }), { nil: undefined }),
          random: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        fc.array(delay, { minLength: 1, maxLength: 8 }),
        fc.option(fc.integer({ min: 2 * HOUR_MS, max: 100 * HOUR_MS }), { nil: undefined }),
        ({ elapsedMs, ...attempted }, scheduleMs, dedupWindowMs) => {
          const nowMs = attempted.receivedMs + elapsedMs;
          const rules = { scheduleMs, giveUpMs: 168 * HOUR_MS };
          const target = platform(dedupWindowMs === undefined ? {} : { dedupWindowMs });
          const latest = attempted.receivedMs + sendableForMs(target, rules);
          const usual = scheduleMs[Math.min(attempted.attempt, scheduleMs.length) - 1] as number;
          const next = nextAttemptMs({ ...attempted, nowMs }, target, rules);
          if (next === undefined) {
            expect(nowMs + Math.max(usual * 1.2, attempted.afterMs ?? 0)).toBeGreaterThan(latest - 1);
            return;
          }
          expect(next).toBeLessThanOrEqual(latest);
          expect(next - nowMs).toBeGreaterThanOrEqual(Math.max(usual * 0.8, attempted.afterMs ?? 0) - 0.001);
          expect(next - nowMs).toBeLessThanOrEqual(Math.max(usual * 1.2, attempted.afterMs ?? 0) + 1);
        },
      ),
    );
  });
});
