import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import { eventually } from '../support/service.js';
import { type DashboardSite, SITE_PAGES, testDashboard } from './dashboard-test.js';

jest.setTimeout(120_000);

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PAGES = [
  ...[
    '/',
    '/sites/new',
    '/settings/users',
    '/settings/tokens',
    '/settings/oauth-apps',
    '/settings/health',
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
/** All rules for both layouts; in the other colour scheme only the contrast can differ. */
const CONTRAST = { runOnly: ['color-contrast'] };
const RUNS = [
  [1440, 'light', {}],
  [1440, 'dark', CONTRAST],
  [360, 'dark', {}],
  [360, 'light', CONTRAST],
] as const;

const NEXT_FRAMES = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';

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
    { withinMs: 60_000 },
  );
  conversion = body.items[0].conversionId;
});

const addressOf = (template: string) => template.replace(':site', site.host).replace(':conversion', conversion);

it.each(PAGES)(
  'has no serious accessibility problem on %s, in both colour schemes, narrow and wide',
  async (template) => {
    await test.open(addressOf(template));
    await test.loaded();
    expect(await problemsIn(RUNS)).toEqual([]);
  },
);

it.each([...DIALOGS, ...SETTINGS_DIALOGS])(
  'has no serious accessibility problem in the dialog %s',
  async (template) => {
    await test.open(addressOf(template));
    await test.dialog().waitFor();
    await test.loaded();
    expect(await problemsIn(RUNS.filter(([, , options]) => options !== CONTRAST))).toEqual([]);
  },
);

it('has no serious accessibility problem where users sign in', async () => {
  await test.openSignedOut();
  await test.open('/');
  await test.page.getByLabel('Password').waitFor();
  expect(await problemsIn(RUNS)).toEqual([]);
});

/** What axe finds in each of the layouts and colour schemes, and whether the page is wider than the screen. */
async function problemsIn(runs: readonly (typeof RUNS)[number][]): Promise<unknown[]> {
  const { page } = test;
  const found: unknown[] = [];
  await page.evaluate(AXE);
  for (const [width, colorScheme, options] of runs) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    // Charts follow the width of the page a frame later.
    await page.evaluate(NEXT_FRAMES);
    found.push(...(await problemsOf(`${width} ${colorScheme}`, options)));
    // Only tables scroll sideways, by themselves.
    if (await page.evaluate('document.documentElement.scrollWidth > innerWidth')) found.push(`${width} scrolls`);
  }
  return found;
}

interface AxeResults {
  readonly violations: readonly { id: string; impact: string | null; nodes: readonly { html: string }[] }[];
}

/** Serious and critical problems that axe finds on the page as it is. */
async function problemsOf(where: string, options: object): Promise<unknown[]> {
  const { violations } = (await test.page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => ({ where, id, html: nodes.map(({ html }) => html) }));
}
