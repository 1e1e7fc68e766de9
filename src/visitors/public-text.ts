const PAGE_MAX = 2_000;

/** Short, printable, and nobody's email address: those turn up in links and campaigns, where nobody meant them to. */
export function isPublicText(value: unknown, maxLength: number): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= maxLength &&
    !/\p{Cc}/u.test(value) &&
    !/@|%40/.test(value)
  );
}

/** A page's address without what follows its path: click ids and campaigns are kept by name, the rest is nobody's business. */
export function pageWithoutQuery(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 8 * PAGE_MAX) return undefined;
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    return undefined;
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
  const page = url.origin + url.pathname;
  return isPublicText(page, PAGE_MAX) ? page : `${url.origin}/`;
}
