const PAGE_MAX = 2_000;

/** Short, printable, and without an email address: some sites put addresses into links and campaign names by accident. */
export function isPublicText(value: unknown, maxLength: number): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= maxLength &&
    !/\p{Cc}/u.test(value) &&
    !/@|%(?:25)*40/.test(value)
  );
}

/** The URL without query and fragment, which may hold personal data. Click ids and campaign fields are stored by name. */
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
