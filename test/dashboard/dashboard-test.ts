import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { Sandbox } from '../../src/sandbox/sandbox.js';
import type { Role } from '../../src/users/access.js';
import { connectChromium } from '../browser/chromium.mjs';
import { type AdminClient, cookieOf, PASSWORD, startTestAdmin, type TestAdmin } from '../support/admin.js';
import { createDatabase } from '../support/databases.js';
import { INBOUND, send, startTestService, type TestService } from '../support/service.js';
import { eventually } from '../support/waiting.js';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

export interface DashboardSite {
  readonly host: string;
  readonly key: string;
}

/** A service, its dashboard and a browser for the tests of a file. Each test gets a page of its own, and makes its own sites. */
export class DashboardTest {
  admin!: TestAdmin;
  service!: TestService;
  /** Calls the API as an administrator, whose session the page of each test has. */
  api!: AdminClient;
  email!: string;
  sandbox!: { url: string; stop(): Promise<void> };
  receiver!: WebhookReceiver;
  context!: BrowserContext;
  page!: Page;
  private environment!: Readonly<Record<string, string>>;
  private browser!: Browser;
  private cookie!: string;
  /** Requests of the page without streams, which do not end. */
  private unanswered!: Set<Request>;
  private sites = 0;
  /** Errors and warnings on the browser's console, apart from answers of the API, which the page shows. */
  private readonly browserErrors: string[] = [];

  async start(settings: Readonly<Record<string, string>>): Promise<void> {
    const databaseUrl = await createDatabase();
    const environment = { OUTBOUND_ALLOW_PRIVATE: 'true', ...settings };
    this.service = await startTestService(databaseUrl, environment);
    this.environment = { ...environment, PORT: String(this.service.port) };
    this.admin = await startTestAdmin(databaseUrl, this.environment);
    const { cookie, email } = await this.newSession('admin');
    this.cookie = cookie;
    this.email = email;
    this.api = this.admin.withHeaders({ cookie, 'x-cc-csrf': '1' });
    this.sandbox = await new Sandbox().start(0);
    this.receiver = await startReceiver();
    this.browser = await connectChromium();
  }

  async stop(): Promise<void> {
    await this.browser?.close();
    await this.receiver?.stop();
    await this.sandbox?.stop();
    await this.admin?.stop();
    await this.service?.stop();
  }

  /** Starts the management API again, at the same address, after it was stopped. */
  async startAdmin(): Promise<void> {
    const { databaseUrl, url } = this.admin;
    this.admin = await startTestAdmin(databaseUrl, { ...this.environment, ADMIN_PORT: new URL(url).port });
  }

  /** A user with a password, and the cookie of a session. */
  async newSession(role: Role, sites: string[] | null = null): Promise<{ cookie: string; email: string }> {
    const { id, email } = await this.admin.addUser(role, sites);
    const { secret: link } = await this.admin.users.reset(id);
    const reply = await this.admin.anonymous('/session/password', {
      method: 'POST',
      body: { link, password: PASSWORD },
    });
    return { cookie: cookieOf(reply), email };
  }

  /** Replaces the page by one of another browser profile, with the session of the cookie. */
  async openPage(cookie = this.cookie): Promise<void> {
    await this.context?.close();
    this.context = await this.browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
    this.context.setDefaultTimeout(60_000);
    this.context.on('weberror', (error) => this.browserErrors.push(String(error.error())));
    this.context.on('console', (message) => {
      if (/error|warning/.test(message.type()) && !message.text().startsWith('Failed to load resource'))
        this.browserErrors.push(message.text());
    });
    const [name = '', value = ''] = cookie.split(/=(.*)/s);
    // Browsers store a secure cookie for localhost only with an address that says https.
    await this.context.addCookies([{ name, value, url: this.admin.url.replace('http:', 'https:'), secure: true }]);
    this.page = await this.context.newPage();
    this.collectUnanswered();
  }

  async openSignedOut(): Promise<void> {
    await this.openPage();
    await this.context.clearCookies();
  }

  /** What the browser's console has reported since it was asked last. */
  takeErrors(): string[] {
    return this.browserErrors.splice(0);
  }

  async newSite(): Promise<DashboardSite> {
    this.sites += 1;
    const host = `shop-${this.sites}.example`;
    await this.succeed('/sites', 'POST', { host });
    await this.succeed(`/sites/${host}/inbound`, 'PUT', { enabled: true });
    const { key } = await this.succeed(`/sites/${host}/keys`, 'POST', { name: 'Shop backend' });
    await this.service.refreshSites();
    return { host, key };
  }

  /** A site that delivers to Segment. */
  async newDeliveringSite(): Promise<DashboardSite> {
    const site = await this.newSite();
    await this.connectSegment(site);
    return site;
  }

  /** Connects Segment to the sandbox, where every delivery succeeds. */
  async connectSegment({ host }: DashboardSite): Promise<void> {
    const connection = { settings: { write_key: 'demo' }, endpoint: `${this.sandbox.url}/segment@${host}` };
    await this.succeed(`/sites/${host}/connections/segment`, 'PUT', connection);
    await this.service.refreshSites();
  }

  /** How the sandbox answers the next deliveries of a site to Segment. */
  async behave({ host }: DashboardSite, mode: 'ok' | 'refuse'): Promise<void> {
    const body = JSON.stringify({ platform: 'segment', tenant: host, mode });
    expect((await fetch(`${this.sandbox.url}/behave`, { method: 'POST', body })).status).toBe(200);
  }

  async sendConversion({ host, key }: DashboardSite, orderId: string, event = 'purchase', more = {}): Promise<void> {
    const body = { email: 'jane@example.com', event, value: 129.9, currency: 'EUR', orderId, ...more };
    const headers = { Host: host, 'X-CC-Api-Key': key, 'Content-Type': 'application/json' };
    const reply = await send(this.service, { method: 'POST', path: INBOUND, headers, body: JSON.stringify(body) });
    expect(reply.status).toBe(200);
  }

  /** @returns the id of the conversion, once it is listed */
  async sendListedConversion(site: DashboardSite, orderId: string, event?: string): Promise<string> {
    await this.sendConversion(site, orderId, event);
    const { body } = await eventually(
      () => this.api(`/sites/${site.host}/conversions?order=${orderId}`),
      (reply) => reply.body.items.length > 0,
    );
    return body.items[0].conversionId;
  }

  async succeed(path: string, method: string, body: unknown) {
    const reply = await this.api(path, { method, body });
    expect([path, reply.status < 300, reply.body]).toEqual([path, true, reply.body]);
    return reply.body;
  }

  open(path: string) {
    return this.page.goto(this.admin.url + path);
  }

  /** Resolves when a page has everything that it shows. */
  async loaded(): Promise<void> {
    await this.page.locator('h1').waitFor();
    // An answer may lead to another request, in one of the next frames.
    const isIdle = async () => {
      await this.page.evaluate('new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve)))');
      return this.unanswered.size === 0 && (await this.page.getByText('Loading …').count()) === 0;
    };
    await eventually(async () => (await isIdle()) && (await isIdle()), Boolean);
  }

  private collectUnanswered(): void {
    const unanswered = new Set<Request>();
    const remove = (request: Request) => unanswered.delete(request);
    this.page.on('request', (request) => {
      if (request.resourceType() === 'fetch' && !request.url().includes('/api/v1/events?')) unanswered.add(request);
    });
    this.page.on('requestfinished', remove);
    this.page.on('requestfailed', remove);
    this.unanswered = unanswered;
  }

  /** Resolves when the page has this address. The browser reports an address a moment after the page has changed it. */
  at(path: string) {
    return this.page.waitForURL(this.admin.url + path);
  }

  /** Holds back requests of the page until the returned function is called. @returns also how many were made */
  async hold(url: string): Promise<{ release(): void; count(): number }> {
    let requests = 0;
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await this.page.route(url, async (route) => {
      requests += 1;
      await released;
      await route.fallback();
    });
    return { release, count: () => requests };
  }

  row(text: string) {
    return this.page.getByRole('row').filter({ hasText: text });
  }

  click(name: string | RegExp) {
    return this.page.getByRole('button', { name }).click();
  }

  heading(name: string) {
    return this.page.getByRole('heading', { level: 1, name }).waitFor();
  }

  dialog() {
    return this.page.getByRole('dialog');
  }

  /** Resolves when a message says this. A dialog may say it as well while it closes. */
  message(text: string | RegExp) {
    return this.page.getByRole('status').filter({ hasText: text }).first().waitFor();
  }
}

/** Registers what starts and stops it, and opens a page for each test. `settings` is called before the start. */
export function testDashboard(
  settings: () => Promise<Readonly<Record<string, string>>> = async () => ({}),
): DashboardTest {
  const test = new DashboardTest();
  beforeAll(async () => test.start(await settings()), 120_000);
  afterAll(() => test.stop(), 60_000);
  beforeEach(() => test.openPage());
  afterEach(() => expect(test.takeErrors()).toEqual([]));
  return test;
}
