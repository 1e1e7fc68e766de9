import { useEffect, useReducer, useRef } from 'preact/hooks';

/** Rows that are added to a table at once: few enough that a slow device renders them in a tenth of a second. */
export const STEP_ROWS = 12;

type Key = string | number;

/** The rows that are rendered already, in their new order, and the first few of the others. */
export function nextRows<Row>(rows: readonly Row[], isRendered: (row: Row) => boolean, step = STEP_ROWS): Row[] {
  let left = step;
  return rows.filter((row) => {
    if (isRendered(row)) return true;
    left -= 1;
    return left >= 0;
  });
}

/** Hands over the rows of a long list a few at a time, so that the browser can react to the user in between. */
export function useRowsInSteps<Row>(rows: readonly Row[], rowKey: (row: Row) => Key): readonly Row[] {
  const rendered = useRef<ReadonlySet<Key>>(new Set());
  const [, goOn] = useReducer<number, void>((count) => count + 1, 0);
  const shown = nextRows(rows, (row) => rendered.current.has(rowKey(row)));
  // After the browser has painted.
  useEffect(() => {
    rendered.current = new Set(shown.map(rowKey));
    if (shown.length < rows.length) goOn();
  });
  return shown;
}
