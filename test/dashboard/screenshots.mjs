// npm run screenshots: takes the pictures of docs/dashboard.md from the running product. Starts the built service with its
// own database and sandbox in a temporary folder, fills it, and opens each page in Chromium.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CHROMIUM_REMEDY, launchChromium } from '../browser/chromium.mjs';
import { fillShop, SHOP } from './screenshot-data.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const [PORT, ADMIN_PORT] = ['18180', '18181'];
const [EMAIL, PASSWORD] = ['ada@shop.example', 'correct horse battery staple'];
const SITE = `/sites/${SHOP}`;
const SETTLE_MS = 1_500;
const base = `http://localhost:${ADMIN_PORT}`;
const dataDir = mkdtempSync(join(tmpdir(), 'cc-screenshots-'));
// Started by root, PostgreSQL runs as another user, who has to enter the folder.
chmodSync(dataDir, 0o755);

const service = spawn(process.execPath, [join(root, 'dist/main.js')], {
  env: { ...process.env, DATA_DIR: dataDir, PORT, ADMIN_PORT, ADMIN_EMAIL: EMAIL, ADMIN_PASSWORD: PASSWORD },
  stdio: ['ignore', 'ignore', 'inherit'],
});
try {
  await untilReady(`${base}/api/v1/session/options`);
  const api = await signIn();
  const conversions = await fillShop(api, { port: PORT, dataDir });
  await startJobs(api);
  await takePictures([
    ['all-sites', '/'],
    ['overview', `${SITE}/overview`],
    ['live', `${SITE}/live`],
    ['conversions', `${SITE}/conversions`],
    ['conversion', `${SITE}/conversions/${conversions.at(-1)}`],
    ['sync-log', `${SITE}/sync-log`],
    ['integrations', `${SITE}/integrations`],
    ['webhook', `${SITE}/webhook`],
    ['first-steps', '/sites/localhost/first-steps'],
    ['keys', `${SITE}/keys`],
    ['sources', `${SITE}/sources`],
    ['tag', `${SITE}/tag`],
    ['consent', `${SITE}/consent`],
    ['traffic', `${SITE}/traffic`],
    ['duplicates', `${SITE}/duplicates`],
    ['mapping', `${SITE}/mapping?platform=meta`],
    ['site', `${SITE}/site`],
    ['history', `${SITE}/history`],
    ['erasures', `${SITE}/erasures`],
    ['audit', `${SITE}/audit`],
    ['settings-users', '/settings/users'],
    ['settings-tokens', '/settings/tokens'],
    ['settings-oauth-apps', '/settings/oauth-apps'],
    ['settings-health', '/settings/health'],
    ['settings-projections', '/settings/projections'],
    ['account', '/account'],
  ]);
} finally {
  const ended = once(service, 'exit');
  service.kill('SIGTERM');
  await ended;
  rmSync(dataDir, { recursive: true, force: true });
}

/** Until the service has its first user. */
async function untilReady(url) {
  for (let attempt = 0; attempt < 120; attempt += 1) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok && (await answer.json()).hasUsers) return;
    if (service.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`The service has no user at ${url}.`);
}

/** @returns a function that calls the API as the administrator */
async function signIn() {
  const call = (cookie) => async (method, path, body) => {
    const headers = { 'content-type': 'application/json', 'x-cc-csrf': '1', ...(cookie && { cookie }) };
    const answer = await fetch(`${base}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${await answer.text()}`);
    return answer;
  };
  const answer = await call()('POST', '/session', { email: EMAIL, password: PASSWORD });
  return call(answer.headers.get('set-cookie').split(';', 1)[0]);
}

async function startJobs(api) {
  await api('POST', `${SITE}/jobs`, { kind: 'export', format: 'csv' });
  const [from, to] = [new Date(Date.now() - 3_600_000), new Date()].map((time) => time.toISOString());
  await api('POST', `${SITE}/jobs`, { kind: 'shadow', from, to, dedupWindow: '0s' });
  await api('POST', `${SITE}/jobs`, { kind: 'replay', platform: 'tiktok', from });
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
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  for (const [name, path] of pages) {
    await page.goto(base + path);
    await page.locator('h1').waitFor();
    await page.getByText('Loading …').first().waitFor({ state: 'detached' });
    // The chart is loaded after the page, and the stream of events never ends.
    await page.waitForTimeout(SETTLE_MS);
    await page.screenshot({ path: join(root, `docs/images/dashboard-${name}.png`) });
  }
  await browser.close();
}
