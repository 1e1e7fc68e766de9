import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Empty, Loading } from './components/frame.js';
import { SettingsPage } from './components/settings/settings-page.js';
import { ACCOUNT_PATH, FIRST_PAGE, pathOf, readPath, type SitePage } from './navigation.js';
import { Account } from './pages/account.js';
import { AddSite } from './pages/add-site.js';
import { AllSites } from './pages/all-sites.js';
import { Audit } from './pages/audit.js';
import { Consent } from './pages/consent.js';
import { Conversion } from './pages/conversion.js';
import { Conversions } from './pages/conversions.js';
import { Duplicates } from './pages/duplicates.js';
import { Erasures } from './pages/erasures.js';
import { FirstSteps } from './pages/first-steps.js';
import { History } from './pages/history.js';
import { Integrations } from './pages/integrations.js';
import { Keys } from './pages/keys.js';
import { Live } from './pages/live.js';
import { Mapping } from './pages/mapping.js';
import { Overview } from './pages/overview.js';
import { SettingsAlerts } from './pages/settings/settings-alerts.js';
import { SettingsAudit } from './pages/settings/settings-audit.js';
import { SettingsHealth } from './pages/settings/settings-health.js';
import { SettingsOauthApps } from './pages/settings/settings-oauth-apps.js';
import { SettingsProjections } from './pages/settings/settings-projections.js';
import { SettingsTokens } from './pages/settings/settings-tokens.js';
import { SettingsUsers } from './pages/settings/settings-users.js';
import { SiteDetails } from './pages/site-details.js';
import { Sources } from './pages/sources.js';
import { SyncLog } from './pages/sync-log.js';
import { Tag } from './pages/tag.js';
import { Traffic } from './pages/traffic.js';
import { Webhook } from './pages/webhook.js';
import { hasAllSites, type SettingsPath, type Site, settingsOf, settingsPage, useSession } from './session.js';

const SITE_COMPONENTS: Readonly<Record<SitePage, (props: { site: Site }) => preact.JSX.Element>> = {
  overview: Overview,
  live: Live,
  conversions: Conversions,
  'sync-log': SyncLog,
  integrations: Integrations,
  webhook: Webhook,
  'first-steps': FirstSteps,
  keys: Keys,
  sources: Sources,
  tag: Tag,
  consent: Consent,
  traffic: Traffic,
  duplicates: Duplicates,
  mapping: Mapping,
  site: SiteDetails,
  history: History,
  erasures: Erasures,
  audit: Audit,
};

const SETTINGS_COMPONENTS: Readonly<Record<SettingsPath, () => preact.JSX.Element>> = {
  '/settings/users': SettingsUsers,
  '/settings/oauth-apps': SettingsOauthApps,
  '/settings/tokens': SettingsTokens,
  '/settings/alerts': SettingsAlerts,
  '/settings/health': SettingsHealth,
  '/settings/projections': SettingsProjections,
  '/settings/audit': SettingsAudit,
};

/** The page that the address names. */
export function CurrentPage() {
  const { path } = useLocation();
  const session = useSession();
  const { sites, user } = session;
  if (path === '/') {
    if (hasAllSites(session)) return <AllSites />;
    if (!session.cells) return <Loading />;
    return <Redirect to={sites[0] ? pathOf(sites[0].host, FIRST_PAGE) : '/sites/new'} />;
  }
  if (path === '/sites/new') return <AddSite />;
  if (path === ACCOUNT_PATH) return <Account />;
  if (path === '/settings') return <Redirect to={settingsOf(user)[0]?.path ?? '/'} />;
  if (Object.hasOwn(SETTINGS_COMPONENTS, path)) return <Settings path={path as SettingsPath} />;
  const { site: host, page, item } = readPath(path);
  const site = sites.find((candidate) => candidate.host === host);
  if (site && page === undefined && path.split('/').length === 3)
    return <Redirect to={pathOf(site.host, FIRST_PAGE)} />;
  if (!site || !page) return <NotFound />;
  if (page === 'conversions' && item !== undefined) return <Conversion key={item} site={site} id={item} />;
  const Component = SITE_COMPONENTS[page];
  return <Component key={site.host} site={site} />;
}

function Settings({ path }: { path: SettingsPath }) {
  const { user } = useSession();
  const { may, refusal } = settingsPage(path);
  const Component = SETTINGS_COMPONENTS[path];
  if (refusal === undefined || may(user)) return <Component />;
  return (
    <SettingsPage path={path}>
      <Empty title={refusal} />
    </SettingsPage>
  );
}

function Redirect({ to }: { to: string }) {
  const { route } = useLocation();
  useEffect(() => route(to, true), [route, to]);
  return null;
}

function NotFound() {
  return (
    <Empty title="This page does not exist">
      The address is wrong, or the site was removed, or you may not see it. <a href="/">Go to the start</a>
    </Empty>
  );
}
