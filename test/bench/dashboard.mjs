// The dashboard part: the page in a real browser whose CPU is throttled to a quarter, on a log with a million attempts.
import os from 'node:os';
import { join } from 'node:path';
import { startWithDashboard } from './admin.mjs';
import { inBrowser, throttlingControl, traced } from './dashboard-browser.mjs';
import { meets, spread } from './figures.mjs';
import { fillDeliveries } from './fill-log.mjs';
import { loadArguments } from './generator.mjs';
import { untilQuiet } from './large-log.mjs';
import { measure } from './measure.mjs';
import { serverVersion, withClient } from './postgres.mjs';
import { inboundTarget } from './variants.mjs';

const EVENTS_PER_SECOND = 500;
const PLATFORMS = ['meta', 'google_ads', 'tiktok'];
const ORDER = 'ORD-SEARCHED';
/** Rows shown while live events are paused. */
const PAUSED_ROWS = 200;
/** More pages than a list keeps. */
const EARLIER_PAGES = 12;
const TASK = { atMost: 100 };
const FIRST_PAGE = { atMost: 1_500 };
const SEARCH = { atMost: 300 };
const SITE = '/sites/localhost';
/** Searches on a page: many matches, few and none. */
const SEARCHES = [
  ['sync-log', '?status=delivered'],
  ['sync-log', '?platform=tiktok'],
  ['sync-log', '?status=rejected'],
  ['sync-log', `?order=${ORDER}`],
  ['sync-log', '?event=unknown'],
  ['sync-log', '?reason=unknown'],
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
  if (!samples) return [];
  context.samples = samples;
  const loads = samples.map(({ load }) => load.toFixed(1));
  context.facts.push(`load of the machine (1 minute) after each round: ${loads.join(', ')}`);
  return rowsOf(samples, settings);
}

async function fill(service, attempts, { progress }) {
  const events = Math.ceil((attempts / PLATFORMS.length) * (PLATFORMS.length + 1));
  await withClient(service.server, async (client) => {
    await fillDeliveries(client, { events, platforms: PLATFORMS }, (done) =>
      progress(`filling: ${done} of ${events} events …`),
    );
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

async function rounds(browser, service, context) {
  const { settings, progress } = context;
  const samples = [];
  // The first round warms the service up.
  for (let round = 0; round <= settings.rounds; round += 1) {
    progress(round === 0 ? 'warming up …' : `round ${round}/${settings.rounds} …`);
    const step = (work) => traced(browser, () => work(browser, service, context));
    // As in a new tab: leaving the page before is not part of opening one.
    await browser.page.goto('about:blank');
    samples.push({
      overview: await step(() => firstPage(browser, `${SITE}/overview`, '.tile')),
      syncLog: await step(() => firstPage(browser, `${SITE}/sync-log`, 'tbody tr')),
      earlier: await step(earlierPages),
      searches: await step(searches),
      live: await step(live),
      pause: await step(pause),
      hiddenTab: await step(hiddenTab),
      control: await throttlingControl(browser),
      load: os.loadavg()[0],
    });
  }
  return samples.slice(1);
}

/** Milliseconds from the navigation until the user can use the page, and until its data is shown. */
async function firstPage({ open, run }, path, content) {
  await open(path);
  return run(async (selector, { until }) => {
    await until(() => document.querySelector('nav a'));
    const interactive = performance.now();
    await until(() => document.querySelector(selector));
    const complete = performance.now();
    // What follows belongs to it, too: the other rows of a table, the chart.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    return { interactive, complete };
  }, content);
}

/** Loads earlier pages of the list, beyond what it keeps. */
function earlierPages({ run }) {
  return run(async (pages, { until, button }) => {
    for (let count = 0; count < pages; count += 1) {
      button('Show earlier').click();
      await until(() => !button('Show earlier'));
      await until(() => button('Show earlier'));
    }
  }, EARLIER_PAGES);
}

/** Milliseconds from the change of the address, as by a filter, until the answer is shown. */
async function searches({ open, run }) {
  const times = [];
  const controls = [];
  let shownPage;
  for (const [name, query] of SEARCHES) {
    if (name !== shownPage) {
      await open(`${SITE}/${name}`);
      await run(({ until }) => until(() => document.querySelector('tbody tr')));
      shownPage = name;
    }
    times.push(await run(search, { path: `${SITE}/${name}${query}`, request: `/${name}?` }));
    controls.push(await run(smallestAnswer));
  }
  return { slowest: Math.max(...times), control: Math.max(...controls) };
}

/** Runs in the page. Milliseconds that a request takes which reads one row. */
async function smallestAnswer() {
  const start = performance.now();
  await (await fetch('/api/v1/session')).text();
  return performance.now() - start;
}

/** Runs in the page. */
async function search({ path, request }, { until }) {
  performance.clearResourceTimings();
  const start = performance.now();
  const link = document.createElement('a');
  link.href = path;
  document.body.append(link);
  link.click();
  link.remove();
  const isAnswered = () => performance.getEntriesByType('resource').some(({ name }) => name.includes(request));
  await until(() => isAnswered() && !document.querySelector('#main').textContent.includes('Loading …'));
  return performance.now() - start;
}

async function live({ open, run }, service, context) {
  await open(`${SITE}/live`);
  await run(({ until, badge }) => until(() => badge('live')));
  const { rate, errors } = await send(service, context);
  return { rate, errors, behind: await run(untilNewest, SITE) };
}

/** Conversions at the wanted rate for the seconds of a round. */
function send(service, { generator, settings }) {
  const { port, key, path, expect } = inboundTarget(service);
  const { seconds } = settings;
  const args = loadArguments({ port, key, path, expect, seconds, rate: EVENTS_PER_SECOND, connections: 16 });
  return measure('the live events', generator, args);
}

/** Runs in the page. Milliseconds until the newest event of the log is the first row. */
async function untilNewest(site, { until }) {
  const start = performance.now();
  const answer = await fetch(`/api/v1${site}/events?limit=1`);
  const newest = (await answer.json()).items[0].position;
  const shown = () => Number(document.querySelector('tbody tr td:last-child').textContent.replaceAll(/\D/g, ''));
  await until(() => shown() >= newest);
  return performance.now() - start;
}

/** Pauses the live events, which then lists all that are kept, and continues. */
function pause({ run }) {
  return run(async (rows, { until, button }) => {
    button('Pause').click();
    await until(() => document.querySelectorAll('tbody tr').length >= rows);
    [...document.querySelectorAll('#main button')].find(({ textContent }) => textContent.startsWith('Cont')).click();
    await until(() => button('Pause'));
  }, PAUSED_ROWS);
}

/** The tab is hidden while conversions arrive, and shown again. */
async function hiddenTab({ run }, service, context) {
  await run(showTab, 'hidden');
  await send(service, context);
  await run(showTab, 'visible');
  return { behind: await run(untilNewest, SITE) };
}

/** Runs in the page. Browsers without windows have no hidden tabs. */
function showTab(state) {
  Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
  document.dispatchEvent(new Event('visibilitychange'));
}

function rowsOf(samples, { attempts, seconds }) {
  const count = attempts.toLocaleString('en-US');
  const row = (what, read, target) => {
    const value = spread(samples.map(read));
    // A single slow one is what a user notices.
    return { what, unit: 'ms', value: { ...value, median: value.max }, target, met: meets(value.max, target) };
  };
  const longestTask = (what, of) => row(`↳ ${what}longest task`, (sample) => sample[of].longestTask, TASK);
  const live = row(
    `live, ${EVENTS_PER_SECOND} conversions a second: longest task`,
    (sample) => sample.live.longestTask,
    TASK,
  );
  return [
    row(
      `first page, log with ${count} attempts: interactive, slowest round`,
      ({ overview }) => overview.interactive,
      FIRST_PAGE,
    ),
    row('↳ its figures are shown', ({ overview }) => overview.complete),
    longestTask('', 'overview'),
    row(`sync log of ${count} rows: shown`, ({ syncLog }) => syncLog.complete, FIRST_PAGE),
    longestTask('', 'syncLog'),
    longestTask(`${EARLIER_PAGES} earlier pages: `, 'earlier'),
    row('↳ search: slowest answer on the page', (sample) => sample.searches.slowest, SEARCH),
    row('↳ control, the smallest request of the API: slowest answer', (sample) => sample.searches.control),
    longestTask('search: ', 'searches'),
    {
      ...live,
      rate: spread(samples.map((sample) => sample.live.rate)).min,
      errors: samples.reduce((sum, sample) => sum + sample.live.errors, 0),
    },
    row('↳ the last event is shown after it was answered', (sample) => sample.live.behind),
    longestTask(`pause, ${PAUSED_ROWS} rows: `, 'pause'),
    longestTask(`back from a hidden tab after ${seconds} s: `, 'hiddenTab'),
    controlRow(samples),
  ];
}

/** Four times is what the throttling should do. */
function controlRow(samples) {
  const value = spread(samples.map(({ control }) => control.times));
  return {
    ...{ what: 'control, a loop: longest task to the same at full speed', unit: 'ratio' },
    value: { ...value, median: value.max },
  };
}
