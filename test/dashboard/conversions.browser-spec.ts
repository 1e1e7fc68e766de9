import { buffer } from 'node:stream/consumers';
import { eventually } from '../support/waiting.js';
import { testDashboard } from './dashboard-test.js';

const test = testDashboard();
const platformRow = (name: string) =>
  test.page.getByRole('region', { name: 'Platforms' }).getByRole('row').filter({ hasText: name });

/** Refreshes until the list has so many rows with a text. */
const shownLines = (text: string, expected: number) =>
  eventually(
    async () => {
      await test.click('Refresh');
      return test.row(text).count();
    },
    (count) => count === expected,
  );

describe('conversions in the dashboard', () => {
  it('shows a conversion as it arrives, what happened to it and where it was delivered', async () => {
    const site = await test.newDeliveringSite();
    const { page } = test;
    await test.open(`/sites/${site.host}/live?show=conversions&text=ord-1`);
    await page.getByText('live', { exact: true }).waitFor();
    await test.sendConversion(site, 'ORD-1');
    await page.getByRole('link', { name: 'Conversion received' }).click();
    await test.heading('ORD-1');
    await page.getByText('with key “Shop backend”').waitFor();
    await page.getByText('delivered to 1 of 1').waitFor();
    await page.getByRole('region', { name: 'Payload for Segment' }).getByText('ORD-1').waitFor();
    await test.click('Request as curl: Segment');
    const request = test.dialog().getByRole('region', { name: 'Request to Segment' });
    await request.getByText('-u "$WRITE_KEY"').waitFor();
    await test.dialog().getByText('write_key of the connection.').waitFor();
    await test.dialog().getByRole('button', { name: 'Close' }).click();
    await test.dialog().waitFor({ state: 'detached' });
    await test.click(/^Send again/);
    const payload = test.dialog().getByRole('region', { name: 'Payload for Segment that would be sent' });
    await payload.getByText('ORD-1').waitFor();
    await test.dialog().getByText('Segment accepted it already.').waitFor();
    await test.dialog().getByRole('button', { name: 'Send to Segment' }).click();
    await test.dialog().getByText('1 delivery requested: 1 accepted.').waitFor();
    await test.dialog().getByRole('button', { name: 'Close' }).click();
    await page.getByText('2 attempts').waitFor();
    await test.click('Copy as curl');
    await test.dialog().getByText('X-CC-Api-Key: <key>').waitFor();
    await test.dialog().getByRole('button', { name: 'Close' }).click();
  });

  it('offers no request of a trial, which was not sent', async () => {
    const site = await test.newDeliveringSite();
    const { key } = await test.succeed(`/sites/${site.host}/keys`, 'POST', { name: 'Trial', trial: true });
    await test.service.refreshSites();
    await test.sendListedConversion({ ...site, key }, 'ORD-1');
    const { page } = test;
    await test.open(`/sites/${site.host}/conversions?order=ORD-1`);
    await page.getByRole('link', { name: 'ORD-1', exact: true }).click();
    await page.getByRole('region', { name: 'Payload for Segment' }).getByText('ORD-1').waitFor();
    expect(await page.getByRole('button', { name: /^Request as curl/ }).count()).toBe(0);
  });

  it('finds a conversion by its order', async () => {
    const site = await test.newSite();
    for (const orderId of ['ORD-1', 'ORD-2']) await test.sendConversion(site, orderId);
    const { page } = test;
    await test.open(`/sites/${site.host}/audit`);
    await test.heading('Audit');
    await page.keyboard.press('/');
    const search = page.getByRole('combobox', { name: /^Order, conversion/ });
    await search.fill('ORD-3');
    await test.dialog().getByText('Nothing found.').waitFor();
    await search.fill('ORD-2');
    await test.dialog().getByRole('option', { name: 'Order ORD-2 purchase · delivered nowhere conversion' }).waitFor();
    await page.keyboard.press('Enter');
    await test.heading('ORD-2');
  });

  it('finds a conversion by an email, of which only the hash leaves the browser, and a platform by its name', async () => {
    const site = await test.newDeliveringSite();
    await test.sendConversion(site, 'ORD-1', 'purchase', { email: 'ada@example.com', phone: '+49 30 901820' });
    const { page } = test;
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
    await test.open(`/sites/${site.host}/audit`);
    await test.heading('Audit');
    await page.keyboard.press('/');
    const search = page.getByRole('combobox', { name: /^Order, conversion/ });
    await search.pressSequentially(' Ada@Example.com');
    const hit = (by: string) =>
      test
        .dialog()
        .getByRole('option', { name: `Order ORD-1 purchase · 1 of 1 delivered · by ${by}` })
        .waitFor();
    await hit('email');
    expect(sent.filter((request) => /\bada\b/i.test(request))).toEqual([]);
    expect(sent.some((request) => /conversions\/find \{"hash":"[0-9a-f]{64}"\}/.test(request))).toBe(true);
    await search.fill('+49 30 901820');
    await hit('phone');
    await search.fill('segment');
    await test
      .dialog()
      .getByRole('option', { name: /^Segment .* platform$/ })
      .click();
    await test.at(`/sites/${site.host}/sync-log?platform=segment`);
  });

  it('shows the totals of the site, and what is left to set up', async () => {
    const site = await test.newDeliveringSite();
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
    await eventually(shown, (text) => /^Conversions2.*SegmentConnected.*100%2/.test(text));
    await page.getByRole('link', { name: 'Campaign', exact: true }).click();
    await test.at(`/sites/${site.host}/overview?by=campaign`);
  });

  it('shows which fields were sent and not used', async () => {
    const site = await test.newDeliveringSite();
    const wrong = { transaction_id: '7', gift_wrap: true, country: 'Atlantis' };
    for (const orderId of ['ORD-1', 'ORD-2']) await test.sendConversion(site, orderId, 'purchase', wrong);
    await test.sendConversion(site, 'ORD-3', 'purchase', { transaction_id: '7' });
    const { page } = test;
    await test.open(`/sites/${site.host}/overview`);
    const panel = page.getByRole('region', { name: 'Fields not used' });
    const shown = async () => {
      await test.click('Refresh');
      await test.loaded();
      return (await panel.getByRole('row').allTextContents()).join('\n');
    };
    const text = await eventually(shown, (rows) => rows.includes('transaction_id3'));
    expect(text).toMatch(/transaction_id3No field has this name: send orderId/);
    expect(text).toMatch(/country2Not valid as sent/);
    expect(text).toMatch(/Other names2No fields/);
    const other = await test.newDeliveringSite();
    await test.open(`/sites/${other.host}/overview`);
    await test.loaded();
    expect(await panel.count()).toBe(0);
  });

  it('shows what the platforms accepted of all sites together', async () => {
    const [one, other] = [await test.newSite(), await test.newSite()];
    const accepted = async () => {
      await test.open('/');
      await test.loaded();
      const text = (await platformRow('Segment').allTextContents()).join();
      return Number(/%(\d+)/.exec(text)?.[1] ?? 0);
    };
    // Other tests have sent conversions to the platform as well.
    const before = await accepted();
    for (const site of [one, other]) {
      await test.connectSegment(site);
      await test.sendConversion(site, 'ORD-1');
    }
    await eventually(accepted, (count) => count >= before + 2);
  });

  it('solves what needs attention with the button beside it', async () => {
    const site = await test.newDeliveringSite();
    await test.succeed(`/sites/${site.host}/connections/segment/pause`, 'POST', undefined);
    await test.open(`/sites/${site.host}/overview?days=1`);
    await test.click('Resume: Segment is paused');
    await test.message('Segment sends again');
    await platformRow('Segment').getByText('Connected').waitFor();
  });

  it('shows the worst first, and counts it in the sidebar and in the title', async () => {
    const site = await test.newDeliveringSite();
    const { page } = test;
    const google = { customer_id: '1234567890', client_id: 'c', client_secret: 's', refresh_token: 'r' };
    const connections = `/sites/${site.host}/connections`;
    const settings = { ...google, 'event.purchase': '111' };
    await test.succeed(`${connections}/google_ads`, 'PUT', { settings, endpoint: `${test.sandbox.url}/google_ads` });
    const expired = { pixel_id: '1', access_token: 't', access_token_expires: '2020-01-01' };
    await test.succeed(`${connections}/meta`, 'PUT', { settings: expired, endpoint: `${test.sandbox.url}/meta` });
    await test.service.refreshSites();
    await test.sendConversion(site, 'ORD-1', 'order_completed');
    const kinds = async () => {
      const { body } = await test.api(`/sites/${site.host}/attention`);
      return body.items.map(({ kind }: { kind: string }) => kind).join();
    };
    await eventually(kinds, (found) => found === 'connection_expiring,events_unmapped');
    await test.open(`/sites/${site.host}/overview?days=1`);
    const list = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem');
    await list.first().waitFor();
    expect(await list.evaluateAll((items) => items.map(({ className }) => className))).toEqual(['error', 'warning']);
    await list.last().getByText('1 event goes nowhere at Google Ads').waitFor();
    const link = (name: RegExp) => page.getByRole('navigation').getByRole('link', { name });
    await link(/^Integrations 1 needs attention$/).waitFor();
    await link(/^Mapping 1 needs attention$/).waitFor();
    expect(await page.title()).toBe('(2) Overview · Clean Conversions');
    await platformRow('Meta').getByText('Sign in again').waitFor();
    await platformRow('Google Ads').getByText('Events unmapped').waitFor();
    await test.open(`/sites/${site.host}/integrations`);
    const cards = page.locator('.card:not(.off)');
    await cards.nth(2).waitFor();
    const titles = async () => (await cards.getByRole('heading').allTextContents()).join();
    await eventually(titles, (found) => found === 'Meta,Google Ads,Segment');
  });

  it('shows a check that warns as what needs attention, and not as well', async () => {
    const site = await test.newDeliveringSite();
    await test.succeed(`/sites/${site.host}/connections/segment/pause`, 'POST', undefined);
    await test.open('/settings/health');
    await test.page.locator('.panel-head').getByText('needs attention').waitFor();
    await test.row('attention').getByText('warning', { exact: true }).waitFor();
    await test.row('attention').getByText(`connection_paused (segment of ${site.host})`).waitFor();
  });

  it('filters the sync log in the address, exports what matches, and shows what a retry would send', async () => {
    const site = await test.newDeliveringSite();
    await test.sendConversion(site, 'ORD-2');
    const { page } = test;
    await test.open(`/sites/${site.host}/sync-log`);
    await shownLines('ORD-2', 1);
    const held = await test.hold('**/sync-log?*status=failed*');
    await page.getByLabel('Outcome').selectOption('failed');
    await page.locator('[aria-busy=true]').filter({ hasText: 'ORD-2' }).waitFor();
    held.release();
    await page.getByText('Nothing matches').waitFor();
    await test.at(`/sites/${site.host}/sync-log?status=failed`);
    await test.click('Remove the filters');
    await page.getByLabel('Order or conversion id').fill('ORD-2');
    await page.keyboard.press('Enter');
    await page.getByText('1 matches').waitFor();
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Order or conversion id');
    await test.at(`/sites/${site.host}/sync-log?order=ORD-2`);
    const [download] = await Promise.all([page.waitForEvent('download'), test.click('Export CSV')]);
    const lines = (await buffer(await download.createReadStream())).toString('utf8').split('\r\n');
    expect(lines).toEqual([
      expect.stringMatching(/^\uFEFFtime,kind,order,event/),
      expect.stringMatching(/,delivery,ORD-2,purchase,segment,delivered,/),
      '',
    ]);
    await test.click('Retry …');
    await test.dialog().getByText('Nothing is to be sent again').waitFor();
    await test.dialog().getByRole('button', { name: 'Close' }).click();
  });

  it('shows the outcomes on a narrow screen without scrolling sideways', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    const line = { kind: 'delivery', platform: 'microsoft_ads', event: 'purchase', attempt: 1, durationMs: 9 };
    const orders = ['ORD-48054', 'shop-2026-11-000000048055'];
    const items = orders.map((orderId, index) => ({
      ...{ ...line, orderId, position: 9 - index, time: '2026-11-17T12:00:00.000Z' },
      ...{ status: 'delivered', conversionId: '01a1e5b9-3fea-7b69-abe9-1a3f1faf7078', reason: 'a longer reason' },
    }));
    await page.route('**/sync-log?*', (route) => route.fulfill({ json: { items } }));
    await page.setViewportSize({ width: 360, height: 800 });
    await test.open(`/sites/${host}/sync-log`);
    const badges = page.getByRole('region', { name: 'Attempts' }).getByText('delivered', { exact: true });
    await badges.nth(1).waitFor();
    for (const badge of await badges.all()) {
      const box = await badge.boundingBox();
      expect((box?.x ?? 360) + (box?.width ?? 0)).toBeLessThanOrEqual(347);
    }
  });

  it('sends what failed for a reason again, after a preview', async () => {
    const site = await test.newDeliveringSite();
    await test.behave(site, 'refuse');
    for (const orderId of ['ORD-1', 'ORD-2']) await test.sendConversion(site, orderId);
    const { page } = test;
    await test.open(`/sites/${site.host}/sync-log`);
    await shownLines('refused', 2);
    await test.behave(site, 'ok');
    await page.getByLabel('Reason', { exact: true }).fill('no such reason');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing matches').waitFor();
    await page.getByLabel('Reason', { exact: true }).fill('MALFORMED');
    await page.keyboard.press('Enter');
    await page.getByText('2 match').waitFor();
    await page.getByLabel('Event', { exact: true }).fill('purchase');
    await page.keyboard.press('Enter');
    await test.at(`/sites/${site.host}/sync-log?reason=MALFORMED&event=purchase`);
    await test.loaded();
    await page.getByText('2 match').waitFor();
    await test.click('Retry …');
    await test.dialog().getByText('2 deliveries would be sent now.').waitFor();
    await test.dialog().getByRole('button', { name: 'Send 2 again' }).click();
    await test.message('2 deliveries are sent again');
    await test.dialog().getByText('2 deliveries requested: 2 accepted.').waitFor();
    await test.dialog().getByRole('button', { name: 'Close' }).click();
    await test.dialog().waitFor({ state: 'detached' });
    await test.click('Remove the filters');
    await shownLines('delivered', 2);
    await shownLines('resolved by a later attempt', 2);
  });

  it('says which of what was sent again is refused once more, and why', async () => {
    const site = await test.newDeliveringSite();
    await test.behave(site, 'refuse');
    await test.sendConversion(site, 'ORD-1');
    await test.open(`/sites/${site.host}/sync-log`);
    await shownLines('refused', 1);
    await test.click('Retry …');
    await test.dialog().getByRole('button', { name: 'Send 1 again' }).click();
    await test.dialog().getByText('1 delivery requested: 1 refused.').waitFor();
    await test.dialog().getByText('1 delivery refused by Segment: malformed JSON').waitFor();
    await test.dialog().getByRole('button', { name: 'Close' }).click();
    await shownLines('refused', 2);
    expect(await test.row('resolved by a later attempt').count()).toBe(0);
  });

  it('says that a preview which took a minute is not complete, and sends no more than it looked at', async () => {
    const site = await test.newDeliveringSite();
    await test.behave(site, 'refuse');
    for (const orderId of ['ORD-1', 'ORD-2']) await test.sendConversion(site, orderId);
    const { page } = test;
    // The minute ends when the test says so.
    await page.addInitScript(`{
      const minute = new AbortController();
      const timeout = AbortSignal.timeout;
      AbortSignal.timeout = (ms) => (ms === 60_000 ? minute.signal : timeout.call(AbortSignal, ms));
      globalThis.endMinute = () => minute.abort();
    }`);
    await test.open(`/sites/${site.host}/sync-log`);
    await shownLines('refused', 2);
    await test.behave(site, 'ok');
    // Few attempts in each request, of which the first is under way when the minute ends.
    const requests: { dryRun: boolean }[] = [];
    await page.route('**/deliveries/retry', async (route) => {
      const body = { ...route.request().postDataJSON(), limit: 1 };
      requests.push(body);
      if (body.dryRun) await page.evaluate('endMinute()');
      await route.continue({ postData: JSON.stringify(body) });
    });
    await test.click('Retry …');
    const note = 'The search stopped after 1 minute, and not all attempts were looked at: choose a shorter time for';
    await test.dialog().getByText(note).waitFor();
    await test.dialog().getByText('1 delivery would be sent now.').waitFor();
    expect(requests).toMatchObject([{ dryRun: true }]);
    await test.dialog().getByRole('button', { name: 'Send 1 again' }).click();
    await test.message('1 delivery is sent again');
    await test.dialog().getByText('1 delivery requested: 1 accepted.').waitFor();
    await test.dialog().getByRole('button', { name: 'Close' }).click();
    await shownLines('delivered', 1);
    expect(await test.row('refused').count()).toBe(2);
  });

  it('searches on where the first page of a search is empty, and may export and retry what it has not found yet', async () => {
    const site = await test.newDeliveringSite();
    await test.behave(site, 'refuse');
    await test.sendConversion(site, 'ORD-1');
    const { page } = test;
    await test.open(`/sites/${site.host}/sync-log`);
    await shownLines('refused', 1);
    const held = await test.hold('**/sync-log?*reason=MALFORMED*');
    // A search that has looked at a part of the log in its time answers so.
    const searched = Number.MAX_SAFE_INTEGER;
    await page.route('**/sync-log?*reason=MALFORMED*', async (route) => {
      const { searchParams } = new URL(route.request().url());
      return searchParams.has('cursor') ? route.fallback() : route.fulfill({ json: { items: [], next: searched } });
    });
    await page.getByLabel('Reason', { exact: true }).fill('MALFORMED');
    await page.keyboard.press('Enter');
    await page.getByText('none found so far').waitFor();
    await page.getByRole('button', { name: 'Searching …' }).waitFor();
    for (const name of ['Export CSV', 'Retry …'])
      expect([name, await page.getByRole('button', { name }).isEnabled()]).toEqual([name, true]);
    held.release();
    await page.getByText('1 matches').waitFor();
    await test.row('ORD-1').waitFor();
  });

  it('lists conversions with what became of them, by filters that are part of the address', async () => {
    const site = await test.newDeliveringSite();
    const { page } = test;
    await test.sendConversion(site, 'ORD-1');
    await test.behave(site, 'refuse');
    await test.sendConversion(site, 'ORD-2', 'lead', { source: 'phone_call' });
    const path = `/sites/${site.host}/conversions`;
    await test.open(path);
    await test.row('ORD-1').getByText('1 of 1 delivered').waitFor();
    await eventually(
      async () => {
        await test.click('Refresh');
        return test.row('ORD-2').getByText('0 of 1 delivered, 1 refused').count();
      },
      (count) => count === 1,
    );
    await test.row('ORD-2').getByText('Segment: refused').waitFor();
    await test.row('ORD-2').getByText('phone call').waitFor();
    await page.getByLabel('Outcome').selectOption('refused');
    await test.at(`${path}?outcome=refused`);
    await page.getByText('1 matches').waitFor();
    expect([await test.row('ORD-1').count(), await test.row('ORD-2').count()]).toEqual([0, 1]);
    await page.getByLabel('Event', { exact: true }).fill('purchase');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing matches').waitFor();
    await test.click('Remove the filters');
    await test.at(path);
    await page.getByLabel('Source', { exact: true }).fill('phone_call');
    await page.keyboard.press('Enter');
    await page.getByText('1 matches').waitFor();
    await test.open(`${path}?outcome=delivered&connection=segment&span=24h`);
    await test.row('ORD-1').waitFor();
    await page.getByText('1 matches').waitFor();
    await test.click('Export CSV');
    await test.heading('History');
    await test.row('Export of conversions as csv').getByText('1 conversion').waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: /Download/ }).click(),
    ]);
    const text = String(await buffer(await file.createReadStream()));
    expect(text).toContain('ORD-1');
    expect(text).not.toContain('ORD-2');
  });

  it('says how many conversions have arrived, and lists them when it is asked to', async () => {
    const site = await test.newSite();
    const { page } = test;
    await test.sendConversion(site, 'ORD-1');
    await test.open(`/sites/${site.host}/conversions?event=purchase`);
    await test.row('ORD-1').waitFor();
    await test.sendConversion(site, 'ORD-2', 'lead');
    await test.sendConversion(site, 'ORD-3');
    await test.sendConversion(site, 'ORD-4');
    await page.getByRole('button', { name: /^2 new/ }).waitFor();
    expect(await test.row('ORD-3').count()).toBe(0);
    await test.click(/^2 new/);
    await test.row('ORD-4').waitFor();
    await test.row('ORD-3').waitFor();
    expect(await test.row('ORD-2').count()).toBe(0);
    await page.getByRole('button', { name: /^2 new/ }).waitFor({ state: 'detached' });
  });

  it('pauses the live events, and lists those with a text', async () => {
    const site = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${site.host}/live?show=conversions`);
    await page.getByText('live', { exact: true }).waitFor();
    await test.sendConversion(site, 'ORD-1');
    await test.row('ORD-1').waitFor();
    await test.click('Pause');
    await page.getByText('paused', { exact: true }).waitFor();
    await test.sendConversion(site, 'ORD-2');
    await page.getByRole('button', { name: 'Continue (1 new)' }).waitFor();
    expect(await test.row('ORD-2').count()).toBe(0);
    await test.click('Continue (1 new)');
    await test.row('ORD-2').waitFor();
    await page.getByLabel('Text in the event').fill('ord-2');
    await test.row('ORD-1').waitFor({ state: 'detached' });
    expect(await test.row('ORD-2').count()).toBe(1);
    await test.at(`/sites/${site.host}/live?show=conversions&text=ord-2`);
    await page.getByLabel('Show').selectOption('Conversion received');
    await test.at(`/sites/${site.host}/live?show=conversion.received.v1&text=ord-2`);
    await test.row('ORD-2').waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await test.sendConversion(site, 'ORD-3');
    await test.sendConversion(site, 'ORD-20');
    await test.row('ORD-20').waitFor();
    expect(await test.row('ORD-3').count()).toBe(0);
  });
});
