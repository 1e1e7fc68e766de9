import type { Browser, BrowserContext, Page } from 'playwright-core';
import { problemsIn } from '../dashboard/axe.js';
import { createDatabase } from '../support/databases.js';
import { startTestService, type TestService } from '../support/service.js';
import { connectChromium } from './chromium.mjs';

let service: TestService;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let errors: string[];

beforeAll(async () => {
  service = await startTestService(await createDatabase(), {});
  browser = await connectChromium();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
beforeEach(async () => {
  errors = [];
  context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
  context.on('console', (message) => {
    if (/error|warning/.test(message.type())) errors.push(message.text());
  });
  context.on('weberror', (error) => errors.push(String(error.error())));
  page = await context.newPage();
});
afterEach(async () => {
  await context.close();
  expect(errors).toEqual([]);
});

const addressOf = (path: string) => `http://localhost:${service.port}/docs/guide${path}`;
const heading = () => page.getByRole('heading', { level: 1 });

describe('the guide', () => {
  it('leads from each entrance to its pages, and on to the next one', async () => {
    await page.goto(addressOf(''));
    for (const [entrance, title] of [
      ['Send', 'Send conversions'],
      ['Analyse', 'Dashboard'],
      ['Operate', 'Operations'],
      ['Engineering', 'Architecture'],
    ] as const) {
      await page.getByRole('navigation', { name: 'Entrances' }).getByRole('link', { name: entrance }).click();
      expect(await heading().textContent()).toBe(title);
    }
    await page.locator('a[rel=next]').click();
    expect(await heading().textContent()).toBe('The event log');
    await page.getByRole('link', { name: 'Clean Conversions' }).click();
    expect(await heading().textContent()).toBe('Clean Conversions');
  });

  it('finds a passage with the keyboard alone', async () => {
    await page.goto(addressOf('/'));
    await page.keyboard.press('/');
    await page.keyboard.type('history leap');
    await page
      .getByRole('status')
      .getByText(/^\d+ results$/)
      .waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/operate/backup.html#history-leap');
    expect(await page.locator('dialog').isVisible()).toBe(false);
    await page.keyboard.press('/');
    await page.keyboard.type('xyzzy');
    await page.getByText('0 results').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.locator('dialog').isVisible()).toBe(false);
  });

  it('has a page and a heading behind every link of every page', async () => {
    await page.goto(addressOf('/'));
    const { seen, lost } = await page.evaluate(followLinks);
    expect(lost).toEqual([]);
    expect(seen).toBeGreaterThan(100);
  });

  it('copies a block of code, and keeps the colours that were chosen', async () => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(addressOf('/operate/backup.html'));
    const block = page.locator('.code').first();
    await block.hover();
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      'npx clean-conversions backup --out clean-conversions.backup',
    );
    await page.getByLabel('Colours').selectOption('dark');
    await page.reload();
    expect(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)).toBe('dark');
  });

  it('and the API reference lead to each other', async () => {
    await page.goto(addressOf('/'));
    await page.getByRole('link', { name: 'API reference' }).click();
    const link = page.getByRole('link', { name: 'guide', exact: true });
    await link.waitFor();
    expect(await link.evaluate((element) => (element as HTMLAnchorElement).href)).toBe(addressOf('/'));
  });

  it.each(['/', '/integrate/index.html', '/dashboard.html', '/platforms/google_ads.html', '/decisions/index.html'])(
    'has no serious accessibility problem on %s, in both colour schemes, narrow and wide',
    async (path) => {
      await page.goto(addressOf(path));
      expect(await problemsIn(page)).toEqual([]);
    },
  );

  it('has no serious accessibility problem in the search, and in the menu of a phone', async () => {
    await page.goto(addressOf('/operate.html'));
    await page.keyboard.press('/');
    await page.keyboard.type('retention');
    await page
      .getByRole('status')
      .getByText(/^\d+ results$/)
      .waitFor();
    expect(await problemsIn(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 360, height: 800 });
    await page.getByRole('button', { name: 'Menu' }).click();
    expect(await page.getByRole('navigation', { name: 'Contents' }).isVisible()).toBe(true);
    expect(await problemsIn(page)).toEqual([]);
  });
});

/** In the browser: how many addresses below the page's folder its links lead to, and those that do not exist. */
async function followLinks(): Promise<{ seen: number; lost: string[] }> {
  const base = new URL('./', location.href).href;
  const pages = new Map<string, Document | undefined>();
  const lost: string[] = [];
  const waiting = [location.href];
  for (let address = waiting.pop(); address !== undefined; address = waiting.pop()) {
    const [path = '', fragment] = address.split('#');
    if (!pages.has(path)) {
      const response = await fetch(path);
      if (!response.ok) lost.push(`${address}: ${response.status}`);
      const isPage = response.headers.get('content-type')?.startsWith('text/html');
      const content = isPage ? new DOMParser().parseFromString(await response.text(), 'text/html') : undefined;
      pages.set(path, content);
      for (const element of content?.querySelectorAll('a[href], img[src], link[href], script[src]') ?? []) {
        const target = element.getAttribute('href') ?? (element.getAttribute('src') as string);
        const linked = new URL(target, path).href;
        if (linked.startsWith(base)) waiting.push(linked);
      }
    }
    const content = pages.get(path);
    if (fragment && !content?.getElementById(decodeURIComponent(fragment))) lost.push(address);
  }
  return { seen: pages.size, lost };
}
