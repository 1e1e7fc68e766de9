import fc from 'fast-check';
import type { Platform } from '../platforms/platform.js';
import { type FailedTry, nextTryMs, type RetryRules, sendableForMs } from './retry-schedule.js';

const HOUR_MS = 3_600_000;
const RULES: RetryRules = { scheduleMs: [30_000, 120_000, 600_000], giveUpMs: 168 * HOUR_MS };

const platform = (windows: Pick<Platform, 'dedupWindowMs' | 'ageMaxMs'> = {}) => windows as Platform;

describe('how long a conversion may be sent', () => {
  it.each<[string, Pick<Platform, 'dedupWindowMs' | 'ageMaxMs'>, number]>([
    ['until we give up, where the platform says nothing', {}, 168],
    ['an hour less than repeats are told', { dedupWindowMs: 48 * HOUR_MS }, 47],
    ['longer than we would try, where repeats are told longer', { dedupWindowMs: 1_000 * HOUR_MS }, 999],
    ['an hour less than it takes old ones', { ageMaxMs: 72 * HOUR_MS }, 71],
    ['the shorter of both', { dedupWindowMs: 48 * HOUR_MS, ageMaxMs: 24 * HOUR_MS }, 23],
  ])('%s', (_, windows, hours) => {
    expect(sendableForMs(platform(windows), RULES)).toBe(hours * HOUR_MS);
  });
});

describe('the next try', () => {
  const failed: FailedTry = { attempt: 1, receivedMs: 0, nowMs: 0, chance: 0.5 };

  it('follows the schedule, whose last wait repeats', () => {
    const waits = [1, 2, 3, 4, 40].map((attempt) => nextTryMs({ ...failed, attempt }, platform(), RULES));
    expect(waits).toEqual([30_000, 120_000, 600_000, 600_000, 600_000]);
  });

  it('waits longer where the platform wants that, never shorter', () => {
    expect(nextTryMs({ ...failed, afterMs: 1_000 }, platform(), RULES)).toBe(30_000);
    expect(nextTryMs({ ...failed, afterMs: 90_000 }, platform(), RULES)).toBe(90_000);
  });

  it('is none when it would come too late', () => {
    const nowMs = 47 * HOUR_MS - 30_000;
    expect(nextTryMs({ ...failed, nowMs }, platform({ dedupWindowMs: 48 * HOUR_MS }), RULES)).toBe(47 * HOUR_MS);
    expect(
      nextTryMs({ ...failed, nowMs: nowMs + 1 }, platform({ dedupWindowMs: 48 * HOUR_MS }), RULES),
    ).toBeUndefined();
  });

  it('comes after Retry-After, within the window, and a fifth around the schedule at most', () => {
    const wait = fc.integer({ min: 1, max: 20 * HOUR_MS });
    fc.assert(
      fc.property(
        fc.record({
          attempt: fc.integer({ min: 1, max: 50 }),
          receivedMs: fc.integer({ min: 0, max: 2e12 }),
          elapsedMs: fc.integer({ min: 0, max: 200 * HOUR_MS }),
          afterMs: fc.option(fc.double({ min: 0, max: 100 * HOUR_MS, noNaN: true }), { nil: undefined }),
          chance: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        fc.array(wait, { minLength: 1, maxLength: 8 }),
        fc.option(fc.integer({ min: 2 * HOUR_MS, max: 100 * HOUR_MS }), { nil: undefined }),
        ({ elapsedMs, ...tried }, scheduleMs, dedupWindowMs) => {
          const nowMs = tried.receivedMs + elapsedMs;
          const rules = { scheduleMs, giveUpMs: 168 * HOUR_MS };
          const at = platform(dedupWindowMs === undefined ? {} : { dedupWindowMs });
          const latest = tried.receivedMs + sendableForMs(at, rules);
          const usual = scheduleMs[Math.min(tried.attempt, scheduleMs.length) - 1] as number;
          const next = nextTryMs({ ...tried, nowMs }, at, rules);
          if (next === undefined) {
            expect(nowMs + Math.max(usual * 1.2, tried.afterMs ?? 0)).toBeGreaterThan(latest - 1);
            return;
          }
          expect(next).toBeLessThanOrEqual(latest);
          expect(next - nowMs).toBeGreaterThanOrEqual(Math.max(usual * 0.8, tried.afterMs ?? 0) - 0.001);
          expect(next - nowMs).toBeLessThanOrEqual(Math.max(usual * 1.2, tried.afterMs ?? 0) + 1);
        },
      ),
    );
  });
});
