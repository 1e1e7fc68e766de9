import { backoffMs } from './backoff.js';

describe('backoff', () => {
  it('doubles up to half a minute, however often it failed', () => {
    expect([1, 2, 3, 4, 5, 6, 5_000].map((failures) => backoffMs(failures, 1))).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
    ]);
  });

  it('waits at least half as long', () => {
    expect([backoffMs(1, 0), backoffMs(6, 0)]).toEqual([500, 15_000]);
  });
});
