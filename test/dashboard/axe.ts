import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** All rules for both layouts; in the other colour scheme only the contrast can differ. */
const CONTRAST = { runOnly: ['color-contrast'] };
const RUNS = [
  [1440, 'light', {}],
  [1440, 'dark', CONTRAST],
  [360, 'dark', {}],
  [360, 'light', CONTRAST],
] as const;

/** The last of the elements that are wider than the screen and do not scroll by themselves. */
const TOO_WIDE = `(() => {
  const clips = (element) => element && (getComputedStyle(element).overflowX !== 'visible' || clips(element.parentElement));
  const isWide = (element) => element.getBoundingClientRect().right > innerWidth && !clips(element.parentElement);
  return [...document.body.querySelectorAll('*')].filter(isWide).at(-1)?.outerHTML.slice(0, 200);
})()`;

const NEXT_FRAMES = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';

/** What axe finds in each of the layouts and colour schemes, and whether the page is wider than the screen. */
export async function problemsIn(page: Page): Promise<unknown[]> {
  const found: unknown[] = [];
  await page.evaluate(AXE);
  for (const [width, colorScheme, options] of RUNS) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    // Charts follow the width of the page a frame later.
    await page.evaluate(NEXT_FRAMES);
    found.push(...(await problemsOf(page, `${width} ${colorScheme}`, options)));
    // Only tables scroll sideways, by themselves.
    if (await page.evaluate('document.documentElement.scrollWidth > innerWidth'))
      found.push(`${width} scrolls because of ${await page.evaluate(TOO_WIDE)}`);
  }
  return found;
}

interface AxeResults {
  readonly violations: readonly { id: string; impact: string | null; nodes: readonly { html: string }[] }[];
}

/** Serious and critical problems that axe finds on the page as it is. */
async function problemsOf(page: Page, where: string, options: object): Promise<unknown[]> {
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => ({ where, id, html: nodes.map(({ html }) => html) }));
}
