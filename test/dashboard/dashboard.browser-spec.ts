import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { Sandbox } from '../../src/sandbox/sandbox.js';
import { CHROMIUM_REMEDY, launchChromium } from '../browser/chromium.mjs';
import { type AdminClient, PASSWORD, startTestAdmin, type TestAdmin } from '../support/admin.js';
import { createMigratedDatabase } from '../support/databases.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';
import { eventually, INBOUND, send, startTestService, type TestService } from '../support/service.js';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

jest.setTimeout(120_000);

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SITE = 'shop.example';
const PAGES = [
  '/',
  '/sites/new',
  '/settings/users',
  '/settings/tokens',
  '/settings/oauth-apps',
  '/settings/health',
  ...['overview', 'live', 'conversions', 'sync-log', 'integrations', 'webhook'].map((name) => `/sites/${SITE}/${name}`),
  ...['first-steps', 'keys', 'tag', 'consent', 'traffic', 'duplicates', 'mapping', 'history', 'audit'].map(
    (name) => `/sites/${SITE}/${name}`,
  ),
];
/** All rules for both layouts; in the other colour scheme only the contrast can differ. */
const CONTRAST = { runOnly: ['color-contrast'] };
const AXE_RUNS = [
  [1440, 'light', {}],
  [1440, 'dark', CONTRAST],
  [360, 'dark', {}],
  [360, 'light', CONTRAST],
] as const;

/** Buttons that change nothing but what is shown. */
const READING_BUTTONS = /^(?:Refresh|Export CSV|Cop(?:y|ied).*|Show earlier|Pause|Find|Check again)$/;

let server: TestServer;
let service: TestService;
let admin: TestAdmin;
let asAdmin: AdminClient;
let sandbox: { url: string; stop(): Promise<void> };
let receiver: WebhookReceiver;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let email: string;
let key: string;
/** Errors and warnings on the browser's console, apart from answers of the API, which the page shows. */
let browserErrors: string[];

beforeAll(async () => {
  server = await startTestServer();
  const databaseUrl = await createMigratedDatabase(server);
  const environment = { OUTBOUND_ALLOW_PRIVATE: 'true' };
  service = await startTestService(databaseUrl, environment);
  admin = await startTestAdmin(databaseUrl, { ...environment, PORT: String(service.port) });
  asAdmin = await admin.signedIn('admin');
  sandbox = await new Sandbox().start(0);
  receiver = await startReceiver();
  const started = await launchChromium();
  if (!started) throw new Error(`Chromium does not start: ${CHROMIUM_REMEDY}.`);
  browser = started;
  await openContext();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await receiver?.stop();
  await sandbox?.stop();
  await admin?.stop();
  await service?.stop();
  await server.stop();
}, 60_000);
afterEach(() => expect(browserErrors.splice(0)).toEqual([]));

async function openContext(): Promise<void> {
  await context?.close();
  browserErrors = [];
  context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
  context.setDefaultTimeout(60_000);
  context.on('weberror', (error) => browserErrors.push(String(error.error())));
  context.on('console', (message) => {
    if (/error|warning/.test(message.type()) && !message.text().startsWith('Failed to load resource'))
      browserErrors.push(message.text());
  });
  page = await context.newPage();
}

async function sendConversion(orderId: string): Promise<void> {
  const body = { email: 'jane@example.com', event: 'purchase', value: 129.9, currency: 'EUR', orderId };
  const headers = { Host: SITE, 'X-CC-Api-Key': key, 'Content-Type': 'application/json' };
  const reply = await send(service, { method: 'POST', path: INBOUND, headers, body: JSON.stringify(body) });
  expect(reply.status).toBe(200);
}

const open = (path: string) => page.goto(admin.url + path);
const click = (name: string | RegExp) => page.getByRole('button', { name }).click();
const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
const dialog = () => page.getByRole('dialog');
const platformRow = (name: string) =>
  page.getByRole('region', { name: 'Platforms' }).getByRole('row').filter({ hasText: name });
const message = (text: string | RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor();

describe('the dashboard in a browser', () => {
  it('lets a new administrator choose a password with the link, and signs in with it', async () => {
    const user = await admin.addUser('admin');
    email = user.email;
    await open(`/sign-in#${await admin.users.reset(user.id)}`);
    await page.getByLabel('New password').fill(PASSWORD);
    await click('Choose and sign in');
    await heading('Add your first site');
    await click('Sign out');
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill('a wrong password');
    await click('Sign in');
    await page.getByRole('alert').filter({ hasText: 'The email address or the password is wrong.' }).waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await click('Sign in');
    await heading('Add your first site');
  });

  it('adds a site and creates a key, with the line that sends a conversion', async () => {
    await page.getByLabel('Host').fill(SITE);
    await click('Add the site');
    await heading('First steps');
    await open(`/sites/${SITE}/keys`);
    await click('Create a key');
    await dialog().getByLabel('Name').fill('Shop backend');
    await dialog().getByRole('button', { name: 'Create' }).click();
    key = (await dialog().getByRole('region', { name: 'Key', exact: true }).textContent()) as string;
    const line = await dialog().getByRole('region', { name: 'Request with the key' }).textContent();
    expect(line).toContain(`curl http://localhost:${service.port}/__cc/inbound -H 'Host: ${SITE}'`);
    await dialog().getByRole('button', { name: 'Done' }).click();
    await page.getByRole('cell', { name: 'Shop backend', exact: true }).waitFor();
  });

  it('shows a conversion as it arrives, what happened to it and where it was delivered', async () => {
    const body = { settings: { write_key: 'demo' }, endpoint: `${sandbox.url}/segment` };
    expect((await asAdmin(`/sites/${SITE}/connections/segment`, { method: 'PUT', body })).status).toBe(200);
    await service.refreshSites();
    await open(`/sites/${SITE}/live?show=conversions&text=ord-1`);
    await page.getByText('live', { exact: true }).waitFor();
    await sendConversion('ORD-1');
    await page.getByRole('link', { name: 'Conversion received' }).click();
    await heading('ORD-1');
    await page.getByText('with key “Shop backend”').waitFor();
    await page.getByText('delivered to 1 of 1').waitFor();
    await page.getByRole('region', { name: 'Payload for Segment' }).getByText('ORD-1').waitFor();
    await click(/^Send again/);
    await dialog().getByRole('region', { name: 'Payload for Segment that would be sent' }).getByText('ORD-1').waitFor();
    await dialog().getByText('Segment accepted it already.').waitFor();
    await dialog().getByRole('button', { name: 'Send to Segment' }).click();
    await message('Sent to Segment again');
    await page.getByText('2 attempts').waitFor();
    await click('Copy as curl');
    await dialog().getByText('X-CC-Api-Key: <key>').waitFor();
    await dialog().getByRole('button', { name: 'Close' }).click();
  });

  it('finds a conversion by its order', async () => {
    await sendConversion('ORD-2');
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Page or site' }).fill('ORD-2');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'ORD-2', exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'ORD-1', exact: true }).count()).toBe(0);
  });

  it('shows the totals of the site, and what is left to set up', async () => {
    await open(`/sites/${SITE}`);
    await heading('Overview');
    const tile = page.locator('.tile').first();
    const row = platformRow('Segment');
    // Numbers come from a projection, which is a moment behind.
    const shown = async () => {
      await click('Refresh');
      return `${await tile.textContent()} ${await row.textContent()}`;
    };
    await eventually(shown, (text) => /^Conversions2.*SegmentConnected.*100%3/.test(text), { withinMs: 60_000 });
    await page.getByRole('link', { name: 'Campaign', exact: true }).click();
    expect(page.url()).toBe(`${admin.url}/sites/${SITE}/overview?by=campaign`);
  });

  it('solves what needs attention with the button beside it', async () => {
    expect((await asAdmin(`/sites/${SITE}/connections/segment/pause`, { method: 'POST' })).status).toBe(200);
    await open(`/sites/${SITE}/overview?days=1`);
    await click('Resume: Segment is paused');
    await message('Segment sends again');
    await platformRow('Segment').getByText('Connected').waitFor();
  });

  it('revokes a key after asking', async () => {
    await asAdmin(`/sites/${SITE}/keys`, { method: 'POST', body: { name: 'Old system' } });
    await open(`/sites/${SITE}/keys`);
    await click('Revoke Old system');
    await dialog().getByRole('button', { name: 'Revoke' }).click();
    const row = page.getByRole('row').filter({ hasText: 'Old system' });
    await row.getByText('revoked').waitFor();
  });

  it('connects a platform with a token, pauses, resumes, tests and disconnects it', async () => {
    await open(`/sites/${SITE}/integrations`);
    const card = page.getByRole('region', { name: 'Meta' });
    await card.getByRole('button', { name: 'Connect' }).click();
    await dialog().getByLabel('Pixel ID').fill('1234567890');
    await dialog().getByLabel('Access token', { exact: true }).fill('secret-token');
    await dialog().getByRole('button', { name: 'Connect' }).click();
    await card.getByText('Connected', { exact: true }).waitFor();
    expect(await card.textContent()).not.toContain('secret-token');
    await card.getByRole('button', { name: 'Pause' }).click();
    await card.getByText('Paused').waitFor();
    await card.getByRole('button', { name: 'Resume' }).click();
    await card.getByText('Connected', { exact: true }).waitFor();
    const endpoint = `${sandbox.url}/meta`;
    await asAdmin(`/sites/${SITE}/connections/meta`, { method: 'PUT', body: { endpoint } });
    await card.getByRole('button', { name: 'Test' }).click();
    await message('Meta works');
    await card.getByRole('button', { name: 'Disconnect' }).click();
    await dialog().getByRole('button', { name: 'Disconnect' }).click();
    await card.getByText('Not connected').waitFor();
  });

  it('connects a platform by signing in there', async () => {
    await open('/settings/oauth-apps');
    await click('Set the app of LinkedIn');
    await dialog().getByRole('region', { name: 'Redirect URI' }).getByText('/api/v1/oauth/callback').waitFor();
    await dialog().getByLabel('Client ID').fill('own-app');
    await dialog().getByLabel('Client secret').fill('own-app-secret');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await message('The app of LinkedIn is set');
    const app = { clientId: 'own-app', clientSecret: 'own-app-secret', endpoint: `${sandbox.url}/linkedin` };
    expect((await asAdmin('/oauth-apps/linkedin', { method: 'PUT', body: app })).status).toBe(200);
    await open(`/sites/${SITE}/integrations`);
    const card = page.getByRole('region', { name: 'LinkedIn' });
    await card.getByRole('button', { name: 'Connect' }).click();
    await dialog().getByRole('button', { name: 'Sign in at LinkedIn' }).click();
    await page.getByRole('link', { name: 'Allow', exact: true }).click();
    await dialog().getByText('You are signed in at LinkedIn.').waitFor();
    expect(
      await dialog()
        .getByLabel(/^Access token(?: \(optional\))?$/)
        .count(),
    ).toBe(0);
    await dialog().getByRole('button', { name: 'Connect' }).click();
    await card.getByText('Connected', { exact: true }).waitFor();
    expect(page.url()).toBe(`${admin.url}/sites/${SITE}/integrations`);
  });

  it('sets the webhook and shows what its receiver answers', async () => {
    await open(`/sites/${SITE}/webhook`);
    await click('Set the webhook');
    await dialog().getByLabel('Address').fill('not an address');
    await dialog().getByLabel('Address').fill(`${receiver.url}/totals`);
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().getByText('It is shown this once').waitFor();
    await dialog().getByRole('button', { name: 'Done' }).click();
    await click('Test');
    await message(/The receiver answered 20\d/);
    await click('Push now');
    await page.getByText('delivered', { exact: true }).first().waitFor();
    await click('Rotate the secret');
    await dialog().getByRole('button', { name: 'Rotate' }).click();
    await dialog().getByRole('region', { name: 'Secret' }).waitFor();
    await dialog().getByRole('button', { name: 'Done' }).click();
  });

  it('filters the sync log in the address, exports what matches, and shows what a retry would send', async () => {
    await open(`/sites/${SITE}/sync-log`);
    await page.getByRole('row').filter({ hasText: 'Totals' }).first().waitFor();
    await page.getByLabel('Outcome').selectOption('failed');
    await page.getByText('Nothing matches').waitFor();
    expect(page.url()).toBe(`${admin.url}/sites/${SITE}/sync-log?status=failed`);
    await click('Remove the filters');
    await page.getByLabel('Order or conversion id').fill('ORD-2');
    await page.keyboard.press('Enter');
    await page.getByText('1 matches').waitFor();
    expect(page.url()).toBe(`${admin.url}/sites/${SITE}/sync-log?order=ORD-2`);
    const [download] = await Promise.all([page.waitForEvent('download'), click('Export CSV')]);
    const lines = readFileSync((await download.path()) as string, 'utf8').split('\r\n');
    expect(lines).toEqual([
      expect.stringMatching(/^time,kind,order,event/),
      expect.stringMatching(/,delivery,ORD-2,purchase,segment,delivered,/),
      '',
    ]);
    await click('Retry …');
    await dialog().getByText('Nothing is to be sent again').waitFor();
    await dialog().getByRole('button', { name: 'Close' }).click();
  });

  it('saves the settings of a site', async () => {
    await open(`/sites/${SITE}/consent`);
    await page.getByLabel('Consent is required').check();
    await message('Saved');
    await open(`/sites/${SITE}/traffic`);
    await page.getByLabel('Add: Country code').fill('nonsense');
    await page.getByLabel('Add: Country code').press('Enter');
    await message(/country/i);
    await page.getByLabel('Add: Country code').fill('FR');
    await page.getByLabel('Add: Country code').press('Enter');
    await page.getByRole('button', { name: 'Remove FR' }).waitFor();
    await page.getByLabel('Threshold').focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText(/Would have removed 0 of 0 visits/).waitFor();
    await page.keyboard.press('ArrowRight');
    await click('Save');
    await message('Saved');
    await open(`/sites/${SITE}/duplicates`);
    await page.getByLabel('Window').fill('2h');
    await click('Save');
    await message('Saved');
    const { body } = await asAdmin(`/sites/${SITE}/settings`);
    expect(body).toMatchObject({ botThreshold: 32, consentRequired: true, blockCountries: ['FR'], dedupWindow: '2h' });
  });

  it('shows what a platform would get while a mapping is edited, and saves it', async () => {
    await open(`/sites/${SITE}/mapping?platform=segment`);
    const preview = page.getByRole('region', { name: 'Payload' });
    await preview.getByText('"Order Completed"').waitFor();
    await click('Add an event');
    await page.getByLabel('Your event').fill('purchase');
    await page.getByLabel('Platform’s event').fill('Bought It');
    await preview.getByText('"Bought It"').waitFor();
    await click('Save');
    await message('Saved');
    const { body } = await asAdmin(`/sites/${SITE}/connections`);
    const segment = body.items.find(({ platform }: { platform: string }) => platform === 'segment');
    expect(segment.settings['event.purchase']).toBe('Bought It');
  });

  it('exports the events of the site to a file', async () => {
    await open(`/sites/${SITE}/history`);
    await click('New job');
    await dialog().getByRole('button', { name: 'Start' }).click();
    const row = page.getByRole('row').filter({ hasText: 'Export as csv' });
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      row.getByRole('link', { name: /Download/ }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^events-.*\.csv$/);
  });

  it('names who changed what', async () => {
    await open(`/sites/${SITE}/audit`);
    const row = page.getByRole('row').filter({ hasText: 'dedupWindow: 2h' });
    await row.getByText(email).waitFor();
  });

  it('adds a user and a token, each with a secret that is shown once', async () => {
    await open('/settings');
    await click('Add a user');
    await dialog().getByLabel('Email').fill('grace@team.example');
    await dialog().getByRole('button', { name: 'Add' }).click();
    const link = await dialog().getByRole('region', { name: 'Link' }).textContent();
    expect(link).toMatch(/\/sign-in#[\w-]{43}$/);
    await dialog().getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'API tokens' }).click();
    await click('Create a token');
    await dialog().getByLabel('Name').fill('Terraform');
    await dialog().getByRole('button', { name: 'Create' }).click();
    const token = await dialog().getByRole('region', { name: 'Token' }).textContent();
    expect((await admin.withHeaders({ authorization: `Bearer ${token}` })('/sites')).status).toBe(200);
    await dialog().getByRole('button', { name: 'Done' }).click();
    await click('Revoke Terraform');
    await dialog().getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('revoked').waitFor();
  });

  it('goes to pages by keyboard', async () => {
    await open(`/sites/${SITE}/audit`);
    await heading('Audit');
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await heading('Integrations');
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Page or site' }).fill('traffic');
    await page.keyboard.press('Enter');
    await heading('Traffic filters');
  });

  it('says that the service cannot be reached, and recovers', async () => {
    await open(`/sites/${SITE}/keys`);
    await heading('Inbound keys');
    await context.setOffline(true);
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('alert').filter({ hasText: 'The service cannot be reached.' }).first().waitFor();
    await message('No connection to the service.');
    await context.setOffline(false);
    await page.getByText('dedupWindow: 2h').waitFor();
  });

  it.each(PAGES)(
    'has no serious accessibility problem on %s, in both colour schemes, narrow and wide',
    async (path) => {
      await open(path);
      await page.locator('h1').waitFor();
      await page.getByText('Loading …').first().waitFor({ state: 'detached' });
      await page.evaluate(AXE);
      const found: unknown[] = [];
      for (const [width, colorScheme, options] of AXE_RUNS) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        found.push(...(await problemsOf(`${width} ${colorScheme}`, options)));
        // Only tables scroll sideways, by themselves.
        if (await page.evaluate('document.documentElement.scrollWidth > innerWidth')) found.push(`${width} scrolls`);
      }
      expect(found).toEqual([]);
    },
  );

  it('shows an analyst what may be read, and nothing to change it with', async () => {
    const { id, email: analyst } = await admin.addUser('analyst', [SITE]);
    await admin.users.choosePassword(await admin.users.reset(id), PASSWORD);
    await openContext();
    await open(`/sites/${SITE}/integrations`);
    await page.getByLabel('Email').fill(analyst);
    await page.getByLabel('Password').fill(PASSWORD);
    await click('Sign in');
    await heading('Integrations');
    await page.getByRole('region', { name: 'Meta' }).waitFor();
    for (const path of PAGES.filter((name) => name.startsWith('/sites/shop'))) {
      await open(path);
      await page.locator('h1').waitFor();
      await page.getByText('Loading …').first().waitFor({ state: 'detached' });
      const names = await page.locator('main button').allTextContents();
      expect([path, names.filter((name) => !READING_BUTTONS.test(name.trim()))]).toEqual([path, []]);
      expect([path, await page.locator('main :is([type=checkbox], [type=range]):enabled').count()]).toEqual([path, 0]);
    }
    await open(`/sites/${SITE}/conversions?order=ORD-1`);
    await page.getByRole('link', { name: 'ORD-1', exact: true }).click();
    await heading('ORD-1');
    await page.getByText('•••').first().waitFor({ state: 'attached' });
    await open('/settings/users');
    await page.getByText('Only administrators manage users').waitFor();
  });
});

interface AxeResults {
  readonly violations: readonly { id: string; impact: string | null; nodes: readonly { html: string }[] }[];
}

/** Serious and critical problems that axe finds on the page as it is. */
async function problemsOf(where: string, options: object): Promise<unknown[]> {
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => ({ where, id, html: nodes.map(({ html }) => html) }));
}
