import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Settings } from '../kernel/settings/settings.js';
import type { Principal } from '../users/access.js';
import { CellsController } from './cells.controller.js';

const SITE = {
  id: '0190b0a0-0000-7000-8000-000000000001',
  host: 'north.example',
  aliases: [],
  inbound: true,
  createdAt: '2026-03-01T12:00:00.000Z',
};

describe('the list of other cells', () => {
  let server: Server;
  let body: string;

  beforeAll(async () => {
    server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => server.close());

  async function listed(items: readonly unknown[]) {
    body = JSON.stringify({ items });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings = { otherCells: [{ name: 'north', url, token: 'cct_x' }] } as unknown as Settings;
    const answer = await new CellsController(settings).list({ sites: 'all' } as Principal);
    return answer.items[0];
  }

  it('has the sites of a cell', async () => {
    expect(await listed([SITE])).toMatchObject({ name: 'north', sites: [SITE] });
  });

  it.each([
    { inbound: undefined },
    { id: 'north' },
    { createdAt: 'yesterday' },
    { host: '' },
    { aliases: [1] },
    { host: 1 },
  ])('reports a problem instead of a list if a site in it has %j', async (change) => {
    const cell = await listed([SITE, { ...SITE, ...change }]);
    expect(cell).toMatchObject({ name: 'north', problem: expect.stringContaining('does not read') });
    expect(cell).not.toHaveProperty('sites');
  });

  it('reports a problem instead of a list beyond 4 MiB', async () => {
    const cell = await listed(Array.from({ length: 40_000 }, () => SITE));
    expect(cell).toMatchObject({ problem: expect.stringContaining('4 MiB') });
  });
});
