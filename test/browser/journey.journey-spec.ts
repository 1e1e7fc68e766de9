import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext } from 'playwright-core';
import { IssueKey } from '../../src/sites/keys/key.commands.js';
import { AddSite, EnableInbound } from '../../src/sites/site.commands.js';
import { PASSWORD, startTestAdmin, type TestAdmin } from '../support/admin.js';
import { createDatabase } from '../support/databases.js';
import {
  type Operator,
  openOperator,
  post,
  send,
  startTestService,
  type TestService,
  type TestSite,
} from '../support/service.js';
import { eventually } from '../support/waiting.js';
import { connectChromium } from './chromium.mjs';
import { DOC_SAMPLES } from './shop-server.js';

const HOST = 'track.shop.localhost';
const EMAIL = 'Jane.Doe@Example.com';
let operator: Operator;
let service: TestService;
let pages: Server;
let browser: Browser;
let door: TestSite;
let admin: TestAdmin;

beforeAll(async () => {
  const databaseUrl = await createDatabase();
  operator = await openOperator(databaseUrl);
  service = await startTestService(databaseUrl);
  admin = await startTestAdmin(databaseUrl, { PORT: String(service.port) });
  await operator.execute(new AddSite('cli', HOST));
  await operator.execute(new EnableInbound('cli', HOST));
  const { key, id } = await operator.execute(new IssueKey('cli', HOST, 'test', false));
  door = { host: HOST, key, keyId: id };
  await operator.set(HOST, 'origin', 'shop.localhost');
  await service.refreshSites();
  const snippet = DOC_SAMPLES.html[0].replace('https://track.shop.example', `http://${HOST}:${service.port}`);
  const form =
    '<form action="/thanks"><input type="email" name="email"><input name="name"><button>Order</button></form>';
  pages = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><head>${snippet}</head>${form}`),
  );
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  browser = await connectChromium();
});
afterAll(async () => {
  await browser?.close();
  pages.closeAllConnections();
  pages.close();
  await admin.stop();
  await service.stop();
  await operator.close();
});

interface JourneyOptions {
  /** Host of the page with the form. */
  readonly host?: string;
  /** Changes the browser before the landing, and between the landing and the form. */
  prepare?(context: BrowserContext): Promise<void>;
  meanwhile?(context: BrowserContext): Promise<void>;
}

interface Journey {
  readonly receipt: object;
  /** Personal parts of the conversion and of the last visit. */
  readonly personal: Record<string, unknown> | null;
  readonly identified: Record<string, unknown> | null;
}

const pageAt = (host: string, path: string) => `http://${host}:${(pages.address() as AddressInfo).port}${path}`;

/** Follows an ad click to an order with an email, then posts the conversion as the shop's backend. */
async function order(orderId?: string, options: JourneyOptions = {}): Promise<Journey> {
  const { host = 'shop.localhost', prepare, meanwhile } = options;
  const context = await browser.newContext();
  await prepare?.(context);
  const page = await context.newPage();
  const before = await operator.log.head();
  const visits = (type: string) => operator.log.read({ categories: ['visitor'], types: [type], after: before });
  await page.goto(pageAt(host, '/sale?gclid=Cj0_MixedCase&utm_source=google'));
  if (meanwhile) {
    await eventually(
      () => visits('visitor.visited.v1'),
      (events) => events.length > 0,
    );
    await meanwhile(context);
    await page.goto(pageAt(host, '/order'));
  }
  await page.fill('input[type=email]', ` ${EMAIL} `);
  await page.click('button');
  await page.waitForURL(/thanks/);
  const identified = await eventually(
    () => visits('visitor.identified.v1'),
    (events) => events.length > 0,
  );
  await context.close();
  const reply = await post(service, door, { email: EMAIL, event: 'purchase', value: 10, orderId });
  const [conversion] = orderId ? await operator.log.find(HOST, orderId) : [];
  return {
    receipt: JSON.parse(reply.body),
    personal: (conversion?.personal ?? null) as Journey['personal'],
    identified: (identified.at(-1)?.personal ?? null) as Journey['identified'],
  };
}

it('the service filters the lead of an automated browser', async () => {
  expect((await order()).receipt).toEqual({ ok: true, filtered: true });
});

it('the service joins an ad click, a submitted form and a conversion from the backend', async () => {
  await operator.set(HOST, 'allow-ip', '127.0.0.1');
  await service.refreshSites();
  const { receipt, personal } = await order('ORD-1');
  expect(receipt).toEqual({ ok: true, event: 'purchase', results: {} });
  expect(personal?.['visit']).toMatchObject({
    pageUrl: expect.stringMatching(/^http:\/\/shop\.localhost:\d+\/sale$/),
    clicks: { gclid: { id: 'Cj0_MixedCase' } },
    utm: { source: 'google' },
    userAgent: expect.stringContaining('Chrome'),
  });
  const wholeLog = JSON.stringify(await operator.log.read());
  expect(wholeLog.toLowerCase()).not.toContain('jane');
});

it('the dashboard shows the click that brought the customer', async () => {
  const context = await browser.newContext();
  context.setDefaultTimeout(60_000);
  const { secret: link } = await admin.users.reset((await admin.addUser('admin')).id);
  const page = await context.newPage();
  await page.goto(`${admin.url}/sign-in#${link}`);
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Choose and sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.goto(`${admin.url}/sites/${HOST}/conversions?order=ORD-1`);
  await page.getByRole('link', { name: 'ORD-1', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'ORD-1' }).waitFor();
  await page.getByText('gclid').first().waitFor();
  await page.getByText('google').first().waitFor();
  expect((await page.content()).toLowerCase()).not.toContain('jane');
  await context.close();
});

it('the service recognises a visitor by its cookie after the browser has removed what scripts stored', async () => {
  let landed: Record<string, unknown> | null = null;
  const { receipt, identified } = await order('ORD-2', {
    // As Safari does after seven days without a visit: cookies of scripts and localStorage.
    meanwhile: async (context) => {
      // The visit is stored before the browser has the answer with the cookie.
      await eventually(
        () => context.cookies(),
        (cookies) => cookies.some(({ name }) => name === '_ccv'),
      );
      const visits = await operator.log.read({ categories: ['visitor'], types: ['visitor.visited.v1'] });
      landed = (visits.at(-1)?.personal ?? null) as typeof landed;
      await context.clearCookies({ name: /^_cc(_consent)?$/ });
      await context.pages()[0]?.evaluate(() => localStorage.clear());
    },
  });
  expect(receipt).toMatchObject({ ok: true, event: 'purchase' });
  expect(identified).toMatchObject({ known: true, visitor: landed?.['visitor'] });
  expect(identified?.['browser']).not.toBe(landed?.['browser']);
});

it.each([
  [
    'with cookies off',
    {
      meanwhile: async () => {},
      prepare: async (context: BrowserContext) => {
        // The browser stores no cookie of a script and sends none.
        await context.addInitScript(() => {
          Object.defineProperty(Document.prototype, 'cookie', { get: () => '', set: () => undefined });
        });
        await context.route('**/__cc/*', async (route) => {
          const request = route.request();
          const headers = { ...request.headers(), host: HOST, origin: pageAt('shop.localhost', '') };
          const { pathname: path } = new URL(request.url());
          const reply = await send(service, {
            method: request.method(),
            path,
            headers,
            body: request.postData() ?? '',
          });
          const { 'set-cookie': _, 'content-length': __, ...answered } = reply.headers as Record<string, string>;
          await route.fulfill({ status: reply.status, headers: answered, body: reply.body }).catch(() => {});
        });
      },
    },
  ],
  // A cookie with SameSite=Lax is neither stored nor sent there, as with third-party cookies blocked.
  ['from a page of another site', { host: 'partner.localhost', meanwhile: async () => {} }],
])('the service joins click, form and conversion %s, with every call a visitor of its own', async (name, options) => {
  await operator.set(HOST, 'origin', 'partner.localhost');
  await service.refreshSites();
  const { personal, identified } = await order(`ORD ${name}`, options);
  expect(identified).toMatchObject({ known: false, clicks: { gclid: { id: 'Cj0_MixedCase' } } });
  expect(JSON.stringify(identified)).not.toContain('landedMs');
  expect(personal?.['visit']).toMatchObject({ clicks: { gclid: { id: 'Cj0_MixedCase' } } });
});
