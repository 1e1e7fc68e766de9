import { Component, type ComponentChildren } from 'preact';
import { useRowsInSteps } from '../stream/rows-in-steps.js';
import { ROW_KEYS_ID } from './row-keys-hint.js';

export interface Column<Row> {
  readonly title: string;
  /** Right-aligned, with digits of one width. */
  readonly isNumber?: boolean;
  /** With letters of one width: times and ids are compared, and more rows do not change the widths of the columns. */
  readonly isCode?: boolean;
  /** Breaks into lines. */
  readonly isText?: boolean;
  /** Hidden on narrow screens. */
  readonly isMinor?: boolean;
  /** For buttons, whose column needs no visible title. */
  readonly isAction?: boolean;
  cell(row: Row): ComponentChildren;
}

interface TableProps<Row> {
  label: string;
  /** The same object on every render of a long list, so that only new rows are rendered. */
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey(row: Row): string | number;
}

export function Table<Row>({ label, columns, rows, rowKey }: TableProps<Row>) {
  const shown = useRowsInSteps(rows, rowKey);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section class="table" aria-label={label} aria-describedby={ROW_KEYS_ID} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.isAction ? <span class="hidden">{column.title}</span> : column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <TableRow key={rowKey(row)} row={row} columns={columns} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface TableRowProps<Row> {
  row: Row;
  columns: readonly Column<Row>[];
}

class TableRow<Row> extends Component<TableRowProps<Row>> {
  override shouldComponentUpdate({ row, columns }: TableRowProps<Row>): boolean {
    return row !== this.props.row || columns !== this.props.columns;
  }

  override render({ row, columns }: TableRowProps<Row>) {
    return (
      <tr tabIndex={-1}>
        {columns.map((column) => (
          <td key={column.title} class={classOf(column)}>
            {column.cell(row)}
          </td>
        ))}
      </tr>
    );
  }
}

function classOf<Row>({ isNumber, isCode, isText, isMinor, isAction }: Column<Row>): string {
  return [isNumber && 'number', isCode && 'code', isText && 'text', isMinor && 'minor', isAction && 'action']
    .filter(Boolean)
    .join(' ');
}
