/** Digits after the decimal point in exported values: more than any currency has, and what a NUMERIC column of BigQuery holds. */
export const VALUE_SCALE = 9;
/** Digits in all: what 16 bytes hold. */
export const VALUE_PRECISION = 38;

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/**
 * The number times 10^VALUE_SCALE, computed from its decimal digits: 19.99 is exactly 19.990000000, which binary arithmetic would
 * not give. Further digits are rounded. Null if it has more than VALUE_PRECISION digits.
 */
export function scaledValue(value: number): bigint | null {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(String(value)) ?? [];
  if (sign === undefined) return null;
  const shift = VALUE_SCALE + Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  // Below this no digit is left; a larger power of ten would only take time.
  if (shift < -VALUE_PRECISION) return 0n;
  const scaled =
    shift >= 0 ? digits * 10n ** BigInt(Math.min(shift, VALUE_PRECISION)) : roundedQuotient(digits, -shift);
  if (scaled >= 10n ** BigInt(VALUE_PRECISION)) return null;
  return sign === '-' ? -scaled : scaled;
}

/** The sum of decimal numbers as a person adds them: 0.1 and 0.2 are 0.3. A value with too many digits makes it a binary sum. */
export function sumValues(values: readonly number[]): number {
  let sum = 0n;
  for (const value of values) {
    const scaled = scaledValue(value);
    if (scaled === null) return values.reduce((total, one) => total + one, 0);
    sum += scaled;
  }
  return Number(`${sum}e-${VALUE_SCALE}`);
}

function roundedQuotient(digits: bigint, shift: number): bigint {
  const divisor = 10n ** BigInt(shift);
  return (digits + divisor / 2n) / divisor;
}
