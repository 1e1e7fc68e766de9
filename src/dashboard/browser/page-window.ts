/** Rows that a list keeps: as many as a page can show without becoming slow, whatever was loaded. */
const ROWS_MAX = 60;

/** Rows of one request: few enough that a slow device renders them in a tenth of a second. */
export const PAGE_ROWS = 30;

interface PageWindow<Item> {
  /** Newest first. */
  readonly items: readonly Item[];
  /** How many newer items were dropped. */
  readonly dropped: number;
}

/** Adds a page of earlier items; the newest ones go if there are too many. */
export function addPage<Item>(before: PageWindow<Item>, page: readonly Item[], max = ROWS_MAX): PageWindow<Item> {
  const items = [...before.items, ...page];
  return { items: items.slice(-max), dropped: before.dropped + Math.max(0, items.length - max) };
}
