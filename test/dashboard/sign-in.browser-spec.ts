import { jest } from '@jest/globals';
import { PASSWORD } from '../support/admin.js';
import { testDashboard } from './dashboard-test.js';

jest.setTimeout(120_000);

const test = testDashboard();

describe('the sign-in of the dashboard', () => {
  it('lets a new administrator choose a password with the link, sign in with it and add a site', async () => {
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

    await page.getByLabel('Host').fill('shop.example');
    await test.click('Add the site');
    await test.heading('First steps');
  });
});
