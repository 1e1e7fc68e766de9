import { PASSWORD } from '../support/admin.js';
import { testDashboard } from './dashboard-test.js';

const test = testDashboard();

describe('the sign-in of the dashboard', () => {
  it('lets a new administrator choose a password with the link, sign in with it and add a site', async () => {
    const { id, email } = await test.admin.addUser('admin');
    await test.openSignedOut();
    const { page } = test;
    await test.open(`/sign-in#${(await test.admin.users.reset(id)).secret}`);
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

  it('says what to do when a platform sends the browser back from a sign-in that is lost', async () => {
    const { host } = await test.newSite();
    // With a second one, there is a page of all sites.
    await test.newSite();
    const { page } = test;
    await test.open('/api/v1/oauth/callback?state=lost&code=1');
    await test.message(/The sign-in at the platform is not finished.*Open Integrations/);
    await test.at('/');
    await page.goto(`${test.admin.url}/sites/${host}/integrations`);
    await test.heading('Integrations');
    expect(await page.getByText('The sign-in at the platform is not finished').count()).toBe(0);
  });
});
