import { scaledValue, sumValues } from './decimal.js';

describe('scaledValue', () => {
  it.each([
    [0, 0n],
    [19.99, 19_990_000_000n],
    [0.1, 100_000_000n],
    [1_234_567.89, 1_234_567_890_000_000n],
    [9_007_199_254_740_991, 9_007_199_254_740_991_000_000_000n],
    [1e-9, 1n],
    [1e-10, 0n],
    [1e-300, 0n],
    [0.300_000_000_000_000_04, 300_000_000n],
    [0.000_000_001_5, 2n],
    [1e28, 10n ** 37n],
    [-2.5, -2_500_000_000n],
  ])('keeps the decimal digits of %d', (value, scaled) => {
    expect(scaledValue(value)).toBe(scaled);
  });

  it.each([1e29, 1e300, Number.NaN, Number.POSITIVE_INFINITY])(
    'is null for %d, which the column cannot hold',
    (value) => {
      expect(scaledValue(value)).toBeNull();
    },
  );

  it('sums to the cent', () => {
    const values = Array.from({ length: 1_000 }, (_, cents) => scaledValue(cents / 100) as bigint);
    expect(values.reduce((sum, value) => sum + value, 0n)).toBe(4_995_000_000_000n);
  });
});

describe('sumValues', () => {
  it('adds decimal digits', () => {
    expect(sumValues([0.1, 0.2])).toBe(0.3);
    expect(sumValues(Array(1_000).fill(19.99))).toBe(19_990);
    expect(sumValues([-0.1, 1_234_567.89])).toBe(1_234_567.79);
    expect(sumValues([])).toBe(0);
  });

  it('adds values with too many digits as well', () => {
    expect(sumValues([1e30, 1])).toBe(1e30);
  });
});
