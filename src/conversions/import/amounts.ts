export type DecimalMark = 'comma' | 'point';

/** Spaces of any width, and the apostrophes of Swiss amounts: they only group digits. */
const GROUPING = /[\s\u00a0\u2009\u202f'’]/g;

/**
 * An amount as spreadsheets write it, `1234.5`, `1.234,50` or `1,234.50`, or the error message. One separator before exactly three
 * digits, `1.234`, means two amounts that differ by a factor of 1,000: only `decimalMark` decides.
 */
export function readAmount(text: string, decimalMark?: DecimalMark): number | { readonly error: string } {
  const compact = text.replace(GROUPING, '');
  if (!/^\d[\d.,]*$/.test(compact) || /[.,]{2}|[.,]$/.test(compact)) return INVALID;
  const mark = decimalMark === undefined ? decimalMarkOf(compact) : decimalMark === 'comma' ? ',' : '.';
  if (mark === 'ambiguous') return AMBIGUOUS;
  const [whole = '', fraction, ...rest] = mark === undefined ? [compact] : compact.split(mark);
  if (rest.length > 0 || (fraction !== undefined && !/^\d+$/.test(fraction))) return INVALID;
  const groups = whole.split(/[.,]/);
  const isGrouped =
    groups.length === 1 || groups.every((group, at) => (at === 0 ? /^\d{1,3}$/ : /^\d{3}$/).test(group));
  const hasOneMark = new Set(whole.replace(/\d/g, '')).size <= 1;
  return isGrouped && hasOneMark ? Number(`${groups.join('')}.${fraction ?? '0'}`) : INVALID;
}

const INVALID = { error: 'value must be a non-negative number' };
const AMBIGUOUS = { error: 'value is ambiguous, such as 1.234: give --decimal comma or --decimal point' };

/** Undefined if there is no fraction. */
function decimalMarkOf(compact: string): '.' | ',' | 'ambiguous' | undefined {
  const marks = compact.replace(/\d/g, '');
  const last = marks.at(-1) as '.' | ',' | undefined;
  if (last === undefined) return undefined;
  // Two different ones: the last one separates the fraction. The same one twice groups digits.
  if (marks.length > 1) return new Set(marks).size > 1 ? last : undefined;
  const [whole = '', fraction = ''] = compact.split(last);
  // `0.125` and `1234.567` can only be decimals.
  return fraction.length === 3 && /^[1-9]\d{0,2}$/.test(whole) ? 'ambiguous' : last;
}
