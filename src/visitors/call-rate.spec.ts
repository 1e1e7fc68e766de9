import { CallRate } from './call-rate.js';

describe('CallRate', () => {
  it('allows a burst, then a number of calls per second', () => {
    const rate = new CallRate(2, 3);
    const calls = (atMs: number, times: number) =>
      Array.from({ length: times }, () => rate.allows('s', '192.0.2.1', atMs));
    expect(calls(0, 4)).toEqual([true, true, true, false]);
    expect(calls(499, 1)).toEqual([false]);
    expect(calls(1_000, 3)).toEqual([true, true, false]);
    expect(calls(60_000, 4)).toEqual([true, true, true, false]);
  });

  it('limits each site and each client network separately', () => {
    const rate = new CallRate(1, 1);
    expect(rate.allows('a', '2001:db8:1:2::1', 0)).toBe(true);
    expect(rate.allows('b', '2001:db8:1:2::1', 0)).toBe(true);
    expect(rate.allows('a', '2001:db8:1:2:ffff::9', 0)).toBe(false);
    expect(rate.allows('a', '2001:db8:1:3::1', 0)).toBe(true);
    expect(rate.allows('a', '::ffff:192.0.2.1', 0)).toBe(true);
    expect(rate.allows('a', '192.0.2.1', 0)).toBe(false);
  });

  it('prunes idle callers', () => {
    const rate = new CallRate(1, 1);
    for (let each = 0; each < 1_000; each += 1) rate.allows('s', `10.0.${each >> 8}.${each & 255}`, 0);
    rate.allows('s', '192.0.2.1', 20_000);
    expect((rate as unknown as { buckets: Map<string, unknown> }).buckets.size).toBe(1);
  });
});
