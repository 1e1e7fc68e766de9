import { type Pages, SEARCH_SECONDS } from '../hooks/use-pages.js';
import { Button } from './button.js';
import { Empty, Loading, ProblemNote } from './states.js';
import { Table, type TableProps } from './table.js';

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
      <ProblemNote problem={problem} retry={retry} />
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
