import { SITE_PAGES } from '../../src/dashboard/browser/navigation.js';
import { problemsIn } from './axe.js';
import { type DashboardSite, testDashboard } from './dashboard-test.js';

const PAGES = [
  ...['/', '/sites/new', '/account', '/settings/users', '/settings/tokens', '/settings/oauth-apps'],
  ...['/settings/alerts', '/settings/health', '/settings/projections', '/settings/audit'],
  ...SITE_PAGES.map(({ page }) => `/sites/:site/${page}`),
  '/sites/:site/conversions/:conversion',
];
const test = testDashboard();
let site: DashboardSite;
let conversion: string;

beforeAll(async () => {
  site = await test.newDeliveringSite();
  // With a second one, there is a page of all sites.
  await test.newSite();
  conversion = await test.sendListedConversion(site, 'ORD-1');
});

const addressOf = (template: string) => template.replace(':site', site.host).replace(':conversion', conversion);

it.each(PAGES)(
  'the dashboard has no serious accessibility problem on %s, in both colour schemes, narrow and wide',
  async (template) => {
    await test.open(addressOf(template));
    await test.loaded();
    expect(await problemsIn(test.page)).toEqual([]);
  },
);

it('the dashboard has no serious accessibility problem where users sign in', async () => {
  await test.openSignedOut();
  await test.open('/');
  await test.page.getByLabel('Password').waitFor();
  expect(await problemsIn(test.page)).toEqual([]);
});
