interface FoundPage<Item> {
  readonly items: readonly Item[];
  readonly next?: number | undefined;
}

/** Requests for one list: each examines tens of thousands of events. */
const REQUESTS_MAX = 20;

/** The first page that has items: a page may be empty although more follow. Empty if there are none among so many pages. */
export async function firstFound<Page extends FoundPage<unknown>>(
  load: (cursor: number | undefined) => Promise<Page>,
): Promise<Page> {
  let page = await load(undefined);
  for (let count = 1; page.items.length === 0 && page.next !== undefined && count < REQUESTS_MAX; count += 1)
    page = await load(page.next);
  return page;
}
