import fc from 'fast-check';
import type { DeliveryLimits } from '../platforms/platform.js';
import { type FailedAttempt, nextAttemptMs, type RetryRules, sendableUntilMs } from './retry-schedule.js';

const HOUR_MS = 3_600_000;
const RULES: RetryRules = { scheduleMs: [30_000, 120_000, 600_000], giveUpMs: 168 * HOUR_MS };

describe('sendableUntilMs', () => {
  const META = { dedupWindowMs: 48 * HOUR_MS, ageMaxMs: 168 * HOUR_MS };

  it.each<[string, DeliveryLimits, number | undefined, number]>([
    ['the maximum age while the platform cannot have accepted it', META, undefined, 167],
    ['the dedup window from the first attempt with an unknown outcome', META, 60, 107],
    ['the maximum age if it ends before the dedup window', META, 150, 167],
    ['the give-up time if no limit is known', {}, undefined, 168],
    ['the give-up time after an unknown outcome if no dedup window is known', { ageMaxMs: 2_160 * HOUR_MS }, 10, 178],
    ['the dedup window if no maximum age is known', { dedupWindowMs: 24 * HOUR_MS }, 1, 24],
  ])('is %s', (_, limits, unknownSinceHours, hours) => {
    const unknownSinceMs = unknownSinceHours === undefined ? undefined : unknownSinceHours * HOUR_MS;
    expect(sendableUntilMs({ receivedMs: 0, occurredMs: 0, unknownSinceMs }, limits, RULES)).toBe(hours * HOUR_MS);
  });

  it('counts the maximum age from when the conversion occurred, and the give-up time from its receipt', () => {
    const age = { receivedMs: 0, occurredMs: -100 * HOUR_MS };
    expect(sendableUntilMs(age, META, RULES)).toBe(67 * HOUR_MS);
    expect(sendableUntilMs(age, {}, RULES)).toBe(168 * HOUR_MS);
  });
});

describe('nextAttemptMs', () => {
  const failed: FailedAttempt = { attempt: 1, nowMs: 0, random: 0.5 };
  const untilMs = 47 * HOUR_MS;

  it('follows the schedule and repeats its last delay', () => {
    const delays = [1, 2, 3, 4, 40].map((attempt) => nextAttemptMs({ ...failed, attempt }, untilMs, RULES));
    expect(delays).toEqual([30_000, 120_000, 600_000, 600_000, 600_000]);
  });

  it('lengthens the delay if the platform requests it, and never shortens it', () => {
    expect(nextAttemptMs({ ...failed, afterMs: 1_000 }, untilMs, RULES)).toBe(30_000);
    expect(nextAttemptMs({ ...failed, afterMs: 90_000 }, untilMs, RULES)).toBe(90_000);
  });

  it('returns undefined if the attempt would be too late', () => {
    const nowMs = 47 * HOUR_MS - 30_000;
    expect(nextAttemptMs({ ...failed, nowMs }, untilMs, RULES)).toBe(47 * HOUR_MS);
    expect(nextAttemptMs({ ...failed, nowMs: nowMs + 1 }, untilMs, RULES)).toBeUndefined();
  });

  it('respects Retry-After and the window, with at most ±20 % jitter', () => {
    const delay = fc.integer({ min: 1, max: 20 * HOUR_MS });
    fc.assert(
      fc.property(
        fc.record({
          attempt: fc.integer({ min: 1, max: 50 }),
          nowMs: fc.integer({ min: 0, max: 2e12 }),
          afterMs: fc.option(fc.double({ min: 0, max: 100 * HOUR_MS, noNaN: true }), { nil: undefined }),
          random: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        fc.array(delay, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: -100 * HOUR_MS, max: 100 * HOUR_MS }),
        (attempted, scheduleMs, leftMs) => {
          const { nowMs } = attempted;
          const latest = nowMs + leftMs;
          const usual = scheduleMs[Math.min(attempted.attempt, scheduleMs.length) - 1] as number;
          const next = nextAttemptMs(attempted, latest, { scheduleMs, giveUpMs: 168 * HOUR_MS });
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
