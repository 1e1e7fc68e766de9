import { api, type EventType } from '../api.js';
import { firstFound } from '../first-found.js';

/** The newest events of a site, and the position after which its stream continues: that of the newest event of any type. */
export async function readEarlierEvents(site: string, types: readonly EventType[] | undefined, limit: number) {
  const path = { site };
  const read = (query: { limit: number; type?: EventType[] | undefined }) =>
    firstFound((cursor) => api.GET('/api/v1/sites/{site}/events', { path, query: { ...query, cursor } }));
  // Before the list, so that no event is between the two.
  const newest = types ? await read({ limit: 1 }) : undefined;
  const { items } = await read({ limit, type: types && [...types] });
  return { items, after: (newest ?? { items }).items[0]?.position ?? 0 };
}
