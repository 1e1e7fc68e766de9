import { readFileSync } from 'node:fs';
import { jest } from '@jest/globals';
import { eventually } from '../support/service.js';
import { testDashboard } from './dashboard-test.js';

jest.setTimeout(120_000);

const test = testDashboard();
const platformRow = (name: string) =>
  test.page.getByRole('region', { name: 'Platforms' }).getByRole('row').filter({ hasText: name });

describe('conversions in the dashboard', () => {
  it('shows a conversion as it arrives, what happened to it and where it was delivered', async () => {
    const site = await test.newSite();
    await test.connectSegment(site);
    const { page } = test;
    await test.open(`/sites/${site.host}/live?show=conversions&text=ord-1`);
    await page.getByText('live', { exact: true }).waitFor();
    await test.sendConversion(site, 'ORD-1');
    await page.getByRole('link', { name: 'Conversion received' }).click();
    await test.heading('ORD-1');
    await page.getByText('with key “Shop backend”').waitFor();
    await page.getByText('delivered to 1 of 1').waitFor();
    await page.getByRole('region', { name: 'Payload for Segment' }).getByText('ORD-1').waitFor();
    await test.click(/^Send again/);
    const payload = test.dialog().getByRole('region', { name: 'Payload for Segment that would be sent' });
    await payload.getByText('ORD-1').waitFor();
    await test.dialog().getByText('Segment accepted it already.').waitFor();
    await test.dialog().getByRole('button', { name: 'Send to Segment' }).click();
    await test.message('Sent to Segment again');
    await page.getByText('2 attempts').waitFor();
    await test.click('Copy as curl');
    await test.dialog().getByText('X-CC-Api-Key: <key>').waitFor();
    await test.dialog().getByRole('button', { name: 'Close' }).click();
  });

  it('finds a conversion by its order', async () => {
    const site = await test.newSite();
    for (const orderId of ['ORD-1', 'ORD-2']) await test.sendConversion(site, orderId);
    const { page } = test;
    await test.open(`/sites/${site.host}/audit`);
    await test.heading('Audit');
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Page or site' }).fill('ORD-2');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'ORD-2', exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'ORD-1', exact: true }).count()).toBe(0);
  });

  it('shows the totals of the site, and what is left to set up', async () => {
    const site = await test.newSite();
    await test.connectSegment(site);
    for (const orderId of ['ORD-1', 'ORD-2']) await test.sendConversion(site, orderId);
    const { page } = test;
    await test.open(`/sites/${site.host}`);
    await test.heading('Overview');
    const tile = page.locator('.tile').first();
    const row = platformRow('Segment');
    // Numbers come from a projection, which is a moment behind.
    const shown = async () => {
      await test.click('Refresh');
      return `${await tile.textContent()} ${await row.textContent()}`;
    };
    await eventually(shown, (text) => /^Conversions2.*SegmentConnected.*100%2/.test(text), { withinMs: 60_000 });
    await page.getByRole('link', { name: 'Campaign', exact: true }).click();
    expect(page.url()).toBe(`${test.admin.url}/sites/${site.host}/overview?by=campaign`);
  });

  it('solves what needs attention with the button beside it', async () => {
    const site = await test.newSite();
    await test.connectSegment(site);
    await test.succeed(`/sites/${site.host}/connections/segment/pause`, 'POST', undefined);
    await test.open(`/sites/${site.host}/overview?days=1`);
    await test.click('Resume: Segment is paused');
    await test.message('Segment sends again');
    await platformRow('Segment').getByText('Connected').waitFor();
  });

  it('filters the sync log in the address, exports what matches, and shows what a retry would send', async () => {
    const site = await test.newSite();
    await test.connectSegment(site);
    await test.sendConversion(site, 'ORD-2');
    const { page } = test;
    await test.open(`/sites/${site.host}/sync-log`);
    const delivery = page.getByRole('row').filter({ hasText: 'ORD-2' });
    await eventually(
      async () => {
        await test.click('Refresh');
        return delivery.count();
      },
      (count) => count === 1,
      { withinMs: 60_000 },
    );
    await page.getByLabel('Outcome').selectOption('failed');
    await page.getByText('Nothing matches').waitFor();
    expect(page.url()).toBe(`${test.admin.url}/sites/${site.host}/sync-log?status=failed`);
    await test.click('Remove the filters');
    await page.getByLabel('Order or conversion id').fill('ORD-2');
    await page.keyboard.press('Enter');
    await page.getByText('1 matches').waitFor();
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Order or conversion id');
    expect(page.url()).toBe(`${test.admin.url}/sites/${site.host}/sync-log?order=ORD-2`);
    const [download] = await Promise.all([page.waitForEvent('download'), test.click('Export CSV')]);
    const lines = readFileSync((await download.path()) as string, 'utf8').split('\r\n');
    expect(lines).toEqual([
      expect.stringMatching(/^\uFEFFtime,kind,order,event/),
      expect.stringMatching(/,delivery,ORD-2,purchase,segment,delivered,/),
      '',
    ]);
    await test.click('Retry …');
    await test.dialog().getByText('Nothing is to be sent again').waitFor();
    await test.dialog().getByRole('button', { name: 'Close' }).click();
  });
});
