import { nextRows } from './rows-in-steps.js';

describe('rows in steps', () => {
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

  it('are a few more each time, until all are there', () => {
    const rows = range(1, 7);
    const first = nextRows(rows, () => false, 3);
    expect(first).toEqual([1, 2, 3]);
    const second = nextRows(rows, (row) => first.includes(row), 3);
    expect(second).toEqual(range(1, 6));
    expect(nextRows(rows, (row) => second.includes(row), 3)).toEqual(rows);
  });

  it('keep those that are there, whatever comes before them, and lose those that are gone', () => {
    const isRendered = (row: number) => row >= 5;
    expect(nextRows(range(1, 7), isRendered, 2)).toEqual([1, 2, 5, 6, 7]);
    expect(nextRows([9, 8], isRendered, 2)).toEqual([9, 8]);
  });
});
