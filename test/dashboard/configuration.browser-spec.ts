import { SITE_PAGES } from '../../src/dashboard/browser/navigation.js';
import { eventually } from '../support/waiting.js';
import { answerWith } from '../support/webhook-receiver.js';
import { testDashboard } from './dashboard-test.js';

/** Buttons that change nothing but what is shown. */
const READING_BUTTONS = /^(?:Refresh|Export CSV|Cop(?:y|ied).*|Show earlier|Pause|Find|Check again)$/;
/** In place of a preview. */
const UNCHANGED = 'Change a setting to see what it would have done in the last 7 days.';

const test = testDashboard();

describe('the configuration of a site in the dashboard', () => {
  it('revokes a key after asking', async () => {
    const { host } = await test.newSite();
    await test.succeed(`/sites/${host}/keys`, 'POST', { name: 'Old system' });
    await test.open(`/sites/${host}/keys`);
    await test.click('Revoke Old system');
    await test.dialog().getByRole('button', { name: 'Revoke' }).click();
    await test.row('Old system').getByText('revoked').waitFor();
  });

  it('rotates a key, both of which are accepted until the time that is shown', async () => {
    const { host, key: old } = await test.newSite();
    await test.open(`/sites/${host}/keys`);
    await test.click('Rotate Shop backend');
    await test.dialog().getByLabel('Both keys are accepted for').selectOption('7 days');
    await test.dialog().getByRole('button', { name: 'Rotate' }).click();
    const issued = await test.dialog().getByRole('region', { name: 'Key' }).textContent();
    await test.dialog().getByRole('button', { name: 'Done' }).click();
    const { body } = await test.api(`/sites/${host}/keys`);
    const [replaced] = body.items.filter(({ newKeyId }: { newKeyId?: string }) => newKeyId !== undefined);
    const row = test.row('until');
    await row.locator(`time[datetime="${replaced.expiresAt}"]`).waitFor();
    await row.getByRole('button', { name: 'Revoke Shop backend' }).waitFor();
    expect(await row.getByRole('button', { name: 'Rotate Shop backend' }).count()).toBe(0);
    await test.service.refreshSites();
    for (const key of [old, issued as string]) await test.sendConversion({ host, key }, `ORD ${key.slice(-4)}`);
  });

  it('refuses the conversions of a site after asking, and accepts them again', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${host}/keys`);
    await test.click('Refuse conversions');
    await test.dialog().getByRole('button', { name: 'Refuse' }).click();
    await page.getByText(`${host} accepts no conversions.`).waitFor();
    expect((await test.api(`/sites/${host}`)).body.inbound).toBe(false);
    await test.click('Accept conversions');
    await page.getByRole('button', { name: 'Refuse conversions' }).waitFor();
    expect((await test.api(`/sites/${host}`)).body.inbound).toBe(true);
  });

  it('sends the test of a source as a trial, and tries changed rules with what was stored of it', async () => {
    const { host } = await test.newSite();
    await test.succeed(`/sites/${host}/inbound-sources/woocommerce`, 'PUT', {});
    await test.open(`/sites/${host}/sources`);
    await test.click('Test WooCommerce');
    await test.dialog().getByRole('button', { name: 'Send' }).click();
    await test.page.getByText('A trial conversion was stored').waitFor();
    await test.row('order.created').getByText('trial').waitFor();
    await test.click('Rules WooCommerce');
    const dialog = test.dialog();
    await dialog.getByLabel('Try it with').selectOption({ index: 0 });
    await dialog.getByText('"converted"').waitFor();
    await dialog.getByLabel('Changes, one rule per line').fill('order.created:when=/status = refunded');
    await dialog.getByText('"condition"').waitFor();
  });

  it('connects a platform with a token, pauses, resumes, tests and disconnects it', async () => {
    const { host } = await test.newSite();
    await test.open(`/sites/${host}/integrations`);
    const card = test.page.getByRole('region', { name: 'Meta' });
    await card.getByRole('button', { name: 'Connect' }).click();
    await test.dialog().getByLabel('Pixel ID').fill('1234567890');
    await test.dialog().getByLabel('Access token', { exact: true }).fill('secret-token');
    await test.dialog().getByRole('button', { name: 'Connect' }).click();
    await card.getByText('Connected', { exact: true }).waitFor();
    expect(await card.textContent()).not.toContain('secret-token');
    await test.open(`/sites/${host}/integrations?connection=meta`);
    await test.dialog().getByRole('heading', { name: 'Meta: settings' }).waitFor();
    await test.page.keyboard.press('Escape');
    await test.dialog().waitFor({ state: 'detached' });
    await test.at(`/sites/${host}/integrations`);
    await card.getByRole('button', { name: 'Pause' }).click();
    await card.getByText('Paused').waitFor();
    await card.getByRole('button', { name: 'Resume' }).click();
    await card.getByText('Connected', { exact: true }).waitFor();
    await test.succeed(`/sites/${host}/connections/meta`, 'PUT', { endpoint: `${test.sandbox.url}/meta` });
    await card.getByRole('button', { name: 'Disconnect' }).click();
    await test.dialog().getByRole('button', { name: 'Disconnect' }).click();
    await card.getByText('Not connected').waitFor();
  });

  it('tells a test that was accepted from one that was refused and from one that sent nothing', async () => {
    const { host } = await test.newSite();
    const endpoint = `${test.sandbox.url}/meta@${host}`;
    const settings = { pixel_id: '1234567890', access_token: 'good-token' };
    const set = (change: object) =>
      test.succeed(`/sites/${host}/connections/meta`, 'PUT', { endpoint, settings: { ...settings, ...change } });
    await set({});
    await test.open(`/sites/${host}/integrations`);
    const card = test.page.getByRole('region', { name: 'Meta' });
    const result = card.getByRole('status');
    const click = () => card.getByRole('button', { name: 'Test' }).click();
    await click();
    await result.getByText('No conversion was sent').waitFor();
    await result.getByText('Checked and right: credentials, pixel').waitFor();
    await result.getByText('Set test_event_code').waitFor();
    await set({ test_event_code: 'TEST12345' });
    await click();
    await result.getByText('A test conversion was sent and accepted').waitFor();
    await set({ access_token: 'bad-token' });
    await click();
    await result.getByText('Refused', { exact: true }).waitFor();
    await result.getByText(/HTTP 4\d\d: 190/).waitFor();
    await result.getByText('Generate a new access token').waitFor();
    expect(await card.textContent()).not.toContain('bad-token');
  });

  it('says at the field what is wrong with a setting', async () => {
    const { host } = await test.newSite();
    await test.open(`/sites/${host}/integrations?connection=meta`);
    await test.dialog().getByLabel('Pixel ID').fill('abc');
    await test.dialog().getByLabel('Access token', { exact: true }).fill('secret');
    await test.dialog().getByRole('button', { name: 'Connect' }).click();
    expect(await test.dialog().getByRole('alert').innerText()).toBe('Not accepted pixel_id: must be digits only');
    await test.dialog().getByText('must be digits only', { exact: true }).waitFor();
  });

  it('connects a platform a second time, under a name', async () => {
    const site = await test.newDeliveringSite();
    const { page } = test;
    await test.open(`/sites/${site.host}/integrations`);
    const card = page.getByRole('region', { name: 'Segment', exact: true });
    await card.getByRole('button', { name: 'Add another' }).click();
    await test.dialog().getByLabel('Name').fill('eu');
    await test.dialog().getByRole('button', { name: 'Continue' }).click();
    await test.dialog().getByLabel('Write key', { exact: true }).fill('second-key');
    await test.dialog().getByRole('button', { name: 'Connect' }).click();
    await page
      .getByRole('region', { name: /^Segment.+eu/ })
      .getByText('Connected', { exact: true })
      .waitFor();
    await test.at(`/sites/${site.host}/integrations`);
    const { body } = await test.api(`/sites/${site.host}/connections`);
    const connected = body.items.filter((item: { connected: boolean }) => item.connected);
    expect(connected.map(({ platform }: { platform: string }) => platform)).toEqual(['segment', 'segment:eu']);
  });

  it('connects a platform by signing in there', async () => {
    const site = await test.newSite();
    const { host } = site;
    // The dialog names events of conversions that are listed.
    await test.sendListedConversion(site, 'ORD-1', 'renewal');
    const { page } = test;
    await test.open(`/sites/${host}/integrations?connection=linkedin`);
    expect(await test.dialog().getByRole('button', { name: 'Sign in at LinkedIn' }).isDisabled()).toBe(true);
    await test.dialog().getByRole('link', { name: 'How to register one' }).waitFor();
    await test.dialog().getByRole('link', { name: 'set it here' }).click();
    await test.click('Set the app of LinkedIn');
    await test.dialog().getByRole('region', { name: 'Redirect URI' }).getByText('/api/v1/oauth/callback').waitFor();
    await test.dialog().getByLabel('Client ID').fill('own-app');
    await test.dialog().getByLabel('Client secret').fill('own-app-secret');
    await test.dialog().getByRole('button', { name: 'Save' }).click();
    await test.message('The app of LinkedIn is set');
    const app = { clientId: 'own-app', clientSecret: 'own-app-secret', endpoint: `${test.sandbox.url}/linkedin` };
    await test.succeed('/oauth-apps/linkedin', 'PUT', app);
    await test.open(`/sites/${host}/integrations`);
    const card = page.getByRole('region', { name: 'LinkedIn' });
    await card.getByRole('button', { name: 'Connect' }).click();
    await test.dialog().getByRole('button', { name: 'Sign in at LinkedIn' }).click();
    await page.getByRole('link', { name: 'Allow', exact: true }).click();
    await test.dialog().getByText('You are signed in at LinkedIn.').waitFor();
    // What the account has can be chosen for an event of the site, too.
    await test.dialog().getByLabel('Sent for purchase').waitFor();
    await test.dialog().getByLabel('Sent for renewal').waitFor();
    const tokens = test.dialog().getByLabel(/^Access token(?: \(optional\))?$/);
    expect(await tokens.count()).toBe(0);
    await test.dialog().getByRole('button', { name: 'Connect' }).click();
    await card.getByText('Connected', { exact: true }).waitFor();
    await test.at(`/sites/${host}/integrations`);
  });

  it('sets the webhook and shows what its receiver answers', async () => {
    const { host } = await test.newSite();
    await test.open(`/sites/${host}/webhook`);
    await test.click('Set the webhook');
    await test.dialog().getByLabel('Address').fill(`${test.receiver.url}/totals`);
    await test.dialog().getByRole('button', { name: 'Save' }).click();
    await test.dialog().getByText('It is shown this once').waitFor();
    await test.dialog().getByRole('button', { name: 'Done' }).click();
    await test.click('Test');
    await test.message(/The receiver answered 20\d/);
    await test.click('Push now');
    await test.message(/The receiver accepted 0 conversions/);
    await test.page.getByText('delivered', { exact: true }).first().waitFor();
    test.receiver.answer = answerWith(500);
    await test.click('Push now');
    await test.message(/The receiver did not accept the push: HTTP 500/);
    test.receiver.answer = answerWith(200);
    await test.click('Rotate the secret');
    await test.dialog().getByRole('button', { name: 'Rotate' }).click();
    await test.dialog().getByRole('region', { name: 'Secret' }).waitFor();
    await test.dialog().getByRole('button', { name: 'Done' }).click();
  });

  it('saves the settings of a site, and names who changed them', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${host}/consent`);
    await page.getByLabel('Consent is required').check();
    await page.getByText(/Would have kept 0 conversions from all platforms/).waitFor();
    await test.click('Save');
    await test.message('Saved');
    await test.open(`/sites/${host}/traffic`);
    await page.getByLabel('Add: Country code').fill('nonsense');
    await page.getByLabel('Add: Country code').press('Enter');
    await page
      .getByRole('alert')
      .filter({ hasText: /country/i })
      .waitFor();
    await test.click('Remove nonsense');
    await page.getByLabel('Add: Country code').fill('FR');
    await page.getByLabel('Add: Country code').press('Enter');
    await page.getByRole('button', { name: 'Remove FR' }).waitFor();
    await test.click('Save: Country code');
    await page.getByRole('button', { name: 'Save: Country code' }).waitFor({ state: 'detached' });
    await page.getByLabel('Threshold').focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText(/Would have removed 0 of 0 visits/).waitFor();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    // Not the message, which may still be that of the list.
    await eventually(
      () => test.api(`/sites/${host}/settings`),
      (reply) => reply.body.botThreshold === 32,
    );
    await test.open(`/sites/${host}/duplicates`);
    await page.getByLabel('Window').fill('2h');
    await page.getByText(/No more and no fewer conversions would have been removed/).waitFor();
    await test.click('Save');
    await test.message('Saved');
    const { body } = await test.api(`/sites/${host}/settings`);
    expect(body).toMatchObject({ botThreshold: 32, consentRequired: true, blockCountries: ['FR'], dedupWindow: '2h' });
    await test.open(`/sites/${host}/audit`);
    await test.row('dedup window: 2h').getByText(test.email).waitFor();
  });

  it('tells what changed settings would have done in the last seven days', async () => {
    const site = await test.newSite();
    for (const orderId of ['ORD-1', 'ORD-1', 'ORD-2']) await test.sendConversion(site, orderId);
    const { page } = test;
    const previews: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/settings/preview')) previews.push(request.postData() ?? '');
    });
    await test.open(`/sites/${site.host}/consent`);
    await page.getByText(UNCHANGED).waitFor();
    await page.getByLabel('Consent is required').check();
    await page.getByLabel('When consent is refused').selectOption('everything');
    await page.getByText('Would have kept 2 conversions from all platforms, instead of 0.').waitFor();
    await test.click('Undo');
    await page.getByText(UNCHANGED).waitFor();
    await test.open(`/sites/${site.host}/traffic`);
    const blocked = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Blocked customers' }) });
    await blocked.getByLabel(/^Add: /).fill('jane@example.com');
    await blocked.getByRole('button', { name: 'Add', exact: true }).click();
    await blocked.getByText('Would have filtered 2 conversions, instead of 0, and counted 0.').waitFor();
    await blocked.getByText(/^As of/).waitFor();
    await test.open(`/sites/${site.host}/duplicates`);
    await page.getByText(UNCHANGED).waitFor();
    await page.getByLabel('Window').fill('0s');
    await page.getByText('1 fewer conversion would have been removed as duplicates: 0, instead of 1.').waitFor();
    expect(previews.length).toBeGreaterThanOrEqual(3);
    expect(previews).not.toContain('{}');
    expect((await test.api(`/sites/${site.host}/settings`)).body).toMatchObject({
      ...{ consentRequired: false, withhold: 'identifiers', blocked: [], dedupWindow: '24h' },
    });
  });

  it('tells what leaves without consent, and withholds everything personal', async () => {
    const site = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${site.host}/consent`);
    const cells = (platform: string) => test.row(platform).first().getByRole('cell').allTextContents();
    await test.row('Meta').waitFor();
    expect(await cells('Meta')).toEqual([
      'Meta',
      'the conversion with email, phone, name, address and customer id, flagged',
      'nothing',
      'nothing',
    ]);
    expect((await cells('Webhook')).slice(2)).toEqual(['the conversion alone, flagged', 'nothing']);
    await page.getByLabel('When consent is refused').selectOption('personal');
    await test.click('Save');
    await test.message('Saved');
    expect((await test.api(`/sites/${site.host}/settings`)).body).toMatchObject({ withhold: 'personal' });
  });

  it('accepts conversions without an email, and refuses optional fields that are not valid, at once', async () => {
    const site = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${site.host}/site`);
    for (const label of ['Accept conversions without an email', /^Refuse a conversion with an optional field/]) {
      await page.getByLabel(label).check();
      await test.message('Saved');
    }
    await eventually(
      () => test.api(`/sites/${site.host}/settings`),
      ({ body }) => body.identifyBy === 'any' && body.strictFields,
    );
    await test.open(`/sites/${site.host}/audit`);
    await test.row('strict fields').first().getByText(test.email).waitFor();
  });

  it('shows what a platform would get while a mapping is edited, and saves it', async () => {
    const site = await test.newDeliveringSite();
    const { page } = test;
    await test.open(`/sites/${site.host}/mapping?platform=segment`);
    const preview = page.getByRole('region', { name: 'Payload' });
    await preview.getByText('"Order Completed"').waitFor();
    await test.click('Add an event');
    await page.getByLabel('Your event').fill('purchase');
    await page.getByLabel('Platform’s event').fill('Bought It');
    await preview.getByText('"Bought It"').waitFor();
    await test.click('Save');
    await test.message('Saved');
    const { body } = await test.api(`/sites/${site.host}/connections`);
    const segment = body.items.find(({ platform }: { platform: string }) => platform === 'segment');
    expect(segment.settings['event.purchase']).toBe('Bought It');
  });

  it('leads from an event that goes nowhere to its mapping', async () => {
    const site = await test.newSite();
    const { page } = test;
    const google = { customer_id: '1234567890', client_id: 'c', client_secret: 's', refresh_token: 'r' };
    const settings = { ...google, 'event.purchase': '111' };
    const endpoint = `${test.sandbox.url}/google_ads`;
    await test.succeed(`/sites/${site.host}/connections/google_ads`, 'PUT', { settings, endpoint });
    await test.service.refreshSites();
    await test.sendConversion(site, 'ORD-1', 'order_completed');
    await test.sendConversion(site, 'ORD-2');
    const health = async () => (await test.api(`/sites/${site.host}/attention`)).body.health;
    await eventually(health, (found) => found === 'warning');
    await test.open(`/sites/${site.host}/overview`);
    await page.getByRole('link', { name: 'Map: 1 event goes nowhere at Google Ads' }).click();
    await test.at(`/sites/${site.host}/mapping?platform=google_ads`);
    const row = test.row('order_completed');
    await row.getByText('Google Ads: not mapped').waitFor();
    await test.row('sent to 1 platform').getByText('purchase').waitFor();
    await row.getByRole('button', { name: 'Map as purchase order_completed' }).click();
    await test.click('Save');
    await test.message('Saved');
    await row.getByText('sent to 1 platform').waitFor();
    expect(await health()).toBe('ok');
    await page.getByRole('navigation').getByRole('link', { name: 'Mapping', exact: true }).waitFor();
  });

  it('exports the events of the site to a file', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${host}/history`);
    await test.click('New job');
    await test.dialog().getByRole('button', { name: 'Start' }).click();
    const row = test.row('Export as csv');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      row.getByRole('link', { name: /Download/ }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^events-.*\.csv$/);
  });

  it('adds a user and a token, each with a secret that is shown once, and changes what a user may do', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    await test.open('/settings');
    await test.click('Add a user');
    await test.dialog().getByLabel('Email').fill('grace@team.example');
    await test.dialog().getByRole('button', { name: 'Add' }).click();
    const link = await test.dialog().getByRole('region', { name: 'Link' }).textContent();
    expect(link).toMatch(/\/sign-in#[\w-]{43}$/);
    await test.dialog().getByRole('button', { name: 'Done' }).click();
    await test.click('Change grace@team.example');
    await test.dialog().getByLabel('Role').selectOption('operator');
    await test.dialog().getByLabel('All sites, also those added later').uncheck();
    await test.dialog().getByLabel(host, { exact: true }).check();
    await test.dialog().getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: `grace@team.example operator ${host} active` }).waitFor();
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Audit' }).click();
    const change = test.row('User changed').filter({ hasText: 'grace@team.example' });
    await change.getByText(test.email).waitFor();
    await page.getByRole('link', { name: 'API tokens' }).click();
    await test.click('Create a token');
    await test.dialog().getByLabel('Name').fill('Terraform');
    await test.dialog().getByRole('button', { name: 'Create' }).click();
    const token = await test.dialog().getByRole('region', { name: 'Token' }).textContent();
    expect((await test.admin.withHeaders({ authorization: `Bearer ${token}` })('/sites')).status).toBe(200);
    await test.dialog().getByRole('button', { name: 'Done' }).click();
    await test.click('Revoke Terraform');
    await test.dialog().getByRole('button', { name: 'Revoke' }).click();
    await test.row('Terraform').getByText('revoked').waitFor();
  });

  it('ends the sessions of a user, and the API tokens only if they are to be revoked', async () => {
    const { cookie, email } = await test.newSession('operator');
    const own = test.admin.withHeaders({ cookie, 'x-cc-csrf': '1' });
    const { body } = await own('/tokens', { method: 'POST', body: { name: 'CRM import', scopes: ['read'] } });
    const statusOfToken = async () =>
      (await test.admin.withHeaders({ authorization: `Bearer ${body.token}` })('/sites')).status;
    await test.open('/settings/tokens');
    const row = test.row('CRM import');
    await row.getByRole('cell', { name: email, exact: true }).waitFor();
    await test.open('/settings/users');
    await test.click(`New link for ${email}`);
    await test.click('End the sessions');
    await test.dialog().getByText('1 API token of this user can still be used').waitFor();
    await test.at('/settings/users');
    expect([(await own('/session')).status, await statusOfToken()]).toEqual([401, 200]);
    await test.click('Done');
    await test.click(`New link for ${email}`);
    await test.dialog().getByLabel('Also revoke the API tokens').check();
    await test.click('End the sessions');
    await test.dialog().getByText('No API token of this user is valid').waitFor();
    await test.at('/settings/users');
    expect(await statusOfToken()).toBe(401);
    await test.click('Done');
    await test.open('/settings/tokens');
    await row.getByText('revoked', { exact: true }).waitFor();
  });

  it('shows an analyst what may be read, and nothing to change it with', async () => {
    const site = await test.newDeliveringSite();
    await test.sendConversion(site, 'ORD-1');
    const { cookie } = await test.newSession('analyst', [site.host]);
    await test.openPage(cookie);
    const { page } = test;
    for (const { page: name } of SITE_PAGES) {
      await test.open(`/sites/${site.host}/${name}`);
      await test.loaded();
      const buttons = await page.locator('main button').allTextContents();
      expect([name, buttons.filter((text) => !READING_BUTTONS.test(text.trim()))]).toEqual([name, []]);
      expect([name, await page.locator('main :is([type=checkbox], [type=range]):enabled').count()]).toEqual([name, 0]);
    }
    await test.open(`/sites/${site.host}/conversions?order=ORD-1`);
    await page.getByRole('link', { name: 'ORD-1', exact: true }).click();
    await test.heading('ORD-1');
    await page.getByText('•••').first().waitFor({ state: 'attached' });
    await test.open('/settings/users');
    await page.getByText('Only administrators manage users').waitFor();
    await test.open('/settings/audit');
    await page.getByText('Only administrators see who changed users').waitFor();
    await test.open('/settings');
    await test.heading('API tokens');
    expect(await page.getByLabel('Site').textContent()).toBe(site.host);
  });

  it('shows an operator of a site everything of it, and nothing of the installation', async () => {
    const site = await test.newSite();
    await test.sendConversion(site, 'ORD-1');
    const { cookie } = await test.newSession('operator', [site.host]);
    await test.openPage(cookie);
    const { page } = test;
    await test.open(`/sites/${site.host}/keys?dialog=new`);
    await test.dialog().getByLabel('Name').fill('CRM');
    await test.dialog().getByRole('button', { name: 'Create' }).click();
    await test.dialog().getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Revoke CRM' }).waitFor();
    await test.open(`/sites/${site.host}/conversions?order=ORD-1`);
    await page.getByRole('link', { name: 'ORD-1', exact: true }).click();
    await test.heading('ORD-1');
    await test.loaded();
    expect(await page.getByText('•••').count()).toBe(0);
    await test.open('/settings');
    await test.heading('API tokens');
    expect(await page.getByRole('navigation', { name: 'Settings' }).textContent()).toBe('API tokens');
    expect(await page.getByLabel('Site').textContent()).toBe(site.host);
  });
});
