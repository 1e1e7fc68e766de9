import { RateLimiter } from './rate-limiter.js';

function limiterOf(requests: number, perMs: number): RateLimiter {
  return Object.assign(new RateLimiter(), { limit: { requests, perMs } });
}

describe('RateLimiter', () => {
  it('permits so many requests in any period of the length, and no more', () => {
    const limiter = limiterOf(3, 1_000);
    const sent: number[] = [];
    for (let now = 0; now < 5_000; now += 1) {
      if (limiter.waitMs(now) > 0) continue;
      limiter.count(now);
      sent.push(now);
    }
    expect(sent.slice(0, 6)).toEqual([0, 1, 2, 1_000, 1_001, 1_002]);
    for (const start of sent) expect(sent.filter((at) => at >= start && at < start + 1_000).length).toBeLessThan(4);
  });

  it('says how long the next one has to wait, and how many are possible meanwhile', () => {
    const limiter = limiterOf(2, 1_000);
    expect([limiter.waitMs(0), limiter.possibleIn(2_500, 0)]).toEqual([0, 7]);
    limiter.count(0);
    limiter.count(400);
    expect([limiter.waitMs(500), limiter.possibleIn(2_500, 500), limiter.possibleIn(400, 500)]).toEqual([500, 5, 0]);
    expect([limiter.waitMs(1_000), limiter.possibleIn(400, 1_000)]).toEqual([0, 1]);
  });

  it('counts what was sent before the limit changed', () => {
    const limiter = limiterOf(3, 1_000);
    for (const now of [0, 1, 2]) limiter.count(now);
    limiter.limit = { requests: 2, perMs: 1_000 };
    expect(limiter.waitMs(10)).toBe(991);
    limiter.limit = undefined;
    expect([limiter.waitMs(10), limiter.possibleIn(1, 10)]).toEqual([0, Number.POSITIVE_INFINITY]);
  });
});
