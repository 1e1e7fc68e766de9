import { Component, type ComponentChildren } from 'preact';
import { formatNumber } from '../format.js';
import { type Pages, SEARCH_SECONDS } from '../hooks/use-pages.js';
import { useRowsInSteps } from '../stream/rows-in-steps.js';
import { Button } from './basics.js';
import { Empty, Loading, LoadProblem } from './frame.js';

export interface Column<Row> {
  readonly title: string;
  /**
   * `number`: right-aligned, with digits of one width. `code`: with letters of one width: times and ids are compared, and more
   * rows do not change the widths of the columns. `text`: breaks into lines. `action`: for buttons, whose column needs no
   * visible title.
   */
  readonly kind?: 'number' | 'code' | 'text' | 'action';
  /** Hidden on narrow screens. */
  readonly isMinor?: boolean;
  /** A number is shown in the viewer's locale. */
  cell(row: Row): ComponentChildren;
}

interface TableProps<Row> {
  label: string;
  /** The same object on every render of a long list, so that only new rows are rendered. */
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey(row: Row): string | number;
  /** In place of a table without rows. */
  empty?: ComponentChildren;
}

const ROW_KEYS_ID = 'row-keys';

/** What a screen reader says about every table: once on a page. */
export function RowKeysHint() {
  return (
    <p id={ROW_KEYS_ID} hidden>
      j and k move between the rows, Enter opens one.
    </p>
  );
}

export function Table<Row>({ label, columns, rows, rowKey, empty }: TableProps<Row>) {
  const shown = useRowsInSteps(rows, rowKey);
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section class="table" aria-label={label} aria-describedby={ROW_KEYS_ID} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.kind === 'action' ? <span class="hidden">{column.title}</span> : column.title}
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
            {contentOf(column.cell(row))}
          </td>
        ))}
      </tr>
    );
  }
}

function contentOf(cell: ComponentChildren): ComponentChildren {
  return typeof cell === 'number' ? formatNumber(cell) : cell;
}

function classOf<Row>({ kind, isMinor }: Column<Row>): string {
  return [kind, isMinor && 'minor'].filter(Boolean).join(' ');
}

interface PagedTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  pages: Pages<Row>;
  /** What helps against a long search, such as `choose a shorter time`. */
  advice?: string;
}

/** A list with a button for its next page. A page may be empty although more follow. */
export function PagedTable<Row>({ pages, empty, advice, ...table }: PagedTableProps<Row>) {
  const { items, dropped, problem, isLoading, isStale, loadMore, reload, retry } = pages;
  const hasItems = items !== undefined && items.length > 0;
  const isNothing = items !== undefined && !hasItems && !isLoading;
  return (
    <>
      <LoadProblem problem={problem} retry={retry} />
      {dropped > 0 && (
        <div class="more">
          <Button label="Back to the newest" onClick={reload} />
        </div>
      )}
      {items === undefined && !problem && <Loading />}
      {hasItems && (
        <div aria-busy={isStale}>
          <Table {...table} rows={items} />
        </div>
      )}
      {isNothing && !loadMore && empty}
      {isNothing && loadMore && !problem && (
        <Empty title="Nothing found so far">
          The search stopped after {SEARCH_SECONDS} seconds. Earlier rows have not been searched yet: go on
          {advice !== undefined && `, or ${advice}`}.
        </Empty>
      )}
      {items !== undefined && (loadMore || isLoading) && (
        <div class="more">
          <Button label={moreLabel(hasItems, isLoading)} isDisabled={!loadMore} onClick={() => loadMore?.()} />
        </div>
      )}
    </>
  );
}

function moreLabel(hasItems: boolean, isLoading: boolean): string {
  if (isLoading) return hasItems ? 'Loading …' : 'Searching …';
  return hasItems ? 'Show earlier' : 'Search earlier';
}
