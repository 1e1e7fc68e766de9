import { useEffect } from 'preact/hooks';

type RowStep = 1 | -1;

const ROWS = 'tbody tr';
const TABLE = '.table';
const STEPS: Readonly<Record<string, RowStep | undefined>> = { ArrowDown: 1, ArrowUp: -1 };

/** The row after a step from the one with the focus, -1 if none has it: then the first one. Undefined if there is none. */
export function rowAfter(focused: number, count: number, step: RowStep): number | undefined {
  if (count === 0) return undefined;
  return focused === -1 ? 0 : Math.min(Math.max(focused + step, 0), count - 1);
}

/** Moves the focus to the next or previous row: of the table with the focus, or of the first one that is shown. */
export function moveToRow(step: RowStep): void {
  const { activeElement: active } = document;
  const shown = [...document.querySelectorAll(`#main ${TABLE}`)].find((table) => table.checkVisibility());
  const rows = [...((active?.closest(TABLE) ?? shown)?.querySelectorAll<HTMLElement>(ROWS) ?? [])];
  const focused = rows.findIndex((row) => row.contains(active));
  const next = rowAfter(focused, rows.length, step);
  if (next !== undefined) rows[next]?.focus();
}

/** In a row, the arrow keys move to the next ones, and Enter opens what the row is about. */
export function useRowKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !(target instanceof Element)) return;
      const row = target.closest<HTMLElement>(`${TABLE} ${ROWS}`);
      if (!row || target.matches('input, textarea, select')) return;
      const step = STEPS[key];
      if (step !== undefined) moveToRow(step);
      // A link or button in the row has its own Enter.
      else if (key === 'Enter' && target === row) row.querySelector<HTMLElement>('a[href]')?.click();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
