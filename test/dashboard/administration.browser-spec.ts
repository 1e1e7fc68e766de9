import { PASSWORD } from '../support/admin.js';
import { eventually } from '../support/waiting.js';
import { testDashboard } from './dashboard-test.js';

const test = testDashboard();

describe('erasures in the dashboard', () => {
  it('counts what is stored about a person, erases it after asking, and proves it', async () => {
    const site = await test.newSite();
    await test.sendConversion(site, 'ORD-1');
    const { page } = test;
    await test.open(`/sites/${site.host}/erasures`);
    await page.getByText('Nothing was erased yet').waitFor();
    await page.getByLabel('Email').fill('Jane@example.com');
    await test.click('Count what is stored');
    await page.getByText('the personal parts of 1 event').waitFor();
    // An address is personal data, which addresses of pages, histories and logs must not contain.
    expect(page.url()).toBe(`${test.admin.url}/sites/${site.host}/erasures`);
    await test.click('Erase …');
    await test.dialog().getByText(`The files of exports of ${site.host} are deleted as well`).waitFor();
    await test.dialog().getByRole('button', { name: 'Erase' }).click();
    const proof = page.getByRole('region', { name: 'Proof' });
    await proof.getByText('Stored about the person afterwards: nothing').waitFor();
    await test.row('a person').getByText(test.email).waitFor();
    const { body } = await test.api(`/sites/${site.host}/erasures`);
    expect(body.items).toMatchObject([{ events: 1 }]);
    expect(await proof.textContent()).toContain(body.items[0].id);
    expect(await page.locator('main').textContent()).not.toMatch(/jane@example/i);
    await page.getByLabel('Email').fill('jane@example.com');
    await test.click('Count what is stored');
    await page.getByText('An erasure is recorded all the same').waitFor();
  });

  it('says what is wrong with an address', async () => {
    const site = await test.newSite();
    await test.open(`/sites/${site.host}/erasures`);
    await test.page.getByLabel('Email').fill('jane@shop');
    await test.click('Count what is stored');
    await test.page.getByRole('alert').getByText('This is not an email address.').waitFor();
  });
});

describe('a site in the dashboard', () => {
  it('gets another host and a country, and loses the host after asking', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    const alias = `www.${host}`;
    await test.open(`/sites/${host}/site`);
    await page.getByLabel('Add: Host').fill(alias);
    await test.click('Add');
    await page.getByLabel('Country').selectOption('Germany (DE)');
    await test.message('Saved');
    await eventually(
      () => test.api(`/sites/${host}/settings`),
      ({ body }) => body.country === 'DE',
    );
    await test.click(`Remove ${alias}`);
    await test.dialog().getByText(`Conversions and visits that are sent to ${alias} are refused at once.`).waitFor();
    expect((await test.api(`/sites/${host}`)).body.aliases).toEqual([alias]);
    await test.dialog().getByRole('button', { name: 'Remove' }).click();
    await test.dialog().waitFor({ state: 'detached' });
    await page.getByText('None.').waitFor();
    expect((await test.api(`/sites/${host}`)).body.aliases).toEqual([]);
  });

  it('is paused after asking, and resumed at once', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${host}/site`);
    await test.click(`Pause ${host} …`);
    await test.dialog().getByRole('button', { name: 'Pause' }).click();
    await page.getByText(`${host} is paused.`).waitFor();
    expect((await test.api(`/sites/${host}`)).body.paused).toBe(true);
    await test.click('Resume');
    await page.getByRole('button', { name: `Pause ${host} …` }).waitFor();
    expect((await test.api(`/sites/${host}`)).body.paused).toBeUndefined();
  });

  it('is removed only after its name was typed', async () => {
    const { host } = await test.newSite();
    const { host: other } = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${host}/site`);
    await test.click(`Remove ${host} …`);
    const remove = test.dialog().getByRole('button', { name: 'Remove the site' });
    expect(await remove.isDisabled()).toBe(true);
    await test.dialog().getByLabel(`Type ${host} to confirm`).fill(other);
    expect(await remove.isDisabled()).toBe(true);
    await test.dialog().getByLabel(`Type ${host} to confirm`).fill(host);
    await remove.click();
    await test.message(`${host} is removed`);
    await test.at('/');
    expect((await test.api(`/sites/${host}`)).status).toBe(404);
    await eventually(
      () => page.getByLabel('Site').textContent(),
      (text) => text?.includes(other) === true && !text.includes(host),
    );
  });
});

describe('the account in the dashboard', () => {
  it('changes the password, which ends the other sessions', async () => {
    const { cookie, email } = await test.newSession('analyst');
    const another = await test.admin.anonymous('/session', { method: 'POST', body: { email, password: PASSWORD } });
    expect(another.status).toBe(200);
    await test.openPage(cookie);
    const { page } = test;
    await test.open('/');
    await page.getByRole('link', { name: /Account/ }).click();
    await test.heading('Account');
    await page.getByText('this browser and 1 other').waitFor();
    const next = 'another horse battery staple';
    const fill = async (current: string, repeated: string) => {
      await page.getByLabel('Current password').fill(current);
      await page.getByLabel('New password', { exact: true }).fill(next);
      await page.getByLabel('New password again').fill(repeated);
    };
    const change = page.getByRole('button', { name: 'Change the password' });
    await fill('wrong', 'different');
    await page.getByText('The passwords differ.').waitFor();
    expect(await change.isDisabled()).toBe(true);
    await fill('wrong', next);
    await change.click();
    await page.getByRole('alert').getByText('The current password is wrong.').waitFor();
    await fill(PASSWORD, next);
    await change.click();
    await test.message('Your password is changed');
    await page.getByText('this browser only').waitFor();
    const signIn = (password: string) =>
      test.admin.anonymous('/session', { method: 'POST', body: { email, password } });
    expect([(await signIn(PASSWORD)).status, (await signIn(next)).status]).toEqual([401, 200]);
  });

  it('signs out the other browsers, and then all of them', async () => {
    const { cookie, email } = await test.newSession('analyst');
    await test.admin.anonymous('/session', { method: 'POST', body: { email, password: PASSWORD } });
    await test.openPage(cookie);
    const { page } = test;
    await test.open('/account');
    await test.click('Sign out the others');
    await test.dialog().getByText('1 other session ends at once').waitFor();
    await test.dialog().getByRole('button', { name: 'Sign out the others' }).click();
    await page.getByText('this browser only').waitFor();
    const own = test.admin.withHeaders({ cookie, 'x-cc-csrf': '1' });
    expect((await own('/sessions')).body.items).toMatchObject([{ current: true }]);
    await test.click('Sign out everywhere');
    await test.dialog().getByRole('button', { name: 'Sign out everywhere' }).click();
    await test.heading('Sign in');
    expect((await own('/session')).status).toBe(401);
  });
});

describe('the installation in the dashboard', () => {
  it('removes an OAuth app after asking', async () => {
    await test.succeed('/oauth-apps/reddit', 'PUT', { clientId: 'own-app', clientSecret: 'own-app-secret' });
    await test.open('/settings/oauth-apps');
    await test.row('own-app').waitFor();
    await test.click('Remove the app of Reddit');
    await test.dialog().getByText('Connections keep working with the tokens that they have').waitFor();
    await test.dialog().getByRole('button', { name: 'Remove' }).click();
    await test.message('The app of Reddit is removed');
    await test.row('Reddit').getByText('no app').waitFor();
    expect((await test.api('/oauth-apps/reddit')).body.clientId).toBeUndefined();
  });

  it('tells a webhook of alerts, tests it, pauses it and removes it, and changes a rule', async () => {
    const { page } = test;
    await test.open('/settings/alerts');
    await page.getByText('No one is told').waitFor();
    await test.click('Add a channel');
    await test.dialog().getByLabel('Kind').selectOption('Webhook');
    await test.dialog().getByLabel('URL').fill(`${test.receiver.url}/alerts`);
    await test.dialog().getByLabel('Name').fill('On call');
    await test.dialog().getByRole('button', { name: 'Add' }).click();
    await test.dialog().getByText('It is shown this once.').waitFor();
    await test.dialog().getByRole('button', { name: 'Done' }).click();
    await test.row('On call').getByText('active', { exact: true }).waitFor();
    await test.click('Send a test On call');
    await test.message('The test was accepted');
    expect(JSON.parse(test.receiver.callsTo('/alerts')[0]?.body ?? '').type).toBe('alert.test');
    await test.click('Pause On call');
    await test.row('On call').getByText('paused', { exact: true }).waitFor();
    await page.getByLabel('Silence, in usual gaps').fill('20');
    await test.click('Save');
    await eventually(async () => (await test.api('/alerts/rules')).body.silentGaps, 20);
    await test.click('Remove On call');
    await test.dialog().getByText('What waits to be sent to it is not sent.').waitFor();
    await test.dialog().getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No one is told').waitFor();
  });

  it('says which projection is parked, and rebuilds it after asking', async () => {
    const { page } = test;
    await test.api('/projections');
    const park = `UPDATE cc.projections SET parked = true, reason = 'event 1 at position 7 (a.v1): no field' WHERE name = 'key_usage'`;
    await test.admin.postgres.pool.query(park);
    await test.open('/settings/projections');
    await test.row('key_usage').getByText('parked', { exact: true }).waitFor();
    await test.row('key_usage').getByText('It stopped at event 1 at position 7').waitFor();
    await test.click('Rebuild key_usage');
    await test.dialog().getByText('The whole log is read again').waitFor();
    await test.dialog().getByRole('button', { name: 'Rebuild' }).click();
    await test.message('key_usage is being rebuilt');
    await test.row('key_usage').getByText('running', { exact: true }).waitFor();
    await page.getByText('none is parked').waitFor();
  });

  it('disables a user after asking, and enables it at once', async () => {
    const { cookie, email } = await test.newSession('analyst');
    await test.open('/settings/users');
    await test.click(`Disable ${email}`);
    await test.dialog().getByText('signed out everywhere at once').waitFor();
    await test.dialog().getByRole('button', { name: 'Disable' }).click();
    await test.row(email).getByText('disabled', { exact: true }).waitFor();
    expect((await test.admin.withHeaders({ cookie })('/session')).status).toBe(401);
    await test.click(`Enable ${email}`);
    await test.row(email).getByText('active', { exact: true }).waitFor();
  });
});
