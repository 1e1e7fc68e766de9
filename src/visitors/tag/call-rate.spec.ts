import { CallRate } from './call-rate.js';

describe('CallRate', () => {
  it('allows a burst, then a number of calls per second', () => {
    const rate = new CallRate(2, 3);
    const calls = (atMs: number, times: number) =>
      Array.from({ length: times }, () => rate.take('s', '192.0.2.1', atMs) === 0);
    expect(calls(0, 4)).toEqual([true, true, true, false]);
    expect(calls(499, 1)).toEqual([false]);
    expect(calls(1_000, 3)).toEqual([true, true, false]);
    expect(calls(60_000, 4)).toEqual([true, true, true, false]);
  });

  it('limits each site and each client network separately', () => {
    const rate = new CallRate(1, 1);
    expect(rate.take('a', '2001:db8:1:2::1', 0)).toBe(0);
    expect(rate.take('b', '2001:db8:1:2::1', 0)).toBe(0);
    expect(rate.take('a', '2001:db8:1:2:ffff::9', 0)).toBe(1);
    expect(rate.take('a', '2001:db8:1:3::1', 0)).toBe(0);
    expect(rate.take('a', '::ffff:192.0.2.1', 0)).toBe(0);
    expect(rate.take('a', '192.0.2.1', 0)).toBe(1);
  });

  it('takes several tokens at once, and tells how many seconds are missing', () => {
    const rate = new CallRate(10, 100);
    expect(rate.take('s', '192.0.2.1', 0, 80)).toBe(0);
    expect(rate.take('s', '192.0.2.1', 1_000, 50)).toBe(2);
    expect(rate.take('s', '192.0.2.1', 3_000, 50)).toBe(0);
  });

  it('prunes the buckets that are full again', () => {
    const rate = new CallRate(1, 3_600);
    rate.take('s', '192.0.2.1', 0, 10);
    rate.take('s', '192.0.2.2', 0, 20);
    rate.take('s', '192.0.2.3', 15_000);
    expect([...(rate as unknown as { buckets: Map<string, unknown> }).buckets.keys()]).toEqual([
      's 192.0.2.2',
      's 192.0.2.3',
    ]);
  });

  it('prunes idle callers', () => {
    const rate = new CallRate(1, 1);
    for (let each = 0; each < 1_000; each += 1) rate.take('s', `10.0.${each >> 8}.${each & 255}`, 0);
    rate.take('s', '192.0.2.1', 20_000);
    expect((rate as unknown as { buckets: Map<string, unknown> }).buckets.size).toBe(1);
  });
});
