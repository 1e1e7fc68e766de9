// A page of the dashboard in Chromium with a throttled CPU, and how long its main thread was busy with one task.
import { CHROMIUM_REMEDY, launchChromium } from '../browser/chromium.mjs';
import { median } from './figures.mjs';

const THROTTLING = 4;
/** About 15 ms at full speed. */
const CONTROL_STEPS = 6_000_000;
const CONTROL_TASKS = 10;

/** Calls `work` with a page of a browser in which the user is signed in. */
export async function inBrowser({ url, dashboard }, work) {
  const browser = await launchChromium();
  if (!browser) throw new Error(`Chromium does not start: ${CHROMIUM_REMEDY}`);
  try {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
    const [name, value] = dashboard.cookie.split(/=(.*)/s);
    // Browsers store a secure cookie for localhost only with an address that says https.
    await context.addCookies([{ name, value, url: url.replace('http:', 'https:'), secure: true }]);
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    const throttle = (rate) => session.send('Emulation.setCPUThrottlingRate', { rate });
    await throttle(THROTTLING);
    return await work({ page, browser, throttle, open: (path) => page.goto(url + path), run: runIn(session) });
  } finally {
    await browser.close();
  }
}

/**
 * Runs a function in the page, with what `PAGE` has. Not by Playwright's locators and `evaluate`: the scripts that these add to a
 * page are its longest tasks.
 */
function runIn(session) {
  return async (work, ...args) => {
    const expression = `(${work})(...${JSON.stringify(args)}, (${pageTools})())`;
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      ...{ expression, awaitPromise: true, returnByValue: true },
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
}

/** What a function gets that runs in the page. */
function pageTools() {
  const frame = () => new Promise(requestAnimationFrame);
  /** Resolves when the test holds, in the frame after the one in which it was rendered. */
  const until = async (test) => {
    const giveUpAt = performance.now() + 60_000;
    while (!test()) {
      if (performance.now() > giveUpAt) throw new Error(`waited too long for: ${test}`);
      await frame();
    }
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  };
  const button = (text) => [...document.querySelectorAll('#main button')].find((found) => found.textContent === text);
  const badge = (text) => [...document.querySelectorAll('.badge')].some((found) => found.textContent === text);
  return { until, button, badge };
}

/** Adds to what `work` measures how long the page's main thread was busy with one task, at most. */
export async function traced(browser, work) {
  const { sample, tasks } = await trace(browser, work);
  return { ...sample, longestTask: Math.max(...tasks) };
}

/** The tasks of the page's main thread, in milliseconds of CPU: on a machine with other work a task also waits for a core. */
async function trace({ browser, page }, work) {
  await browser.startTracing(page, { categories: ['__metadata', 'toplevel', 'disabled-by-default-devtools.timeline'] });
  const sample = await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const isMain = ({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain';
  const mains = new Set(traceEvents.filter(isMain).map(({ pid, tid }) => `${pid} ${tid}`));
  const tasks = traceEvents.filter(({ name, pid, tid }) => name.endsWith('RunTask') && mains.has(`${pid} ${tid}`));
  if (tasks.length === 0) throw new Error('the trace contains no task');
  return { sample, tasks: tasks.map(({ tdur = 0 }) => tdur / 1_000) };
}

/**
 * The same loop at full speed and throttled: how many times the CPU of the one the longest of the other takes. Throttling stops the
 * thread for a multiple of the time that it seems to have run; while other work has the core, that is more than it ran.
 */
export async function throttlingControl(browser) {
  const longest = async (rate) => {
    await browser.throttle(rate);
    const { tasks } = await trace(browser, () => browser.run(loops, CONTROL_TASKS, CONTROL_STEPS));
    return tasks.sort((one, other) => other - one);
  };
  const full = await longest(1);
  const [slowest] = await longest(THROTTLING);
  return { times: slowest / median(full.slice(0, CONTROL_TASKS)) };
}

/** Runs in the page. */
async function loops(tasks, steps) {
  for (let task = 0; task < tasks; task += 1) {
    let sum = 0;
    for (let step = 0; step < steps; step += 1) sum = (sum + step * step) % 7;
    // Also so that the loop is not left out.
    await new Promise((resolve) => setTimeout(resolve, sum));
  }
}
