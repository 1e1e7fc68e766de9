import { PASSWORD } from '../support/admin.js';
import { eventually } from '../support/waiting.js';
import { testDashboard } from './dashboard-test.js';

const KEYS = '**/api/v1/sites/*/keys';
const test = testDashboard();
const focused = () => test.page.evaluate<string>('document.activeElement.textContent');

describe('every page of the dashboard', () => {
  it('is reached by keyboard, with the focus on its heading and from its top', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    await page.setViewportSize({ width: 1440, height: 300 });
    await test.open(`/sites/${host}/integrations`);
    await page.getByRole('region', { name: 'Meta' }).waitFor();
    await page.evaluate('scrollTo(0, 200)');
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await test.heading('Tag');
    await eventually(focused, (text) => text === 'Tag');
    await eventually(
      () => page.evaluate('scrollY'),
      (top) => top === 0,
    );
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: /^Order, conversion/ }).fill('traffic');
    await page.keyboard.press('Enter');
    await test.heading('Traffic filters');
  });

  it('has tables whose rows can be chosen and opened by keyboard', async () => {
    const site = await test.newSite();
    const { page } = test;
    for (const orderId of ['ORD-1', 'ORD-2', 'ORD-3']) await test.sendListedConversion(site, orderId);
    await test.open(`/sites/${site.host}/conversions`);
    await test.row('ORD-1').waitFor();
    const rowWithFocus = () =>
      page.evaluate<string>(
        `document.activeElement.matches('tr') ? /ORD-\\d/.exec(document.activeElement.textContent)[0] : ''`,
      );
    const focusAfter = async (key: string, orderId: string) => {
      await page.keyboard.press(key);
      await eventually(rowWithFocus, (text) => text === orderId);
    };
    await focusAfter('j', 'ORD-3');
    await focusAfter('j', 'ORD-2');
    await focusAfter('ArrowDown', 'ORD-1');
    await focusAfter('j', 'ORD-1');
    await focusAfter('k', 'ORD-2');
    // What a screen reader says of the row that has the focus.
    await page.getByRole('row', { name: /ORD-2/ }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await test.heading('ORD-2');
    await page.keyboard.press('?');
    await test.dialog().getByText('Open the row').waitFor();
  });

  it('returns the focus after a dialog, to the heading if the button is gone', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${host}/keys`);
    const revoke = page.getByRole('button', { name: 'Revoke Shop backend' });
    await revoke.press('Enter');
    await test.dialog().getByRole('button', { name: 'Cancel' }).press('Enter');
    await test.dialog().waitFor({ state: 'detached' });
    const label = await revoke.textContent();
    await eventually(focused, (text) => text === label);
    await revoke.press('Enter');
    await test.dialog().getByRole('button', { name: 'Revoke' }).press('Enter');
    await revoke.waitFor({ state: 'detached' });
    await eventually(focused, (text) => text === 'Inbound keys');
    // Without a button that opened it.
    await test.open(`/sites/${host}/keys?dialog=new`);
    await test.dialog().getByRole('button', { name: 'Cancel' }).press('Enter');
    await eventually(focused, (text) => text === 'Inbound keys');
  });

  it('is once in the history, however often its dialogs are opened and closed', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${host}/audit`);
    await page.getByText('Configure', { exact: true }).click();
    await page.getByRole('link', { name: 'Inbound keys' }).click();
    for (const name of ['Create a key', 'Revoke Shop backend']) {
      await test.click(name);
      await test.dialog().getByRole('button', { name: 'Cancel' }).click();
      await test.dialog().waitFor({ state: 'detached' });
      await test.at(`/sites/${host}/keys`);
    }
    await test.click('Create a key');
    await page.goBack();
    await test.dialog().waitFor({ state: 'detached' });
    await page.goBack();
    await test.heading('Audit');
  });

  it('asks before a link leads away from changes, and not after they were saved', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    const asked: string[] = [];
    let isLeft = false;
    page.on('dialog', (dialog) => {
      asked.push(dialog.message());
      void (isLeft ? dialog.accept() : dialog.dismiss());
    });
    await test.open(`/sites/${host}/consent`);
    const required = page.getByLabel('Consent is required');
    await required.check();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.keyboard.press('Tab');
    await test.at(`/sites/${host}/consent`);
    expect(asked).toEqual(['Leave without saving your changes?']);
    await test.click('Save');
    await test.message('saved');
    await page.getByRole('link', { name: 'Overview' }).click();
    await test.heading('Overview');
    await test.open(`/sites/${host}/consent`);
    await required.uncheck();
    isLeft = true;
    await page.getByRole('link', { name: 'Overview' }).click();
    await test.heading('Overview');
    expect(asked).toHaveLength(2);
  });

  it('asks before Escape closes a form with changes, and keeps a secret that is shown once', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    let asked = 0;
    page.on('dialog', (dialog) => {
      asked += 1;
      void dialog.dismiss();
    });
    await test.open(`/sites/${host}/keys`);
    await test.click('Create a key');
    await test.dialog().getByLabel('Name').fill('Spare');
    await page.keyboard.press('Escape');
    expect(await test.dialog().getByLabel('Name').inputValue()).toBe('Spare');
    expect(asked).toBe(1);
    await page.keyboard.press('Enter');
    const shown = test.dialog().getByText('It is shown this once.');
    await shown.waitFor();
    for (let press = 0; press < 3; press += 1) await page.keyboard.press('Escape');
    expect(await shown.isVisible()).toBe(true);
    await test.dialog().getByRole('button', { name: 'Done' }).click();
    await test.dialog().waitFor({ state: 'detached' });
    await test.row('Spare').waitFor();
  });

  it('leaves the navigation beside it when it has an error', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    await page.route(KEYS, (route) => route.fulfill({ json: { items: 'not a list' } }));
    await test.open(`/sites/${host}/keys`);
    await page.getByRole('alert').filter({ hasText: 'This page cannot be shown' }).waitFor();
    expect(test.takeErrors()).not.toEqual([]);
    await page.unroute(KEYS);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('cell', { name: 'Shop backend', exact: true }).waitFor();
  });

  it('runs a change once, however often its button is clicked while it runs', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    await test.succeed(`/sites/${host}/webhook`, 'PUT', { url: `${test.receiver.url}/once` });
    await test.open(`/sites/${host}/webhook`);
    const held = await test.hold('**/webhook/test');
    const asked = page.waitForRequest('**/webhook/test');
    await page.getByRole('button', { name: 'Test' }).dblclick();
    await asked;
    held.release();
    await test.message(/The receiver answered 20\d/);
    expect(held.count()).toBe(1);
  });

  it('asks to sign in when the session has ended, and goes on at the same address', async () => {
    const { host } = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${host}/keys`);
    await test.heading('Inbound keys');
    await test.context.clearCookies();
    await page.getByRole('link', { name: 'Sync log' }).click();
    await page.getByText('Your session has ended.').waitFor();
    await test.at(`/sites/${host}/sync-log`);
    await page.getByLabel('Email').fill(test.email);
    await page.getByLabel('Password').fill(PASSWORD);
    await test.click('Sign in');
    await test.heading('Sync log');
  });

  it('keeps no connection for events in a hidden tab, and goes on without a gap when it is shown', async () => {
    const site = await test.newSite();
    const { page } = test;
    await test.open(`/sites/${site.host}/live`);
    await page.getByText('live', { exact: true }).waitFor();
    const closed = page.waitForEvent('requestfailed', (request) => request.url().includes('/api/v1/events'));
    await show('hidden');
    await closed;
    await test.sendConversion(site, 'ORD-WHILE-HIDDEN');
    await show('visible');
    await page.getByText('ORD-WHILE-HIDDEN').first().waitFor();
  });
});

/** As if the user changed to another tab, and back. */
async function show(visibilityState: 'hidden' | 'visible'): Promise<void> {
  await test.page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { value: '${visibilityState}', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  `);
}
