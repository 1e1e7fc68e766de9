import { CLIENT, startTestProvider, type TestProvider } from '../support/oidc-provider.js';
import { testDashboard } from './dashboard-test.js';

let provider: TestProvider;
const test = testDashboard(async () => {
  provider = await startTestProvider();
  return { OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: CLIENT.id, OIDC_CLIENT_SECRET: CLIENT.secret };
});
afterAll(() => provider?.stop());

describe('signing out of the dashboard', () => {
  it('signs out at the provider as well if the session came from it', async () => {
    provider.register(test.admin.url);
    const { email } = await test.admin.addUser('operator');
    provider.people.set('ada', { email, email_verified: true, name: 'Ada' });
    await test.openSignedOut();
    const { page } = test;
    // The pages of the test's provider refer to fonts elsewhere.
    await page.route(/^https:/, (route) => route.abort());
    await test.open('/');
    await page.getByRole('link', { name: 'Sign in with your organisation' }).click();
    await page.locator('[name=login]').fill('ada');
    await page.locator('[name=password]').fill('any');
    await page.locator('[type=submit]').click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await test.heading('Add your first site');
    await test.click('Sign out');
    await page.waitForURL(`${provider.issuer}/**`);
    await page.getByRole('button', { name: 'Yes, sign me out' }).click();
    await page.getByLabel('Password').waitFor();
    await test.at('/');
  });

  it('does not leave the dashboard if the session came from a password', async () => {
    const { page } = test;
    await test.open('/');
    await test.click('Sign out');
    await page.getByLabel('Password').waitFor();
    await test.at('/');
  });
});
