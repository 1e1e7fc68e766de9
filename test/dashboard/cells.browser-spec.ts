import { jest } from '@jest/globals';
import { startTestAdmin, type TestAdmin } from '../support/admin.js';
import { createMigratedDatabase } from '../support/databases.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';
import { testDashboard } from './dashboard-test.js';

jest.setTimeout(120_000);

let server: TestServer;
let north: TestAdmin;
const test = testDashboard(async () => {
  server = await startTestServer();
  north = await startTestAdmin(await createMigratedDatabase(server), { CELL: 'north' });
  const boss = await north.signedIn('admin');
  await boss('/sites', { method: 'POST', body: { host: 'north.example' } });
  const { body } = await boss('/tokens', { method: 'POST', body: { name: 'local', scopes: ['read'] } });
  return {
    CELLS: `north=${north.url},away=http://127.0.0.1:1`,
    CELL_TOKENS: `north=${body.token},away=cct_any`,
  };
});
afterAll(async () => {
  await north?.stop();
  await server?.stop();
});

it('all sites have those of other cells beside them, with the way there, and a cell that is away is named', async () => {
  // Two, because the only site of a user is opened at once. Added by the command: the API asks the cell that is away.
  for (let sites = 0; sites < 2; sites += 1) await test.newSite();
  await test.open('/sites');
  const { page } = test;
  const link = page.getByRole('link', { name: 'north.example' });
  await link.waitFor();
  expect(await link.getAttribute('href')).toBe(`${north.url}/sites/north.example/overview`);
  await page.getByText('Cell away:').waitFor();
});
