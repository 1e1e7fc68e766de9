import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { eventually } from '../support/waiting.js';
import { problemsIn } from './axe.js';
import { testDashboard } from './dashboard-test.js';

const NOTICED_MS = 5_000;

const test = testDashboard();
const banner = () => test.page.getByText(/No connection to the service since \d+:\d\d:\d\d/);
const conversions = (count: string) =>
  test.page
    .locator('.tile')
    .filter({ has: test.page.getByText('Conversions', { exact: true }) })
    .locator('strong')
    .getByText(count, { exact: true });

async function openOverview(host: string, url = test.admin.url): Promise<void> {
  const stream = test.page.waitForResponse((response) => response.url().includes('/api/v1/events?'));
  await test.page.goto(`${url}/sites/${host}/overview`);
  await test.loaded();
  await stream;
  await conversions('0').waitFor();
  await test.page.evaluate('globalThis.isSameDocument = true');
}

/** The banner appears in time, once, and nothing else says the same. */
async function expectBanner(sinceMs: number): Promise<void> {
  await banner().waitFor();
  expect(performance.now() - sinceMs).toBeLessThan(NOTICED_MS);
  expect([await banner().count(), await test.page.getByRole('alert').count()]).toEqual([1, 0]);
}

async function expectCurrent(count: string): Promise<void> {
  await banner().waitFor({ state: 'detached' });
  await conversions(count).waitFor();
  expect(await test.page.evaluate('globalThis.isSameDocument')).toBe(true);
}

/** A line to a port, on which nothing passes while it is cut: neither an answer nor the end of a connection. */
async function openLine(port: number) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    const target = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('data', (bytes) => isCut || to.write(bytes));
      from.on('close', () => isCut || to.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    cut: () => {
      isCut = true;
    },
    /** What was lost stays lost. */
    mend: () => {
      for (const socket of sockets) socket.destroy();
      isCut = false;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe('a dashboard without its service', () => {
  it('says since when, and is up to date once the service was started again', async () => {
    const site = await test.newSite();
    await openOverview(site.host);
    await test.admin.stop();
    await expectBanner(performance.now());
    await test.sendConversion(site, 'ORD-1');
    await test.page.getByText('Records', { exact: true }).click();
    await test.page.getByRole('link', { name: 'Audit', exact: true }).click();
    await test.heading('Audit');
    expect(await test.page.getByRole('alert').count()).toBe(0);
    expect(await problemsIn(test.page)).toEqual([]);
    await test.page.setViewportSize({ width: 1440, height: 900 });
    await test.startAdmin();
    await test.row('Shop backend').first().waitFor();
    await test.page.getByRole('link', { name: 'Overview', exact: true }).click();
    await expectCurrent('1');
  });

  it('says so when the device is offline', async () => {
    const site = await test.newSite();
    await openOverview(site.host);
    await test.context.setOffline(true);
    await expectBanner(performance.now());
    await test.sendConversion(site, 'ORD-1');
    await test.context.setOffline(false);
    await expectCurrent('1');
  });

  it('says so when the network is silent', async () => {
    const site = await test.newSite();
    const line = await openLine(Number(new URL(test.admin.url).port));
    try {
      await openOverview(site.host, line.url);
      line.cut();
      await expectBanner(performance.now());
      await test.sendConversion(site, 'ORD-1');
      line.mend();
      await expectCurrent('1');
    } finally {
      line.close();
    }
  });

  it('asks for nothing while its tab is hidden', async () => {
    const site = await test.newSite();
    await openOverview(site.host);
    await test.context.setOffline(true);
    await banner().waitFor();
    await test.page.evaluate(`
      Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    `);
    const asked: string[] = [];
    test.page.on('request', (request) => asked.push(request.url()));
    await test.page.waitForTimeout(NOTICED_MS + 1_000);
    expect(asked).toEqual([]);
    await test.context.setOffline(false);
    await test.page.evaluate(`
      Object.defineProperty(document, 'visibilityState', { value: 'visible', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    `);
    await eventually(
      () => asked.length,
      (count) => count > 0,
    );
    await expectCurrent('0');
  });
});
