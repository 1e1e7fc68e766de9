import type { Request } from 'playwright-core';
import { eventually } from '../support/waiting.js';
import { testDashboard } from './dashboard-test.js';

const test = testDashboard();
const card = (name: string) => test.page.getByRole('region', { name, exact: true });
/** The number of a tile. */
const tile = (text: string) => test.page.locator('.tile').filter({ has: test.page.getByText(text, { exact: true }) });

/** As if the user changed to another tab, and back. */
async function show(visibilityState: 'hidden' | 'visible'): Promise<void> {
  await test.page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { value: '${visibilityState}', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  `);
}

/** The requests of the page from now on, by what they are for. */
function requests(): string[] {
  const urls: string[] = [];
  test.page.on('request', (request: Request) => urls.push(new URL(request.url()).pathname));
  return urls;
}

/** Opens a page and resolves when its stream of events is open. */
async function openLive(path: string): Promise<void> {
  const stream = test.page.waitForResponse((response) => response.url().includes('/api/v1/events?'));
  await test.open(path);
  await test.loaded();
  await stream;
  await test.page.evaluate('globalThis.isSameDocument = true');
}

afterEach(async () => {
  expect(await test.page.evaluate('globalThis.isSameDocument')).toBe(true);
});

describe('a page of the dashboard, without a reload,', () => {
  it('the overview counts a conversion, its delivery and a parked connection', async () => {
    const site = await test.newDeliveringSite();
    await openLive(`/sites/${site.host}/overview`);
    await tile('Conversions').locator('strong').getByText('0', { exact: true }).waitFor();
    await test.sendConversion(site, 'ORD-1');
    await tile('Conversions').locator('strong').getByText('1', { exact: true }).waitFor();
    const platforms = test.page.getByRole('region', { name: 'Platforms' });
    await platforms
      .getByRole('row')
      .filter({ hasText: /Segment.*100%/ })
      .waitFor();
    await test.succeed(`/sites/${site.host}/connections/segment/pause`, 'POST', undefined);
    await test.page.getByText('Segment is paused').waitFor();
    await platforms.getByRole('row').filter({ hasText: 'Segment' }).getByText('Paused').waitFor();
  });

  it('the integrations show a connection that is made, paused and has deliveries that wait', async () => {
    const site = await test.newSite();
    await openLive(`/sites/${site.host}/integrations`);
    await card('Segment').getByRole('button', { name: 'Connect' }).waitFor();
    await test.connectSegment(site);
    await card('Segment').getByText('Connected', { exact: true }).waitFor();
    await test.succeed(`/sites/${site.host}/connections/segment/pause`, 'POST', undefined);
    await card('Segment').getByText('Paused').waitFor();
    await test.service.refreshSites();
    await test.sendConversion(site, 'ORD-1');
    await card('Segment').getByText('Waiting').waitFor();
    await test.succeed(`/sites/${site.host}/connections/segment/resume`, 'POST', undefined);
    await card('Segment').getByText('Connected', { exact: true }).waitFor();
  });

  it('the conversions show what becomes of those that are listed, and the first one', async () => {
    const site = await test.newDeliveringSite();
    await test.succeed(`/sites/${site.host}/connections/segment/pause`, 'POST', undefined);
    await test.service.refreshSites();
    await openLive(`/sites/${site.host}/conversions`);
    await test.page.getByText('No conversion yet').waitFor();
    await test.sendConversion(site, 'ORD-1');
    await test.row('ORD-1').getByText('0 of 1 delivered, 1 waiting').waitFor();
    await test.succeed(`/sites/${site.host}/connections/segment/resume`, 'POST', undefined);
    await test.row('ORD-1').getByText('1 of 1 delivered').waitFor();
    const asked = requests();
    await test.sendConversion(site, 'ORD-2');
    await test.page.getByRole('button', { name: /^1 new/ }).waitFor();
    expect(asked.filter((path) => path.endsWith('/conversions'))).toEqual([]);
  });

  it('the sync log says how many attempts are new, and which are resolved', async () => {
    const site = await test.newDeliveringSite();
    await test.behave(site, 'refuse');
    await openLive(`/sites/${site.host}/sync-log?status=failed`);
    await test.sendConversion(site, 'ORD-1');
    await test.row('ORD-1').waitFor();
    await test.behave(site, 'ok');
    await test.succeed(`/sites/${site.host}/deliveries/retry`, 'POST', { order: 'ORD-1' });
    await test.row('ORD-1').getByText('resolved by a later attempt').waitFor();
    await test.behave(site, 'refuse');
    await test.sendConversion(site, 'ORD-2');
    await test.click(/^1 new attempts/);
    await test.row('ORD-2').waitFor();
  });

  it('asks for nothing while its tab is hidden, and is up to date when it is shown again', async () => {
    const site = await test.newDeliveringSite();
    await openLive(`/sites/${site.host}/overview`);
    await tile('Conversions').locator('strong').getByText('0', { exact: true }).waitFor();
    await show('hidden');
    const asked = requests();
    for (const order of ['ORD-1', 'ORD-2']) await test.sendConversion(site, order);
    await test.succeed(`/sites/${site.host}/connections/segment/pause`, 'POST', undefined);
    // Longer than any page waits to read something again.
    await eventually(
      () => test.api(`/sites/${site.host}/totals`),
      (reply) => reply.body.conversions === 2,
    );
    await test.page.waitForTimeout(4_000);
    expect(asked).toEqual([]);
    await show('visible');
    await tile('Conversions').locator('strong').getByText('2', { exact: true }).waitFor();
    await test.page.getByText('Segment is paused').waitFor();
  });

  it('reads again only what an event changes', async () => {
    const site = await test.newDeliveringSite();
    await openLive(`/sites/${site.host}/integrations`);
    await card('Segment').getByText('Connected', { exact: true }).waitFor();
    const asked = requests();
    await test.succeed(`/sites/${site.host}/settings`, 'PATCH', { botThreshold: 71 });
    await eventually(
      () => asked.filter((path) => path.endsWith('/attention')).length,
      (count) => count > 0,
    );
    expect(asked.filter((path) => /connections|waiting|platforms/.test(path))).toEqual([]);
  });
});
