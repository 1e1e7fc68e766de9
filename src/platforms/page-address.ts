/**
 * A page's address up to its path. What follows may hold the click id of another platform, or what a visitor typed into
 * a form: neither is for the platform that is told of the page.
 */
export function pageAddress(url: string | undefined): string | undefined {
  if (!url) return undefined;
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}
