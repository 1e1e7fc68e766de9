import { eventually } from '../support/waiting.js';
import { CONTRAST, problemsIn, RUNS } from './axe.js';
import { type DashboardSite, SITE_PAGES, testDashboard } from './dashboard-test.js';

const PAGES = [
  ...[
    '/',
    '/sites/new',
    '/settings/users',
    '/settings/tokens',
    '/settings/oauth-apps',
    '/settings/health',
    '/settings/projections',
    '/account',
    '/settings/audit',
  ],
  ...SITE_PAGES.map((name) => `/sites/:site/${name}`),
  '/sites/:site/conversions/:conversion',
];
const DIALOGS = [
  ...[
    'keys?dialog=new',
    'keys?dialog=refuse',
    'webhook?dialog=set',
    'history?dialog=new',
    'integrations?connection=meta',
    'integrations?dialog=add&item=segment',
  ],
  ...['sync-log?dialog=retry', 'conversions/:conversion?dialog=curl', 'conversions/:conversion?send=segment'],
  'conversions/:conversion?dialog=request&item=segment',
].map((path) => `/sites/:site/${path}`);
const SETTINGS_DIALOGS = ['users?dialog=new', 'tokens?dialog=new', 'oauth-apps?dialog=set&item=meta'].map(
  (path) => `/settings/${path}`,
);
const test = testDashboard();
let site: DashboardSite;
let conversion: string;

beforeAll(async () => {
  site = await test.newSite();
  // With a second one, there is a page of all sites.
  await test.newSite();
  await test.connectSegment(site);
  await test.sendConversion(site, 'ORD-1');
  const { body } = await eventually(
    () => test.api(`/sites/${site.host}/conversions`),
    (reply) => reply.body.items.length > 0,
  );
  conversion = body.items[0].conversionId;
});

const addressOf = (template: string) => template.replace(':site', site.host).replace(':conversion', conversion);

it.each(PAGES)(
  'the dashboard has no serious accessibility problem on %s, in both colour schemes, narrow and wide',
  async (template) => {
    await test.open(addressOf(template));
    await test.loaded();
    expect(await problemsIn(test.page, RUNS)).toEqual([]);
  },
);

it.each([...DIALOGS, ...SETTINGS_DIALOGS])(
  'the dashboard has no serious accessibility problem in the dialog %s',
  async (template) => {
    await test.open(addressOf(template));
    await test.dialog().waitFor();
    await test.loaded();
    expect(
      await problemsIn(
        test.page,
        RUNS.filter(([, , options]) => options !== CONTRAST),
      ),
    ).toEqual([]);
  },
);

it('the dashboard has no serious accessibility problem where users sign in', async () => {
  await test.openSignedOut();
  await test.open('/');
  await test.page.getByLabel('Password').waitFor();
  expect(await problemsIn(test.page, RUNS)).toEqual([]);
});
