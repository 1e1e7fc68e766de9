const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The exact sum of decimals, as PostgreSQL's `numeric` computes it: with as many decimal places as the longest has. */
export class DecimalSum {
  private sum: bigint | undefined;
  private scale = 0;

  add(decimal: string): void {
    const [, sign, whole, fraction = '', exponent = '0'] = DECIMAL.exec(decimal) ?? [];
    if (whole === undefined) throw new Error(`${decimal} is not a number`);
    const scale = fraction.length - Number(exponent);
    const digits = BigInt(`${sign}${whole}${fraction}`) * 10n ** BigInt(Math.max(0, -scale));
    const common = Math.max(this.scale, scale);
    const shifted = (value: bigint, from: number) => value * 10n ** BigInt(common - from);
    this.sum = shifted(this.sum ?? 0n, this.scale) + shifted(digits, Math.max(0, scale));
    this.scale = common;
  }

  /** Null without addends. */
  get text(): string | null {
    if (this.sum === undefined) return null;
    const digits = (this.sum < 0n ? -this.sum : this.sum).toString().padStart(this.scale + 1, '0');
    const whole = digits.slice(0, digits.length - this.scale);
    const fraction = this.scale === 0 ? '' : `.${digits.slice(-this.scale)}`;
    return `${this.sum < 0n ? '-' : ''}${whole}${fraction}`;
  }
}
