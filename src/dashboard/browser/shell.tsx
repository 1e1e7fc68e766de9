import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { reachability } from './api.js';
import { Badge, Button, Time } from './components/basics.js';
import { ErrorBoundary } from './components/error-boundary.js';
import { Dialog } from './components/forms/dialog.js';
import { Choice } from './components/forms/fields.js';
import { Search } from './components/forms/search.js';
import { PageIcon } from './components/page-icon.js';
import { RowKeysHint } from './components/table.js';
import { useNewPage } from './focus.js';
import { AttentionContext, useReadAttention } from './hooks/use-attention.js';
import { useShortcuts } from './hooks/use-shortcuts.js';
import { ACCOUNT_PATH, FIRST_PAGE, pathOf, readPath, SITE_PAGES, type SitePage } from './navigation.js';
import { moveToRow, useRowKeys } from './row-keys.js';
import { hasAllSites, mayOperateAll, type Site, useSession } from './session.js';
import { applyTheme, readTheme, THEMES } from './theme.js';
import { mayLeave, useUnsavedQuestion } from './unsaved.js';
import { type BadgeOfPage, type Badges, totalOf } from './views/attention-view.js';

/** Sidebar, search and main area. */
export function Shell({ children }: { children: ComponentChildren }) {
  const { path, route } = useLocation();
  const { sites } = useSession();
  const named = readPath(path);
  const [lastSite, setLastSite] = useState(named.site);
  // Pages outside of a site keep the one that was open, so that the sidebar leads back to it.
  const site = sites.find(({ host }) => host === (named.site ?? lastSite)) ?? sites[0];
  const attention = useReadAttention(site?.host);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [shown, setShown] = useState<'search' | 'help'>();
  useEffect(() => {
    setMenuOpen(false);
    if (named.site !== undefined) setLastSite(named.site);
  }, [path, named.site]);
  useNewPage(path);
  useRowKeys();
  useUnsavedQuestion();
  useShortcuts((shortcut) => {
    if (shortcut.kind === 'search' || shortcut.kind === 'help') setShown(shortcut.kind);
    else if (shortcut.kind === 'settings') mayLeave() && route('/settings');
    else if (shortcut.kind === 'row') moveToRow(shortcut.step);
    else if (site && mayLeave()) route(pathOf(site.host, shortcut.page));
  });
  const { badges, items } = attention;
  return (
    <AttentionContext.Provider value={attention}>
      <div class="shell">
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <div class="top">
          <button
            type="button"
            aria-expanded={isMenuOpen}
            aria-controls="sidebar"
            onClick={() => setMenuOpen(!isMenuOpen)}
          >
            Menu <Count badge={totalOf(items)} />
          </button>
          <Brand />
          <button type="button" aria-label="Search" onClick={() => setShown('search')}>
            Search
          </button>
        </div>
        <nav id="sidebar" aria-label="Main" class={isMenuOpen ? 'open' : ''}>
          <Brand />
          <SiteSwitcher site={site} />
          <button type="button" class="search" onClick={() => setShown('search')}>
            Go to … <kbd>/</kbd>
          </button>
          {site && <SiteLinks site={site} path={path} badges={badges} />}
          <NavLink icon="settings" path="/settings" current={path} title="Settings" badge={badges.settings} />
          <Account />
        </nav>
        <main id="main" tabIndex={-1}>
          <ConnectionBanner />
          <ErrorBoundary key={path}>{children}</ErrorBoundary>
        </main>
        <RowKeysHint />
        {shown === 'search' && <Search site={site?.host} onClose={() => setShown(undefined)} />}
        {shown === 'help' && <ShortcutHelp onClose={() => setShown(undefined)} />}
      </div>
    </AttentionContext.Provider>
  );
}

function Brand() {
  return (
    <a class="brand" href="/">
      <span class="logo" aria-hidden="true" />
      Clean Conversions
    </a>
  );
}

const ALL_SITES = '/';

function SiteSwitcher({ site }: { site: Site | undefined }) {
  const session = useSession();
  const { sites, user } = session;
  const { path, route } = useLocation();
  if (!site) return null;
  const shown = path === ALL_SITES ? ALL_SITES : site.host;
  const choose = (value: string) =>
    route(value.startsWith('/') ? value : pathOf(value, readPath(path).page ?? FIRST_PAGE));
  return (
    <select
      class="switcher"
      aria-label="Site"
      value={shown}
      onChange={(event) => {
        if (mayLeave()) choose(event.currentTarget.value);
        // The page of the new site shows the choice; a page that adds one keeps the present.
        event.currentTarget.value = shown;
      }}
    >
      {hasAllSites(session) && <option value={ALL_SITES}>All sites</option>}
      {sites.map(({ host }) => (
        <option key={host} value={host}>
          {host}
        </option>
      ))}
      {mayOperateAll(user) && <option value="/sites/new">Add a site …</option>}
    </select>
  );
}

function SiteLinks({ site, path, badges }: { site: Site; path: string; badges: Badges }) {
  const groups = [...new Set(SITE_PAGES.map(({ group }) => group))];
  const current = readPath(path).page;
  return (
    <>
      {groups.map((group) => {
        const pages = SITE_PAGES.filter((page) => page.group === group);
        const links = pages.map(({ page, title }) => (
          <NavLink
            key={page}
            icon={page}
            path={pathOf(site.host, page)}
            current={path}
            title={title}
            badge={badges[page]}
          />
        ));
        if (group === undefined) return links;
        const isNeeded = pages.some(({ page }) => page === current || badges[page] !== undefined);
        return (
          <details key={group} open={isNeeded}>
            <summary>{group}</summary>
            {links}
          </details>
        );
      })}
    </>
  );
}

interface NavLinkProps {
  icon: SitePage | 'settings';
  path: string;
  current: string;
  title: string;
  badge: BadgeOfPage | undefined;
}

function NavLink({ icon, path, current, title, badge }: NavLinkProps) {
  const isCurrent = current === path || current.startsWith(`${path}/`);
  return (
    <a href={path} class="link" aria-current={isCurrent ? 'page' : undefined}>
      <PageIcon page={icon} />
      <span>{title}</span> <Count badge={badge} />
    </a>
  );
}

/** How much needs attention. */
function Count({ badge }: { badge: BadgeOfPage | undefined }) {
  if (!badge) return null;
  const { count, tone } = badge;
  return (
    <Badge tone={tone}>
      {count}
      <span class="hidden"> {count === 1 ? 'needs' : 'need'} attention</span>
    </Badge>
  );
}

function Account() {
  const { user, signOut } = useSession();
  const { path } = useLocation();
  const [theme, setTheme] = useState(readTheme);
  return (
    <div class="account">
      <a class="who" href={ACCOUNT_PATH} aria-current={path === ACCOUNT_PATH ? 'page' : undefined}>
        <strong>{user.name}</strong>
        <span>
          {user.role} · <span class="go">Account</span>
        </span>
      </a>
      <div class="row">
        <Choice
          label="Colours"
          value={theme}
          options={THEMES}
          onValue={(chosen) => {
            applyTheme(chosen);
            setTheme(chosen);
          }}
        />
        <Button label="Sign out" onClick={() => signOut('here')} />
      </div>
    </div>
  );
}

/** Says once that the service does not answer. What is shown stays, and is brought up to date when it does. */
function ConnectionBanner() {
  const [since, setSince] = useState(reachability.since);
  useEffect(() => reachability.watch(() => setSince(reachability.since)), []);
  return (
    <div role="status">
      {since !== undefined && (
        <div class="problem warn">
          <span>
            <strong>
              No connection to the service since <Time time={new Date(since).toISOString()} as="clock" />.
            </strong>{' '}
            What you see is as of then. It is asked again and again; this page need not be reloaded.
          </span>
          <Button label="Ask now" onClick={() => reachability.askNow()} />
        </div>
      )}
    </div>
  );
}

function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const keys = [
    ['/', 'Search'],
    ['?', 'This list'],
    ['j', 'Next row'],
    ['k', 'Previous row'],
    ['Enter', 'Open the row'],
    ...SITE_PAGES.map(({ key, title }) => [`g ${key}`, title]),
    ['g ,', 'Settings'],
  ] as const;
  return (
    <Dialog title="Keys" closeLabel="Close" onClose={onClose}>
      <dl class="keys">
        {keys.map(([key, title]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
