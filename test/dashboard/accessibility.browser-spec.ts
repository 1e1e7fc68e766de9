import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import { type DashboardSite, SITE_PAGES, testDashboard } from './dashboard-test.js';

jest.setTimeout(120_000);

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PAGES = [
  ...['/', '/sites/new', '/settings/users', '/settings/tokens', '/settings/oauth-apps', '/settings/health'],
  ...SITE_PAGES.map((name) => `/sites/:site/${name}`),
  '/sites/:site/conversions/:conversion',
];
/** All rules for both layouts; in the other colour scheme only the contrast can differ. */
const CONTRAST = { runOnly: ['color-contrast'] };
const RUNS = [
  [1440, 'light', {}],
  [1440, 'dark', CONTRAST],
  [360, 'dark', {}],
  [360, 'light', CONTRAST],
] as const;

const test = testDashboard();
let site: DashboardSite;
let conversion: string;

beforeAll(async () => {
  site = await test.newSite();
  await test.connectSegment(site);
  await test.sendConversion(site, 'ORD-1');
  const { body } = await test.api(`/sites/${site.host}/conversions`);
  conversion = body.items[0].conversionId;
});

it.each(PAGES)(
  'has no serious accessibility problem on %s, in both colour schemes, narrow and wide',
  async (template) => {
    const { page } = test;
    await test.open(template.replace(':site', site.host).replace(':conversion', conversion));
    await page.locator('h1').waitFor();
    await page.getByText('Loading …').first().waitFor({ state: 'detached' });
    await page.evaluate(AXE);
    const found: unknown[] = [];
    for (const [width, colorScheme, options] of RUNS) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      found.push(...(await problemsOf(`${width} ${colorScheme}`, options)));
      // Only tables scroll sideways, by themselves.
      if (await page.evaluate('document.documentElement.scrollWidth > innerWidth')) found.push(`${width} scrolls`);
    }
    expect(found).toEqual([]);
  },
);

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
