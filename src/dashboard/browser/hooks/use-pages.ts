import { useCallback, useLayoutEffect, useState } from 'preact/hooks';
import { type Answer, api, type Input, type InputArguments, type PathWith } from '../api.js';
import { addPage } from '../page-window.js';
import { type Problem, problemOf } from '../problem.js';
import { useRecovery } from './use-data.js';

interface CursorPage<Item, Cursor> {
  readonly items: readonly Item[];
  readonly next?: Cursor | undefined;
  readonly asOf?: { readonly position: number };
}

export interface Pages<Item> {
  /** Undefined until the first page is there. */
  readonly items: readonly Item[] | undefined;
  /** How many newer items are no longer shown. */
  readonly dropped: number;
  readonly problem: Problem | undefined;
  readonly isLoading: boolean;
  /** The items are those of other filters: they stay until the new ones are there. */
  readonly isStale: boolean;
  /** Undefined when there are no more. */
  readonly loadMore: (() => void) | undefined;
  /** Also while they are loading. */
  readonly hasMore: boolean;
  /** The position of the log as of which the newest page was read, and the page that was read last. */
  readonly newestAt: number | undefined;
  readonly readAt: number | undefined;
  /** The newest page again. What is shown stays until it is there. */
  reload(): void;
  /** Changes items that are shown. One that stays the same object is not rendered again. */
  change(changed: (item: Item) => Item): void;
  /** The request that failed again. */
  retry(): void;
}

/** A page may be empty although there are more, when little matches. The next ones are requested for so long. */
export const SEARCH_SECONDS = 30;

interface Request<Cursor> {
  readonly cursor?: Cursor;
  readonly count: number;
  /** Until when empty pages are followed by the next. */
  readonly searching: AbortSignal;
}

const newSearch = () => AbortSignal.timeout(SEARCH_SECONDS * 1_000);

interface State<Item, Cursor> {
  readonly items?: readonly Item[];
  readonly dropped?: number;
  readonly next?: Cursor | undefined;
  readonly problem?: Problem;
  readonly isLoading: boolean;
  readonly isStale?: boolean;
  readonly newestAt?: number | undefined;
  readonly readAt?: number | undefined;
}

/**
 * A list that the API answers in pages, newest first. `key` names what `load` depends on. What is shown of another key stays until
 * the answer if it is of the same `list`: a table is changed faster than it is made.
 */
export function usePages<Item, Cursor extends number | string = number>(
  key: string,
  load: (cursor: Cursor | undefined) => Promise<CursorPage<Item, Cursor>>,
  list = key,
): Pages<Item> {
  const [state, setState] = useState<State<Item, Cursor>>({ isLoading: true });
  const [request, setRequest] = useState<Request<Cursor>>(() => ({ count: 0, searching: newSearch() }));
  const [shown, setShown] = useState({ key, list });
  if (shown.key !== key) {
    setShown({ key, list });
    const { items, dropped = 0 } = state;
    setState({ isLoading: true, ...(items && shown.list === list && { items, dropped, isStale: true }) });
    setRequest({ count: request.count + 1, searching: newSearch() });
  }
  // Before the browser paints, which takes as long as a small answer.
  useLayoutEffect(() => {
    let isCurrent = true;
    const { cursor, searching } = request;
    setState((before) => (before.isLoading ? before : { ...before, isLoading: true }));
    load(cursor).then(
      ({ items, next, asOf }) => {
        if (!isCurrent) return;
        const goesOn = items.length === 0 && next !== undefined && !searching.aborted;
        setState(({ items: before = [], dropped = 0, newestAt }) => ({
          ...addPage(cursor === undefined ? { items: [], dropped: 0 } : { items: before, dropped }, items),
          newestAt: cursor === undefined ? asOf?.position : newestAt,
          readAt: asOf?.position,
          next,
          isLoading: goesOn,
        }));
        if (goesOn) setRequest(({ count }) => ({ cursor: next, count: count + 1, searching }));
      },
      (error) =>
        isCurrent &&
        setState((before) => ({
          ...(!before.isStale && before),
          ...{ problem: problemOf(error), isLoading: false },
        })),
    );
    return () => {
      isCurrent = false;
    };
  }, [key, request]);
  const { items, dropped = 0, next, problem, isLoading, isStale = false, newestAt, readAt } = state;
  const reload = useCallback(() => setRequest(({ count }) => ({ count: count + 1, searching: newSearch() })), []);
  const retry = useCallback(
    () => setRequest((before) => ({ ...before, count: before.count + 1, searching: newSearch() })),
    [],
  );
  const change = useCallback(
    (changed: (item: Item) => Item) =>
      setState((before) => (before.items ? { ...before, items: before.items.map(changed) } : before)),
    [],
  );
  useRecovery(problem, retry);
  const loadMore =
    next === undefined || isLoading
      ? undefined
      : () => setRequest(({ count }) => ({ cursor: next, count: count + 1, searching: newSearch() }));
  const hasMore = next !== undefined;
  return { items, dropped, problem, isLoading, isStale, loadMore, hasMore, newestAt, readAt, reload, change, retry };
}

type ItemOf<Data> = Data extends { items: readonly (infer Item)[] } ? Item : never;

/** The list that the API has at a path, newest first. What is shown stays while its query changes. */
export function useList<Path extends PathWith<'get'>>(path: Path, input: Input<'get', Path>) {
  type Item = ItemOf<Answer<'get', Path>>;
  const load = (cursor: number | string | undefined) => {
    const page = [{ ...input, query: { ...input.query, cursor } }] as unknown as InputArguments<'get', Path>;
    return api.GET(path, ...page) as Promise<CursorPage<Item, number | string>>;
  };
  return usePages(JSON.stringify([path, input]), load, JSON.stringify([path, input.path]));
}
