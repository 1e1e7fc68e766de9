import { useCallback, useLayoutEffect, useState } from 'preact/hooks';
import { problemOf } from './api.js';
import { addPage } from './page-window.js';
import type { Problem } from './problem.js';
import { useRecovery } from './use-recovery.js';

interface CursorPage<Item, Cursor> {
  readonly items: readonly Item[];
  readonly next?: Cursor | undefined;
}

export interface Pages<Item> {
  /** Undefined until the first page is there. */
  readonly items: readonly Item[] | undefined;
  /** How many newer items are no longer shown. */
  readonly dropped: number;
  readonly problem: Problem | undefined;
  readonly isLoading: boolean;
  /** Undefined when there are no more. */
  readonly loadMore: (() => void) | undefined;
  /** Also while they are loading. */
  readonly hasMore: boolean;
  /** The newest page again. What is shown stays until it is there. */
  reload(): void;
  /** The request that failed again. */
  retry(): void;
}

interface State<Item, Cursor> {
  readonly items?: readonly Item[];
  readonly dropped?: number;
  readonly next?: Cursor | undefined;
  readonly problem?: Problem;
  readonly isLoading: boolean;
}

/** A list that the API answers in pages, newest first. `key` names what `load` depends on. */
export function usePages<Item, Cursor extends number | string = number>(
  key: string,
  load: (cursor: Cursor | undefined) => Promise<CursorPage<Item, Cursor>>,
): Pages<Item> {
  const [state, setState] = useState<State<Item, Cursor>>({ isLoading: true });
  const [request, setRequest] = useState<{ cursor?: Cursor; count: number }>({ count: 0 });
  const [shownKey, setShownKey] = useState(key);
  if (shownKey !== key) {
    setShownKey(key);
    setState({ isLoading: true });
    setRequest({ count: request.count + 1 });
  }
  // Before the browser paints, which takes as long as a small answer.
  useLayoutEffect(() => {
    let isCurrent = true;
    const { cursor } = request;
    setState((before) => (before.isLoading ? before : { ...before, isLoading: true }));
    load(cursor).then(
      ({ items, next }) =>
        isCurrent &&
        setState(({ items: before = [], dropped = 0 }) => ({
          ...addPage(cursor === undefined ? { items: [], dropped: 0 } : { items: before, dropped }, items),
          next,
          isLoading: false,
        })),
      (error) => isCurrent && setState((before) => ({ ...before, problem: problemOf(error), isLoading: false })),
    );
    return () => {
      isCurrent = false;
    };
  }, [key, request]);
  const { items, dropped = 0, next, problem, isLoading } = state;
  const reload = useCallback(() => setRequest(({ count }) => ({ count: count + 1 })), []);
  const retry = useCallback(() => setRequest((before) => ({ ...before, count: before.count + 1 })), []);
  useRecovery(problem, retry);
  const loadMore =
    next === undefined || isLoading ? undefined : () => setRequest(({ count }) => ({ cursor: next, count: count + 1 }));
  return { items, dropped, problem, isLoading, loadMore, hasMore: next !== undefined, reload, retry };
}
