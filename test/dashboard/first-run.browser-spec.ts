import { jest } from '@jest/globals';
import { PASSWORD } from '../support/admin.js';
import { testDashboard } from './dashboard-test.js';

jest.setTimeout(120_000);

const SITE = 'shop.example';
const test = testDashboard();

describe('the first run of the dashboard', () => {
  it('leads a new administrator from the link to a conversion that is seen as it arrives', async () => {
    const { id, email } = await test.admin.addUser('admin');
    await test.openSignedOut();
    const { page } = test;
    await test.open(`/sign-in#${await test.admin.users.reset(id)}`);
    await page.getByLabel('New password').fill(PASSWORD);
    await test.click('Choose and sign in');
    await test.heading('Add your first site');
    await test.click('Sign out');
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill('a wrong password');
    await test.click('Sign in');
    await page.getByRole('alert').filter({ hasText: 'The email address or the password is wrong.' }).waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await test.click('Sign in');
    await test.heading('Add your first site');

    await page.getByLabel('Host').fill(SITE);
    await test.click('Add the site');
    await test.heading('Inbound keys');
    await test.click('Create a key');
    await test.dialog().getByLabel('Name').fill('Shop backend');
    await test.dialog().getByRole('button', { name: 'Create' }).click();
    const key = (await test.dialog().getByRole('region', { name: 'Key', exact: true }).textContent()) as string;
    const line = await test.dialog().getByRole('region', { name: 'Request with the key' }).textContent();
    expect(line).toContain(`curl http://localhost:${test.service.port}/__cc/inbound -H 'Host: ${SITE}'`);
    await test.dialog().getByRole('button', { name: 'Done' }).click();
    await page.getByRole('cell', { name: 'Shop backend', exact: true }).waitFor();

    await test.service.refreshSites();
    await test.open(`/sites/${SITE}/live`);
    await page.getByText('live', { exact: true }).waitFor();
    await test.sendConversion({ host: SITE, key }, 'ORD-1');
    await page.getByRole('link', { name: 'Conversion received' }).click();
    await test.heading('ORD-1');
  });
});
