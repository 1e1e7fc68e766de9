/** Beyond, a number of hundredths may not be the decimal that was meant. */
const EXACT_MAX = 1e15;

/** An exact sum of decimals: numbers with two places are added as integers, others are left to PostgreSQL. */
export class DecimalSum {
  private hundredths = 0;
  private readonly others: string[] = [];

  add(value: number): void {
    const hundredths = Math.round(value * 100);
    const isExact = hundredths / 100 === value && Math.abs(hundredths) + Math.abs(this.hundredths) < EXACT_MAX;
    if (isExact) this.hundredths += hundredths;
    else this.others.push(String(value));
  }

  /** Decimals whose sum it is, at least one. */
  parts(): string[] {
    return [`${this.hundredths}e-2`, ...this.others];
  }
}

/** SQL: a sum of amounts as a number. Amounts have no limit, and PostgreSQL refuses to convert a sum that is too large for one. */
export function sumAsNumber(column: string): string {
  return `least(sum(${column}), ${Number.MAX_VALUE})::float8`;
}
