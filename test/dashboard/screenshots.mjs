// npm run screenshots: takes the pictures of docs/dashboard.md from the running product. Starts the built service with its
// own database and sandbox in a temporary folder, sends conversions, and opens each page in Chromium.
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CHROMIUM_REMEDY, launchChromium } from '../browser/chromium.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const [PORT, ADMIN_PORT] = ['18180', '18181'];
const [EMAIL, PASSWORD] = ['ada@shop.example', 'correct horse battery staple'];
const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
const base = `http://localhost:${ADMIN_PORT}`;
const dataDir = mkdtempSync(join(tmpdir(), 'cc-screenshots-'));
// Started by root, PostgreSQL runs as another user, who has to enter the folder.
chmodSync(dataDir, 0o755);

const service = spawn(process.execPath, [join(root, 'dist/main.js')], {
  env: { ...process.env, DATA_DIR: dataDir, PORT, ADMIN_PORT, ADMIN_EMAIL: EMAIL, ADMIN_PASSWORD: PASSWORD },
  stdio: ['ignore', 'ignore', 'inherit'],
});
try {
  await untilAnswered(`${base}/api/v1/session/options`);
  await sendVisits();
  const conversions = await sendConversions(24);
  await takePictures([
    ['overview', '/sites/localhost/overview?days=1'],
    ['conversion', `/sites/localhost/conversions/${conversions.at(17)}`],
    ['integrations', '/sites/localhost/integrations'],
  ]);
} finally {
  const ended = once(service, 'exit');
  service.kill('SIGTERM');
  await ended;
  rmSync(dataDir, { recursive: true, force: true });
}

async function untilAnswered(url) {
  for (let attempt = 0; attempt < 120; attempt += 1) {
    const isUp = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    if (service.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`The service did not answer at ${url}.`);
}

/** Visits of some of the customers from ads, so that their conversions are matched. */
async function sendVisits() {
  const campaigns = [
    [0, 'google', 'cpc', 'spring-sale', 'gclid'],
    [1, 'google', 'cpc', 'brand', 'gclid'],
    [2, 'meta', 'paid_social', 'retargeting', 'fbclid'],
    [3, 'tiktok', 'spark', 'launch', 'ttclid'],
    [5, 'newsletter', 'email', 'november', undefined],
  ];
  for (const [customer, source, medium, campaign, click] of campaigns) {
    const hash = createHash('sha256').update(`customer${customer}@example.com`).digest('hex');
    const visit = {
      ...{ v: 1, visitor: randomUUID(), visit: randomUUID(), hash, utm: { source, medium, campaign }, cookies: {} },
      clicks: click ? { [click]: { id: `Cj0KCQ-${customer}`, t: Date.now() - (customer + 3) * 5_400_000 } } : {},
      consent: { ad_storage: 'granted', ad_user_data: 'granted' },
      signals: {},
    };
    await fetch(`http://localhost:${PORT}/__cc/identify`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': BROWSER, Origin: `http://localhost:${PORT}` },
      body: JSON.stringify(visit),
    });
  }
}

/** @returns the ids of the conversions */
async function sendConversions(count) {
  const key = readFileSync(join(dataDir, 'demo-key'), 'utf8').trim();
  const ids = [];
  for (let number = 1; number <= count; number += 1) {
    const response = await fetch(`http://localhost:${PORT}/__cc/inbound`, {
      method: 'POST',
      headers: { 'X-CC-Api-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        email: `customer${number % 9}@example.com`,
        event: number % 5 === 0 ? 'lead' : 'purchase',
        value: 40 + ((number * 37) % 160),
        currency: 'EUR',
        orderId: `ORD-${48_000 + number}`,
        ...(number % 2 === 0 && { phone: '+4930123456' }),
      }),
    });
    ids.push(response.headers.get('x-cc-conversion-id'));
  }
  return ids;
}

async function takePictures(pages) {
  const browser = await launchChromium();
  if (!browser) throw new Error(`Chromium does not start: ${CHROMIUM_REMEDY}.`);
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
  const page = await context.newPage();
  await page.goto(`${base}/sign-in`);
  await page.getByLabel('Email').fill(EMAIL);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  for (const [name, path] of pages) {
    await page.goto(base + path);
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: join(root, `docs/images/dashboard-${name}.png`) });
  }
  await browser.close();
}
