import { MANIFESTS } from '../../platforms/manifests.js';
import { connectionTitle } from './format.js';

/**
 * The pages of a site, in the order of the sidebar. A page is a part of the address: /sites/shop.example/integrations. `help` is the
 * page of the guide about it.
 */
export const SITE_PAGES = [
  { page: 'overview', title: 'Overview', group: undefined, key: 'o', help: 'dashboard.html' },
  { page: 'live', title: 'Live', group: undefined, key: 'l', help: 'dashboard.html' },
  { page: 'conversions', title: 'Conversions', group: undefined, key: 'v', help: 'integrate/index.html#the-answer' },
  { page: 'sync-log', title: 'Sync log', group: undefined, key: 's', help: 'operate/troubleshoot.html' },
  { page: 'integrations', title: 'Integrations', group: undefined, key: 'i', help: 'platforms.html' },
  { page: 'webhook', title: 'Webhook', group: undefined, key: 'w', help: 'integrate/webhook.html' },
  { page: 'first-steps', title: 'First steps', group: 'Configure', key: '1', help: 'integrate/index.html' },
  { page: 'keys', title: 'Inbound keys', group: 'Configure', key: 'k', help: 'api.html#replacing-keys' },
  { page: 'sources', title: 'Sources', group: 'Configure', key: 'u', help: 'sources.html' },
  { page: 'tag', title: 'Tag', group: 'Configure', key: 't', help: 'tag.html' },
  { page: 'consent', title: 'Consent', group: 'Configure', key: 'c', help: 'privacy.html#consent' },
  { page: 'traffic', title: 'Traffic filters', group: 'Configure', key: 'f', help: 'bots.html' },
  {
    page: 'duplicates',
    title: 'Duplicates',
    group: 'Configure',
    key: 'd',
    help: 'integrate/index.html#duplicates',
  },
  {
    page: 'mapping',
    title: 'Mapping',
    group: 'Configure',
    key: 'm',
    help: 'platforms.html#several-conversion-actions',
  },
  { page: 'site', title: 'Site', group: 'Configure', key: 'n', help: 'operate/sites.html' },
  { page: 'history', title: 'History', group: 'Records', key: 'h', help: 'log.html' },
  { page: 'erasures', title: 'Erasures', group: 'Records', key: 'e', help: 'privacy.html#erasing-a-person' },
  { page: 'audit', title: 'Audit', group: 'Records', key: 'a', help: 'audit.html' },
] as const;

export type SitePage = (typeof SITE_PAGES)[number]['page'];

/** The page of the signed-in user. */
export const ACCOUNT_PATH = '/account';

export const FIRST_PAGE: SitePage = 'overview';

export function pathOf(site: string, page: SitePage): string {
  return `/sites/${encodeURIComponent(site)}/${page}`;
}

export function conversionPath(site: string, id: string): string {
  return `${pathOf(site, 'conversions')}/${id}`;
}

const GUIDE = '/docs/guide/';
const SETTINGS_HELP: Readonly<Record<string, string>> = {
  '/settings/users': 'api.html#the-first-user',
  '/settings/oauth-apps': 'api.html#sign-in-at-a-platform',
  '/settings/tokens': 'api.html#tokens',
  '/settings/alerts': 'operate/alerts.html',
  '/settings/health': 'operate/troubleshoot.html',
  '/settings/projections': 'log.html',
  '/settings/audit': 'audit.html',
};

/** The page of the guide about the page at a path. */
export function helpOf(path: string): string {
  const { page } = readPath(path);
  const ofSite = SITE_PAGES.find((known) => known.page === page)?.help;
  return GUIDE + (ofSite ?? SETTINGS_HELP[path] ?? 'dashboard.html');
}

/** The page of the guide about a platform. */
export const platformHelp = (platform: string) => `${GUIDE}platforms/${platform}.html`;

/** The address with these values; an empty one is left out. */
export function withQuery(path: string, values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, value);
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Which site, page and item of the page an address names. */
export function readPath(path: string): { site?: string; page?: SitePage; item?: string } {
  const [, first, site, name, item] = path.split('/');
  if (first !== 'sites' || site === undefined || site === '') return {};
  const known = SITE_PAGES.find(({ page }) => page === name);
  return { site: decoded(site), ...(known && { page: known.page }), ...(item && { item }) };
}

/** An address may contain anything. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export type Shortcut =
  | { readonly kind: 'search' }
  | { readonly kind: 'help' }
  | { readonly kind: 'settings' }
  | { readonly kind: 'row'; readonly step: 1 | -1 }
  | { readonly kind: 'page'; readonly page: SitePage };

/**
 * What a key means, given the one before it: `g` and then the key of a page. Undefined if it means nothing; `pending` is the
 * key to remember for the next call.
 */
export function readShortcut(key: string, pending: string | undefined): { shortcut?: Shortcut; pending?: string } {
  if (pending === 'g') {
    if (key === ',') return { shortcut: { kind: 'settings' } };
    const found = SITE_PAGES.find((page) => page.key === key);
    return found ? { shortcut: { kind: 'page', page: found.page } } : {};
  }
  if (key === 'g') return { pending: 'g' };
  if (key === '/') return { shortcut: { kind: 'search' } };
  if (key === '?') return { shortcut: { kind: 'help' } };
  if (key === 'j') return { shortcut: { kind: 'row', step: 1 } };
  if (key === 'k') return { shortcut: { kind: 'row', step: -1 } };
  return {};
}

export interface Destination {
  /** What it is. */
  readonly kind: 'page' | 'platform' | 'conversion';
  readonly title: string;
  readonly detail: string;
  readonly path: string;
}

export const CONVERSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What the user may open. */
interface SearchScope {
  readonly sites: readonly string[];
  /** The one that is shown. */
  readonly site: string | undefined;
  /** Names of the connections of that site. */
  readonly connections: readonly string[];
  readonly settings: readonly { readonly path: string; readonly title: string }[];
  readonly mayAddSites: boolean;
}

/** The pages, sites and platforms whose names contain every word of the text, the current site first. */
export function findDestinations(
  text: string,
  { sites, site, connections, settings, mayAddSites }: SearchScope,
): Destination[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const ordered = [...sites].sort((one, other) => Number(other === site) - Number(one === site));
  const pages = [
    ...ordered.flatMap((host) =>
      SITE_PAGES.map(({ page, title }) => ({ title, detail: host, path: pathOf(host, page) })),
    ),
    ...settings.map((page) => ({ ...page, detail: 'Settings' })),
    { title: 'All sites', detail: '', path: '/' },
    { title: 'Account', detail: 'Password and sessions', path: ACCOUNT_PATH },
    ...(mayAddSites ? [{ title: 'Add a site', detail: 'Settings', path: '/sites/new' }] : []),
  ];
  // Also platforms that are defined by data, and further connections of one.
  const platforms = [...new Set([...MANIFESTS.map(({ name }) => name), ...connections])].map((name) => ({
    title: connectionTitle(name),
    detail: `its deliveries at ${site}`,
    path: withQuery(pathOf(site ?? '', 'sync-log'), { platform: name }),
  }));
  const matches = ({ title, detail }: Omit<Destination, 'kind'>) => {
    const name = `${title} ${detail}`.toLowerCase();
    return words.every((word) => name.includes(word));
  };
  const isNamed = ({ title }: Omit<Destination, 'kind'>) =>
    words.length > 0 &&
    words.every((word) => title.toLowerCase().startsWith(word) || title.toLowerCase().includes(` ${word}`));
  return [
    ...(site === undefined ? [] : platforms.filter(isNamed).map((one) => ({ kind: 'platform' as const, ...one }))),
    ...pages
      .filter(matches)
      .slice(0, 10)
      .map((one) => ({ kind: 'page' as const, ...one })),
  ];
}
