import { runIn, startCells, type TestCell } from './support/cells.js';
import { post, type TestSite } from './support/service.js';

let a: TestCell;
let b: TestCell;

beforeAll(async () => {
  [a, b] = await startCells({ INBOUND_DEADLINE: '1s' });
});
afterAll(async () => {
  for (const cell of [a, b]) await cell?.stop();
});

const buy = async (cell: TestCell, site: TestSite, orderId: string) => {
  const order = { event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR', orderId };
  await cell.service.refreshSites();
  const reply = await post(cell.service, site, order);
  return { status: reply.status, deduped: reply.status === 200 && JSON.parse(reply.body).deduped === true };
};

async function move(from: TestCell, to: TestCell, { host }: TestSite): Promise<void> {
  expect(await from.cli('sites', 'move', host, '--to', to.name, '--yes')).toMatchObject({ code: 0 });
}

async function verified(cell: TestCell): Promise<void> {
  const { out, error } = await cell.cli('history', 'verify', '--json');
  const { checks } = JSON.parse(out || `{"checks":"${error}"}`);
  expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
}

const received = { status: 200, deduped: false };
const duplicate = { status: 200, deduped: true };

describe('a site that was added again in the cell that it had moved to', () => {
  it('is another site also in the cell that it comes back to', async () => {
    const site = await a.operator.openSite();
    const { host } = site;
    const { id: user } = await a.admin.addUser('operator', [host, 'other.example']);
    expect(await buy(a, site, 'ORD-1')).toEqual(received);
    expect(await buy(a, site, 'ORD-2')).toEqual(received);
    await move(a, b, site);
    expect(await buy(b, site, 'ORD-1')).toEqual(duplicate);
    expect(await b.cli('sites', 'remove', host, '--yes')).toMatchObject({ code: 0 });
    // Cell a still lists the site that has left.
    const { CELLS: _, CELL_TOKENS: __, CELL_MOVE_TOKENS: ___, ...alone } = b.env;
    const added = await runIn(alone, ['sites', 'add', host, '--json']);
    expect(added).toMatchObject({ code: 0, error: '' });
    expect((await runIn(alone, ['inbound', 'enable', host])).code).toBe(0);
    const key = JSON.parse((await runIn(alone, ['keys', 'create', '--site', host, '--name', 'new', '--json'])).out);
    const again = { host, key: key.key as string, keyId: key.id as string };
    expect((await buy(b, site, 'ORD-1')).status).toBe(401);
    expect(await buy(b, again, 'ORD-1')).toEqual(received);
    expect((await a.admin.users.find(user))?.sites).toContain(host);
    await verified(b);
    await move(b, a, again);
    expect(await buy(a, again, 'ORD-1')).toEqual(duplicate);
    expect(await buy(a, again, 'ORD-2')).toEqual(received);
    expect((await buy(a, site, 'ORD-3')).status).toBe(401);
    const shown = JSON.parse((await a.cli('sites', 'show', host, '--json')).out);
    expect(shown.id).toBe(JSON.parse(added.out).id);
    expect((await a.admin.users.find(user))?.sites).toEqual(['other.example']);
    for (const cell of [a, b]) await verified(cell);
  });
});
