import { isLoopbackHost } from '../../kernel/addresses.js';
import { normaliseHost } from '../../sites/host.js';
import type { Site } from '../../sites/site.js';

/**
 * Whether pages of this origin may call the tag's endpoints: the site's host and aliases, its configured origins, and
 * subdomains of these. Requires https except for loopback hosts.
 */
export function isAllowedOrigin(origin: string | undefined, { host, aliases, settings }: Site): boolean {
  if (origin === undefined || origin.length > 300) return false;
  const { scheme, authority } = /^(?<scheme>https?):\/\/(?<authority>[^/?#@]+)$/.exec(origin)?.groups ?? {};
  const page = normaliseHost(authority);
  if (page === undefined || (scheme === 'http' && !isLoopbackHost(page))) return false;
  return [host, ...aliases, ...settings.origins].some((owner) => page === owner || page.endsWith(`.${owner}`));
}
