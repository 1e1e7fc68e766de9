import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { jest } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { connectChromium } from '../browser/chromium.mjs';
import { temporaryFolder } from '../support/folders.js';
import { eventually } from '../support/waiting.js';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

jest.setTimeout(400_000);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The Node that runs this test is the first in PATH, so that npm and the service use it as well. */
const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
/** The link of the first administrator is printed on terminals only. */
const AS_TERMINAL = '--import=data:text/javascript,process.stdout.isTTY=true';
const SITE = 'shop.example';

describe('the first run', () => {
  let dataDir: string;
  let npm: ChildProcess;
  let output = '';
  let browser: Browser;
  let page: Page;
  let receiver: WebhookReceiver;

  beforeAll(async () => {
    dataDir = temporaryFolder('cc-first-run-');
    const env = {
      ...{ PATH, HOME: dataDir, DATA_DIR: dataDir, PORT: '0', ADMIN_PORT: '0' },
      ...{ OUTBOUND_ALLOW_PRIVATE: 'true', NODE_OPTIONS: AS_TERMINAL },
    };
    // In its own process group, so that npm and the service can be interrupted together.
    npm = spawn('npm', ['start'], { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [npm.stdout, npm.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text));
    receiver = await startReceiver();
    browser = await connectChromium();
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
    context.setDefaultTimeout(60_000);
    page = await context.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await receiver?.stop();
    if (npm?.pid && npm.exitCode === null) {
      const ended = once(npm, 'exit');
      process.kill(-npm.pid, 'SIGINT');
      await ended;
    }
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  const click = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  const step = (title: string) =>
    page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: title }) });
  const done = (title: string) => step(title).getByText('done', { exact: true }).waitFor();
  /** What the page offers to paste into a terminal. */
  const pasteLine = async (): Promise<string> => {
    const line = (await page.getByRole('region', { name: 'Request' }).textContent()) ?? '';
    return (await promisify(execFile)('bash', ['-c', line], { env: { PATH } })).stdout;
  };
  /**
   * Pasted again if the answer is another one: the line has a new order id every second, so that an earlier paste makes it a
   * duplicate, and the service knows a new key or connection within a second.
   */
  const pasteUntil = (answer: RegExp) => eventually(pasteLine, (text) => answer.test(text), { everyMs: 1_000 });

  it('leads from the printed link to a delivered conversion, seen live', async () => {
    const linkIn = (text: string) => /http\S+\/sign-in#\S+/.exec(text)?.[0];
    const printed = await eventually(
      async () => output,
      (text) => linkIn(text) !== undefined,
    );
    await page.goto(linkIn(printed) as string);
    await page.getByLabel('Email').fill('ada@shop.example');
    await page.getByLabel('New password').fill('correct horse battery staple');
    await page.waitForURL(/\/sign-in$/);
    await click('Choose and sign in');
    await heading('Overview');
    await page.waitForURL((address) => !address.href.includes('#'));

    await page.getByRole('link', { name: 'Add your own site' }).click();
    await page.getByLabel('Host').fill(SITE);
    await click('Add the site');
    await heading('First steps');

    await click('Create a key');
    await done('Create a key');
    await step('Send a conversion').getByText('waiting').waitFor();
    // The service knows a new key within a second.
    await eventually(
      async () => {
        await click('Send a test conversion');
        return step('Send a conversion').getByText('done', { exact: true }).isVisible();
      },
      (isDone) => isDone,
      { everyMs: 1_000 },
    );
    const feed = page.getByRole('list', { name: 'Events' });
    await feed.getByText('Conversion received').first().waitFor();

    await step('Add the tag').getByText('not seen yet').waitFor();

    await click('Connect to the sandbox');
    await done('Connect a platform');
    await pasteUntil(/"meta"/);
    await feed.getByText('Delivered', { exact: true }).first().waitFor();

    await click('Set the webhook');
    await page.getByRole('dialog').getByLabel('Address').fill(`${receiver.url}/totals`);
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
    await done('Set the webhook');

    await feed.getByText('Delivered', { exact: true }).first().click();
    await page.getByRole('heading', { level: 1, name: /ORD-/ }).waitFor();
    await page.getByText('Meta').first().waitFor();
  });
});
