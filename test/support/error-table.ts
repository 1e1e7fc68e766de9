import type { ErrorRow } from '../../src/platforms/error-table.js';
import type { Verdict } from '../../src/platforms/platform.js';
import { verdictLabel } from './platform-answers.js';

type Code = number | string;

/**
 * Tests the verdict on each code of a table, by its label. A code of the table without an expectation fails, as does a range
 * without both of its ends. `others`: codes that the table does not have, such as the neighbours of a range.
 */
export function describeErrorTable(
  table: readonly ErrorRow[],
  expected: Readonly<Record<string, readonly Code[]>>,
  others: Readonly<Record<string, readonly Code[]>>,
  verdictOn: (code: Code) => Verdict,
): void {
  const rows = [...Object.entries(expected), ...Object.entries(others)].flatMap(([label, codes]) =>
    codes.map((code) => [code, label] as const),
  );

  it.each(rows)('is, for the code %s, %s', (code, label) => {
    expect(verdictLabel(verdictOn(code))).toBe(label);
  });

  it('has an expected verdict for each code of the table', () => {
    const inTable = table.flatMap(({ codes }) => codes.flat()).map(String);
    const tested = new Set(Object.values(expected).flat().map(String));
    expect(inTable.filter((code) => !tested.has(code))).toEqual([]);
    const outside = Object.values(others).flat().map(String);
    expect(outside.filter((code) => inTable.includes(code))).toEqual([]);
  });

  it('tells what to do about each wrong setting', () => {
    const silent = table.filter(({ verdict, fix }) => verdict === 'misconfigured' && !fix);
    expect(silent).toEqual([]);
  });
}
