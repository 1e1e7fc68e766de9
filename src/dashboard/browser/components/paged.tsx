import type { ComponentChildren } from 'preact';
import { type Pages, SEARCH_SECONDS } from '../hooks/use-pages.js';
import { Empty, Loading, ProblemNote } from './states.js';

interface PagedProps<Item> {
  pages: Pages<Item>;
  empty: ComponentChildren;
  /** What helps against a long search, such as `choose a shorter time`. */
  advice?: string;
  children: (items: readonly Item[]) => ComponentChildren;
}

/** A list with a button for its next page. A page may be empty although more follow. */
export function Paged<Item>({ pages, empty, advice, children }: PagedProps<Item>) {
  const { items, dropped, problem, isLoading, isStale, loadMore, reload, retry } = pages;
  return (
    <>
      <ProblemNote problem={problem} retry={retry} />
      {dropped > 0 && (
        <div class="more">
          <button type="button" onClick={reload}>
            Back to the newest
          </button>
        </div>
      )}
      {items === undefined ? (
        !problem && <Loading />
      ) : items.length > 0 ? (
        <div aria-busy={isStale}>{children(items)}</div>
      ) : (
        !isLoading &&
        (!loadMore
          ? empty
          : !problem && (
              <Empty title="Nothing found so far">
                The search stopped after {SEARCH_SECONDS} seconds. Earlier rows have not been searched yet: go on
                {advice !== undefined && `, or ${advice}`}.
              </Empty>
            ))
      )}
      {items !== undefined && (loadMore || isLoading) && (
        <div class="more">
          <button type="button" disabled={!loadMore} onClick={loadMore}>
            {isLoading
              ? items.length > 0
                ? 'Loading …'
                : 'Searching …'
              : items.length > 0
                ? 'Show earlier'
                : 'Search earlier'}
          </button>
        </div>
      )}
    </>
  );
}
