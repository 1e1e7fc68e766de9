// What search in the browser loads: an index of all passages, and what it shows of each.
import MiniSearch from 'minisearch';

const EXCERPT_LENGTH = 180;
const OPTIONS = { fields: ['title', 'page', 'text'], storeFields: ['title', 'page', 'address', 'excerpt'] };

export function searchIndex(pages) {
  const search = new MiniSearch(OPTIONS);
  const passages = pages.flatMap((page) =>
    page.passages.map(({ id, depth, title, text }) => ({
      id: `${page.address}#${id}`,
      address: depth === 1 ? page.address : `${page.address}#${id}`,
      title,
      page: page.title,
      text,
      excerpt: text.slice(0, EXCERPT_LENGTH),
    })),
  );
  search.addAll(passages);
  return JSON.stringify({ options: OPTIONS, index: search });
}
