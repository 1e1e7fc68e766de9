import type { ComponentChildren } from 'preact';
import type { Pages } from '../use-pages.js';
import { Loading, ProblemNote } from './states.js';

interface PagedProps<Item> {
  pages: Pages<Item>;
  empty: ComponentChildren;
  children: (items: readonly Item[]) => ComponentChildren;
}

/** A list with a button for its next page. A page may be empty although more follow. */
export function Paged<Item>({ pages, empty, children }: PagedProps<Item>) {
  const { items, dropped, problem, isLoading, loadMore, reload, retry } = pages;
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
      {items === undefined
        ? !problem && <Loading />
        : items.length > 0
          ? children(items)
          : !loadMore && !isLoading && empty}
      {items !== undefined && (loadMore || isLoading) && (
        <div class="more">
          <button type="button" disabled={!loadMore} onClick={loadMore}>
            {isLoading ? 'Loading …' : 'Show earlier'}
          </button>
        </div>
      )}
    </>
  );
}
