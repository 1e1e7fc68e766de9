/** Where an argument or the value of a rule comes from. */
export interface TransformArgument {
  /** The argument as it is written. */
  readonly text: string;
  /** The value of an argument that is a pointer or a literal. */
  value(): unknown;
  /** The values of a pointer in each element of a list. */
  each(list: readonly unknown[]): unknown[];
}

export interface Transform {
  /** Whether it needs an argument. */
  readonly takes: 'nothing' | 'value' | 'name' | 'pointer';
  /** Gets what was sent and returns what a conversion takes. What it cannot read it returns unchanged, so that it is named as invalid. */
  apply(value: unknown, argument: TransformArgument): unknown;
}

/** Amounts of these have no minor unit in the APIs that send integers, or three digits: docs.stripe.com/currencies. */
const ZERO_DECIMAL = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '));
const THREE_DECIMAL = new Set('BHD JOD KWD OMR TND'.split(' '));
const DECIMAL = /^\s*-?\d{1,15}(?:\.\d{1,10})?\s*$/;

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && DECIMAL.test(value) ? Number(value) : undefined;
}

/** Without the error of binary fractions that adding them up makes. */
function rounded(value: number): number {
  return Number(value.toFixed(6));
}

function minorUnits(value: unknown, argument: TransformArgument): unknown {
  const amount = numberOf(value);
  const currency = argument.value();
  if (amount === undefined || typeof currency !== 'string') return value;
  const code = currency.toUpperCase();
  if (ZERO_DECIMAL.has(code)) return amount;
  return rounded(amount / (THREE_DECIMAL.has(code) ? 1_000 : 100));
}

/** Of a page, with its host or without. Most pages do not have most parameters. */
function parameterOf(value: unknown, name: string): unknown {
  if (typeof value !== 'string' || !value.includes(`${name}=`)) return undefined;
  const [page = ''] = value.split('#', 1);
  return new URLSearchParams(page.slice(page.indexOf('?') + 1 || page.length)).get(name) ?? undefined;
}

/** All that a rule can do with a value. Each takes time in proportion to the value; there are no expressions and no patterns to run. */
export const TRANSFORMS: Readonly<Record<string, Transform>> = {
  number: { takes: 'nothing', apply: (value) => numberOf(value) ?? value },
  text: { takes: 'nothing', apply: (value) => (typeof value === 'number' ? String(value) : value) },
  lower: { takes: 'nothing', apply: (value) => (typeof value === 'string' ? value.toLowerCase() : value) },
  first_word: { takes: 'nothing', apply: (value) => wordsOf(value)?.at(0) ?? value },
  last_word: {
    takes: 'nothing',
    apply: (value) => {
      const words = wordsOf(value);
      return words && words.length > 1 ? words.at(-1) : undefined;
    },
  },
  utc: {
    takes: 'nothing',
    apply: (value) =>
      typeof value === 'string' && /^[\dT:. -]{10,30}$/.test(value) ? `${value.replace(' ', 'T')}Z` : value,
  },
  minor_units: { takes: 'value', apply: minorUnits },
  minus: {
    takes: 'value',
    apply: (value, argument) => {
      const [amount, other] = [numberOf(value), numberOf(argument.value() ?? 0)];
      return amount === undefined || other === undefined ? value : rounded(amount - other);
    },
  },
  sum: {
    takes: 'pointer',
    apply: (value, argument) => {
      if (!Array.isArray(value)) return value;
      const amounts = argument.each(value).map(numberOf);
      if (amounts.length === 0) return undefined;
      return rounded(amounts.reduce<number>((sum, amount) => sum + (amount ?? Number.NaN), 0));
    },
  },
  parameter: { takes: 'name', apply: (value, { text }) => parameterOf(value, text) },
};

function wordsOf(value: unknown): string[] | undefined {
  return typeof value === 'string' ? value.trim().split(/\s+/) : undefined;
}
