// The dashboard part: the page in a real browser whose CPU is throttled to a quarter, on a log with a million attempts.
import { join } from 'node:path';
import { CHROMIUM_REMEDY, launchChromium } from '../browser/chromium.mjs';
import { startWithDashboard } from './admin.mjs';
import { meets, spread } from './figures.mjs';
import { fillDeliveries } from './fill-log.mjs';
import { loadArguments } from './generator.mjs';
import { untilQuiet } from './large-log.mjs';
import { measure } from './measure.mjs';
import { serverVersion, withClient } from './postgres.mjs';
import { inboundTarget } from './variants.mjs';

const THROTTLING = 4;
const EVENTS_PER_SECOND = 500;
const PLATFORMS = ['meta', 'google_ads', 'tiktok'];
const ORDER = 'ORD-SEARCHED';
/** More pages than a list keeps. */
const EARLIER_PAGES = 12;
const TASK = { atMost: 100 };
const SEARCH = { atMost: 300 };
const SITE = '/sites/localhost';
/** Searches on a page: many matches, few and none. */
const SEARCHES = [
  ['sync-log', '?status=delivered'],
  ['sync-log', '?platform=tiktok'],
  ['sync-log', '?status=rejected'],
  ['conversions', `?order=${ORDER}`],
];

export async function dashboardRun(context) {
  const { directory, settings, progress, part, cleanUp } = context;
  progress('starting the service …');
  const started = await part('the service', () => startWithDashboard(join(directory, 'service')));
  if (!started) return [];
  const { service } = started;
  cleanUp.push(() => service.stop());
  context.facts.push(
    'Chromium with its CPU throttled to a quarter; tasks in CPU time of the main thread; the slowest of the rounds',
  );
  context.postgresVersion = await serverVersion(service.server);
  await part('filling the log', () => fill(service, settings.attempts, context));
  const samples = await part('the rounds', () => inBrowser(started, (page) => rounds(page, service, context)));
  return samples ? rowsOf(samples, settings) : [];
}

async function fill(service, attempts, { progress }) {
  const events = Math.ceil((attempts / PLATFORMS.length) * (PLATFORMS.length + 1));
  await withClient(service.server, async (client) => {
    const plan = { events, platforms: PLATFORMS, unsettledEvery: Number.MAX_SAFE_INTEGER };
    await fillDeliveries(client, plan, (done) => progress(`filling: ${done} of ${events} events …`));
    progress('waiting for the projections …');
    await untilQuiet(client);
  });
  const { port, key, path } = inboundTarget(service);
  const conversion = { email: 'jane@example.com', event: 'purchase', value: 129.9, currency: 'EUR', orderId: ORDER };
  const answer = await fetch(`http://localhost:${port}${path}`, {
    method: 'POST',
    headers: { 'x-cc-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(conversion),
  });
  if (!answer.ok) throw new Error(`the conversion to search was answered ${answer.status}`);
}

/** Calls `work` with a page of a browser in which the user is signed in. */
async function inBrowser({ url, dashboard }, work) {
  const browser = await launchChromium();
  if (!browser) throw new Error(`Chromium does not start: ${CHROMIUM_REMEDY}`);
  try {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
    const [name, value] = dashboard.cookie.split(/=(.*)/s);
    // Browsers store a secure cookie for localhost only with an address that says https.
    await context.addCookies([{ name, value, url: url.replace('http:', 'https:'), secure: true }]);
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: THROTTLING });
    const open = (path) => page.goto(url + path);
    return await work({ page, open, browser });
  } finally {
    await browser.close();
  }
}

async function rounds(browser, service, context) {
  const { settings, progress } = context;
  const samples = [];
  // The first round warms the service up.
  for (let round = 0; round <= settings.rounds; round += 1) {
    progress(round === 0 ? 'warming up …' : `round ${round}/${settings.rounds} …`);
    const step = (work) => traced(browser, () => work(browser, service, context));
    samples.push({
      overview: await step(() => firstPage(browser, `${SITE}/overview`, '.tile')),
      syncLog: await step(() => firstPage(browser, `${SITE}/sync-log`, 'tbody tr')),
      earlier: await step(earlierPages),
      searches: await step(searches),
      live: await step(live),
    });
  }
  return samples.slice(1);
}

/** Adds to what `work` measures how long the page's main thread was busy with one task, at most. */
async function traced({ browser, page }, work) {
  await browser.startTracing(page, { categories: ['__metadata', 'toplevel', 'disabled-by-default-devtools.timeline'] });
  const sample = await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const isMain = ({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain';
  const mains = new Set(traceEvents.filter(isMain).map(({ pid, tid }) => `${pid} ${tid}`));
  const tasks = traceEvents.filter(({ name, pid, tid }) => name.endsWith('RunTask') && mains.has(`${pid} ${tid}`));
  if (tasks.length === 0) throw new Error('the trace contains no task');
  // CPU time, in microseconds: on a machine with other work a task also waits for a core.
  return { ...sample, longestTask: tasks.reduce((longest, { tdur = 0 }) => Math.max(longest, tdur), 0) / 1_000 };
}

/** Milliseconds from the navigation until the user can use the page, and until its data is shown. */
async function firstPage({ page, open }, path, content) {
  await open(path);
  return page.evaluate(async (selector) => {
    const until = async (wanted) => {
      while (!document.querySelector(wanted)) await new Promise(requestAnimationFrame);
      // The frame after the one in which it was rendered.
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      return performance.now();
    };
    return { interactive: await until('nav a'), complete: await until(selector) };
  }, content);
}

/** Loads earlier pages of the list, beyond what it keeps. */
async function earlierPages({ page }) {
  for (let count = 0; count < EARLIER_PAGES; count += 1) {
    await page.getByRole('button', { name: 'Show earlier' }).click();
    await page.waitForFunction(() =>
      [...document.querySelectorAll('.more button')].some(({ textContent }) => textContent === 'Show earlier'),
    );
  }
}

/** Milliseconds from the change of the address, as by a filter, until the answer is shown. */
async function searches({ page, open }) {
  const times = [];
  let shownPage;
  for (const [name, query] of SEARCHES) {
    if (name !== shownPage) {
      await open(`${SITE}/${name}`);
      await page.locator('tbody tr').first().waitFor();
      shownPage = name;
    }
    times.push(await page.evaluate(search, { path: `${SITE}/${name}${query}`, request: `/${name}?` }));
  }
  return { slowest: Math.max(...times) };
}

/** Runs in the page. */
async function search({ path, request }) {
  performance.clearResourceTimings();
  const start = performance.now();
  const link = document.createElement('a');
  link.href = path;
  document.body.append(link);
  link.click();
  link.remove();
  const isAnswered = () => performance.getEntriesByType('resource').some(({ name }) => name.includes(request));
  while (!isAnswered()) await new Promise(requestAnimationFrame);
  while (document.querySelector('#main')?.textContent?.includes('Loading …')) await new Promise(requestAnimationFrame);
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - start;
}

async function live({ page, open }, service, { generator, settings }) {
  await open(`${SITE}/live`);
  await page.getByText('live', { exact: true }).waitFor();
  const { port, key, path, expect } = inboundTarget(service);
  const { seconds } = settings;
  const args = loadArguments({ port, key, path, expect, seconds, rate: EVENTS_PER_SECOND, connections: 16 });
  const { rate, errors } = await measure('the live events', generator.command, [...generator.args, ...args]);
  return { rate, errors, behind: await page.evaluate(untilNewest, SITE) };
}

/** Runs in the page. Milliseconds until the newest event of the log is the first row. */
async function untilNewest(site) {
  const start = performance.now();
  const answer = await fetch(`/api/v1${site}/events?limit=1`);
  const newest = (await answer.json()).items[0].position;
  const shown = () => Number(document.querySelector('tbody tr td:last-child').textContent.replaceAll(/\D/g, ''));
  while (shown() < newest) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}

function rowsOf(samples, { attempts }) {
  const count = attempts.toLocaleString('en-US');
  const row = (what, values, target) => {
    const value = spread(values);
    // A single slow one is what a user notices.
    return { what, unit: 'ms', value: { ...value, median: value.max }, target, met: meets(value.max, target) };
  };
  const of = (read) => samples.map(read);
  return [
    row(
      `first page, log with ${count} attempts: interactive, slowest round`,
      of(({ overview }) => overview.interactive),
      {
        atMost: 1_500,
      },
    ),
    row(
      '↳ its figures are shown',
      of(({ overview }) => overview.complete),
    ),
    row(
      '↳ longest task',
      of(({ overview }) => overview.longestTask),
      TASK,
    ),
    row(
      `sync log of ${count} rows: shown`,
      of(({ syncLog }) => syncLog.complete),
      { atMost: 1_500 },
    ),
    row(
      '↳ longest task',
      of(({ syncLog }) => syncLog.longestTask),
      TASK,
    ),
    row(
      `↳ ${EARLIER_PAGES} earlier pages: longest task`,
      of(({ earlier }) => earlier.longestTask),
      TASK,
    ),
    row(
      '↳ search: slowest answer on the page',
      of(({ searches }) => searches.slowest),
      SEARCH,
    ),
    row(
      '↳ search: longest task',
      of(({ searches }) => searches.longestTask),
      TASK,
    ),
    {
      ...row(
        `live, ${EVENTS_PER_SECOND} conversions a second: longest task`,
        of(({ live }) => live.longestTask),
        TASK,
      ),
      rate: spread(of(({ live }) => live.rate)).min,
      errors: samples.reduce((sum, { live }) => sum + live.errors, 0),
    },
    row(
      '↳ the last event is shown after it was answered',
      of(({ live }) => live.behind),
    ),
  ];
}
