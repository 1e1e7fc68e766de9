import { closeElsewhere } from '../../src/moves/sites-elsewhere.js';
import { startTestAdmin, type TestAdmin } from '../support/admin.js';
import { createDatabase } from '../support/databases.js';
import { eventually } from '../support/waiting.js';
import { testDashboard } from './dashboard-test.js';

let north: TestAdmin;
let west: TestAdmin | undefined;
const test = testDashboard(async () => {
  // One after the other: a start occupies this process for longer than a transaction with the append lock may be idle.
  const cells = [await startCell('north'), await startCell('west')] as const;
  [north, west] = [cells[0].admin, cells[1].admin];
  return {
    CELLS: cells.map(({ name, admin }) => `${name}=${admin.url}`).join(),
    CELL_TOKENS: cells.map(({ name, token }) => `${name}=${token}`).join(),
  };
});
afterAll(async () => {
  await north?.stop();
  await west?.stop();
});

async function startCell(name: string) {
  const admin = await startTestAdmin(await createDatabase(), { CELL: name });
  const boss = await admin.signedIn('admin');
  await boss('/sites', { method: 'POST', body: { host: `${name}.example` } });
  const { body } = await boss('/tokens', { method: 'POST', body: { name: 'local', scopes: ['read'] } });
  return { name, admin, token: body.token as string };
}

it('a user with one site starts with all sites, from where those of other cells are reached, and can return', async () => {
  const { host } = await test.newSite();
  await test.open('/');
  const { page } = test;
  await page.getByRole('heading', { name: 'All sites', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'north.example' }).waitFor();
  await page.getByRole('link', { name: host }).click();
  await page.waitForURL(`**/sites/${host}/overview**`);
  await page.getByRole('combobox', { name: 'Site' }).selectOption('All sites');
  await page.getByRole('link', { name: 'west.example' }).waitFor();
});

it('a site that another cell has is shown as such, with the way there', async () => {
  const { host } = await test.newSite();
  const { page, admin } = test;
  const notice = page.getByText(`Cell north has ${host}.`);
  await eventually(
    async () => {
      // Cell north does not prove it, so the next check of cells opens the site again.
      await closeElsewhere(admin.postgres, { site: host, cell: 'north', epoch: 1 });
      await test.open(`/sites/${host}/site`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      return notice.count();
    },
    (count) => count === 1,
  );
  expect(await notice.getByRole('link', { name: 'north' }).getAttribute('href')).toContain(north.url);
});

it('all sites have those of other cells beside them, with the way there, and a cell that is away is named', async () => {
  await west?.stop();
  west = undefined;
  await test.open('/');
  const { page } = test;
  const link = page.getByRole('link', { name: 'north.example' });
  await link.waitFor();
  expect(await link.getAttribute('href')).toBe(`${north.url}/sites/north.example/overview`);
  // The list of the view before is shown for some seconds.
  await eventually(
    async () => {
      await page.reload();
      await page.getByRole('link', { name: 'north.example' }).waitFor();
      return page.getByText('Cell west:').count();
    },
    (count) => count === 1,
  );
  expect(await page.getByRole('link', { name: 'west.example' }).count()).toBe(0);
});
