import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { captureLog } from './support/captured-log.js';
import { type CliResult, runIn, startCells, type TestCell } from './support/cells.js';
import { metrics, type Operator, post, startTestService, type TestService, type TestSite } from './support/service.js';
import { eventually } from './support/waiting.js';

/** Sites move from a, whose database is restored to an earlier state, to b. */
let a: TestCell;
let b: TestCell;
let operator: Operator;
let site: TestSite;
/** The instance of cell a. */
let service: TestService | undefined;

beforeAll(async () => {
  [a, b] = await startCells({ INBOUND_DEADLINE: '1s' });
  // Started by each test, with the other cell in its settings.
  await a.service.stop();
  ({ operator } = a);
});
beforeEach(async () => {
  site = await operator.openSite();
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
});
afterAll(async () => {
  for (const cell of [a, b]) await cell?.stop();
});

const start = async (environment: Record<string, string> = {}) => {
  service = await startTestService(a.databaseUrl, { ...a.env, ...environment });
  return service;
};
const stop = async () => {
  await service?.stop();
  service = undefined;
};
/** The status of the answer of cell a. */
const statusOf = async (orderId: string, of = site) =>
  (await post(service as TestService, of, { event: 'purchase', email: 'jane@example.com', orderId })).status;
const accepts = (orderId: string, of = site) =>
  eventually(
    () => statusOf(orderId, of),
    (status) => status === 200,
  );
const refuses = (orderId: string) =>
  eventually(
    () => statusOf(orderId),
    (status) => status === 503,
  );
const cli = async (cell: TestCell, ...argv: string[]): Promise<CliResult> =>
  // A connection of before the restart of the server may be used first.
  eventually(
    () => cell.cli(...argv),
    ({ error }) => !/terminat|ECONNREFUSED|ENOENT/.test(error),
  );
const move = async (from: TestCell, to: TestCell) =>
  expect(await cli(from, 'sites', 'move', site.host, '--to', to.name, '--yes')).toMatchObject({ code: 0 });
const checkOf = async (cell: TestCell, command: readonly string[], name: string) => {
  const { checks } = JSON.parse((await cli(cell, ...command, '--json')).out);
  return checks.find((check: { name: string }) => check.name === name);
};
const isClosed = async () =>
  (await operator.postgres.pool.query('SELECT FROM cc.paused_sites WHERE site = $1 AND closed', [site.host]))
    .rowCount === 1;

/** The site moves to b, and the database of a is restored to a state from before. */
async function moveAndRestore(meanwhile?: () => Promise<void>): Promise<void> {
  const restore = await a.server.backUp();
  await eventually(
    () => operator.log.head().catch(() => undefined),
    (head) => head !== undefined,
  );
  await move(a, b);
  await meanwhile?.();
  await restore();
  await eventually(
    () => operator.log.head().catch(() => undefined),
    (head) => head !== undefined,
  );
}

describe('a cell whose database was restored to a state from before a site moved', () => {
  it('does not accept anything for the site when it starts, lets the others be, and says what to do', async () => {
    const other = await operator.openSite();
    await moveAndRestore();
    const log = captureLog();
    await start({ LOG_LEVEL: 'info' });
    expect(await statusOf('after')).toBe(503);
    log.stop();
    expect(await accepts('other', other)).toBe(200);
    expect(log.text()).toMatch(
      new RegExp(`"level":50[^\\n]*Cell b has ${site.host}[^\\n]*Let its DNS name lead to cell b`),
    );
    expect((await metrics(service as TestService)).get('cc_sites_elsewhere')).toBe(1);
    expect((await metrics(service as TestService)).get('cc_cell_silent{cell="b"}')).toBe(0);
    // The database refuses, whatever an instance has in memory.
    expect(await isClosed()).toBe(true);
    expect(await cli(a, 'keys', 'create', '--site', site.host, '--name', 'late')).toMatchObject({ code: 1 });
    expect(await checkOf(a, ['history', 'verify'], 'paused sites')).toMatchObject({ ok: true });
    expect(await checkOf(a, ['doctor'], 'cells')).toMatchObject({
      ok: false,
      detail: expect.stringContaining(site.host),
    });
    expect((await cli(a, 'sites', 'list')).out).toMatch(new RegExp(`${site.host} +a +closed: b has it`));
    const boss = await a.admin.signedIn('admin');
    expect((await boss(`/sites/${site.host}`)).body.move).toMatchObject({ state: 'elsewhere', to: 'b' });
    const { items } = (await boss('/attention')).body;
    expect(items).toContainEqual(expect.objectContaining({ kind: 'site_elsewhere', site: site.host }));
  });

  it('notices while it runs that another cell has the site, after the change of lineage', async () => {
    await start();
    await accepts('before');
    await moveAndRestore();
    await refuses('after');
    await eventually(isClosed, (closed) => closed);
    expect(await statusOf('later')).toBe(503);
  });

  it('serves the site while the other cell does not answer, and counts what it has accepted when it does', async () => {
    await moveAndRestore();
    const log = captureLog();
    await start({ CELLS: 'b=http://127.0.0.1:9', LOG_LEVEL: 'info' });
    expect(await accepts('meanwhile')).toBe(200);
    expect((await metrics(service as TestService)).get('cc_cell_silent{cell="b"}')).toBe(1);
    await stop();
    await start({ LOG_LEVEL: 'info' });
    log.stop();
    expect(await statusOf('after')).toBe(503);
    expect(log.text()).toMatch(/"level":40[^\n]*Another cell cannot be asked which sites it has/);
    expect(log.text()).toMatch(/"conversions":1,"msg":"Cell b has/);
  });

  it('keeps the site closed while the other cell is silent, until an operator opens it without that cell', async () => {
    await moveAndRestore();
    await start();
    expect(await statusOf('after')).toBe(503);
    await stop();
    await start({ CELLS: 'b=http://127.0.0.1:9' });
    expect(await statusOf('silent')).toBe(503);
    await stop();
    await start({ CELLS: '', CELL_TOKENS: '', CELL_MOVE_TOKENS: '' });
    expect(await statusOf('without')).toBe(503);
    const cancel = ['sites', 'move', site.host, '--cancel'];
    expect(await cli(a, ...cancel)).toMatchObject({ code: 1, error: expect.stringContaining('Cell b has') });
    expect(await runIn({ ...a.env, CELLS: '', CELL_TOKENS: '', CELL_MOVE_TOKENS: '' }, cancel)).toMatchObject({
      code: 0,
    });
    expect(await accepts('opened')).toBe(200);
    expect(await isClosed()).toBe(false);
  });

  it('gets the site back by a move', async () => {
    await moveAndRestore();
    await start();
    expect(await statusOf('after')).toBe(503);
    await move(b, a);
    expect(await accepts('back')).toBe(200);
    expect(await checkOf(a, ['history', 'verify'], 'paused sites')).toMatchObject({ ok: true });
    expect((await checkOf(a, ['doctor'], 'cells')).detail).not.toContain(site.host);
  });
});

describe('another cell', () => {
  let claims: object[] = [];
  let restricted: true | undefined;
  let peer: Server;
  let url: string;

  beforeAll(async () => {
    peer = createServer((_, response) => {
      const items = claims.map((claim) => ({
        ...{ id: '1', aliases: [], inbound: true, createdAt: '2026-01-01T00:00:00.000Z' },
        ...claim,
      }));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items, restricted }));
    });
    await new Promise<void>((listening) => peer.listen(0, '127.0.0.1', listening));
    url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((closed) => peer.close(closed)));

  it('counts as silent while its token sees only some of its sites', async () => {
    [claims, restricted] = [[], true];
    await start({ CELLS: `b=${url}` });
    restricted = undefined;
    expect((await metrics(service as TestService)).get('cc_cell_silent{cell="b"}')).toBe(1);
  });

  it('cannot close a site that it has never had', async () => {
    claims = [{ host: site.host, epoch: 9, arrived: { epoch: 9, proof: '0'.repeat(64) } }];
    const log = captureLog();
    await start({ CELLS: `b=${url}`, LOG_LEVEL: 'info' });
    log.stop();
    expect(await accepts('claimed')).toBe(200);
    expect(log.text()).toContain('cannot prove that it came from here');
    claims = [{ host: site.host, epoch: 9, arrived: 'broken' }];
    await stop();
    await start({ CELLS: `b=${url}` });
    expect(await accepts('broken')).toBe(200);
  });
});
