// The browser tag: its size, and how long it blocks the main thread on a slow device.
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { tagScript } from '../../dist/tag/tag-script.js';
import { CHROMIUM_REMEDY, launchChromium } from '../browser/chromium.mjs';
import { meets, SKIPPED, singleRow, spread } from './figures.mjs';

const { body } = tagScript({ required: false, capture: true, days: 90 });
const ROUNDS = 7;
const SLOW_DOWN = 4;
const SIZE_TARGET = { atMost: 5_000 };
/** The limit of a long task in browsers. */
const TASK_TARGET = { atMost: 50 };
const QUERY = '?gclid=Cj0KCQ&fbclid=IwAR&utm_source=news&utm_medium=mail&utm_campaign=spring';
/** A large page, so that layout queries of the tag have a realistic cost. */
const PAGE = `<!doctype html><link rel="icon" href="data:,"><script async src="/__cc/tag.js"></script>
<form onsubmit="return false"><input type="email" name="email"><button>Send</button></form>
${'<section><h2>Article</h2><p>Some text about it.</p><img alt="" width="40" height="40"></section>'.repeat(500)}`;

/** @param context `{ progress }` of the bench's run */
export async function tagRows({ progress }) {
  const size = singleRow('tag, gzip: bytes', gzipSync(body, { level: 9 }).length, 'count', SIZE_TARGET);
  progress(`the tag on a page at ${SLOW_DOWN}× CPU throttling …`);
  const what = `tag, its share of the longest task on the page at ${SLOW_DOWN}× CPU throttling`;
  const browser = await launchChromium();
  if (!browser) return [size, { what: `${what}: ${CHROMIUM_REMEDY}`, figure: SKIPPED }];
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const longest = [];
    for (let round = 0; round < ROUNDS; round += 1) longest.push(await longestTask(browser, server.address().port));
    const value = spread(longest);
    return [size, { what, unit: 'ms', value, target: TASK_TARGET, met: meets(value.max, TASK_TARGET) }];
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
}

function answer({ url }, response) {
  if (url === '/__cc/tag.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(body);
  else if (url.startsWith('/__cc/')) response.writeHead(204).end();
  else response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
}

/**
 * The longest uninterrupted CPU time of the tag's code in ms on one page: landing, form, navigation. The browser task
 * around it may be longer, because the page and the automation run in it as well.
 */
async function longestTask(browser, port) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: SLOW_DOWN });
  await browser.startTracing(page, { categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline'] });
  await page.goto(`http://localhost:${port}/${QUERY}`);
  await page.waitForFunction('window.cc');
  await page.fill('input', 'jo@customer.example');
  const identified = page.waitForRequest('**/__cc/identify');
  await page.click('button');
  await identified;
  await page.evaluate('history.pushState({}, "", "?msclkid=later")');
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  await context.close();
  const scripts = traceEvents.filter(({ dur, args }) => dur && /__cc\/tag\.js/.test(JSON.stringify(args)));
  const names = new Set(scripts.map(({ name }) => name));
  if (!names.has('EvaluateScript') || !names.has('FunctionCall'))
    throw new Error('the trace contains no call of the tag');
  // The code after an awaited digest runs in microtasks, which carry no URL: all of them are attributed to the tag.
  const microtasks = traceEvents.filter(({ name, dur }) => name === 'RunMicrotasks' && dur);
  return Math.max(...[...scripts, ...microtasks].map(({ dur, tdur = dur }) => tdur)) / 1_000;
}
