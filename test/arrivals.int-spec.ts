import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { readSiteCopy } from '../src/log/site-copy.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { SCHEMA } from '../src/postgres/migrations/index.js';
import { ConnectPlatform } from '../src/sites/connection.commands.js';
import type { AdminReply } from './support/admin.js';
import { startCells, type TestCell } from './support/cells.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { type Operator, openOperator, post, type TestSite } from './support/service.js';

jest.setTimeout(300_000);

let servers: [TestServer, TestServer];
let a: TestCell;
let b: TestCell;
/** Of cell a, and of cell b. */
let operator: Operator;
let other: Operator;
let site: TestSite;

beforeAll(async () => {
  servers = [await startTestServer(), await startTestServer()];
  [a, b] = await startCells(servers, { INBOUND_DEADLINE: '1s' });
  operator = await openOperator(a.databaseUrl);
  other = await openOperator(b.databaseUrl);
});
afterAll(async () => {
  await operator?.close();
  await other?.close();
  for (const cell of [a, b]) await cell?.stop();
  for (const server of servers ?? []) await server.stop();
});
beforeEach(async () => {
  site = await operator.openSite();
  await a.service.refreshSites();
});

const convert = (orderId: string) =>
  post(a.service, site, { event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR', orderId });
const move = () => a.cli('sites', 'move', site.host, '--to', 'b', '--yes');

/** A step of a move to a cell, with the token that the other one has for this. */
function step(to: TestCell, path: string, body: object | string): Promise<AdminReply> {
  const tokens = (to === b ? a : b).env['CELL_MOVE_TOKENS'] as string;
  const headers = {
    authorization: `Bearer ${tokens.slice(2)}`,
    ...(typeof body === 'string' && { 'content-type': 'application/octet-stream' }),
  };
  return to.admin.withHeaders(headers)(`/sites/${site.host}/arrival${path}`, { method: 'POST', body });
}

function begin(to: TestCell, move: { readonly epoch: number; readonly from: string }): Promise<AdminReply> {
  const { clock } = to.admin.postgres;
  const dedupSecret = Buffer.alloc(32, 1).toString('base64');
  return step(to, '', { ...move, aliases: [], head: 1, schema: SCHEMA, timeMs: clock.nowMs(), dedupSecret });
}

async function read(of: Operator, options?: { readonly erased: boolean }): Promise<string> {
  const client = await of.postgres.connect('move');
  try {
    return (await readSiteCopy(client, site.host, 0, 1_000, options)).rows.toString();
  } finally {
    await client.end();
  }
}

async function count(of: Operator, table: 'events' | 'personal'): Promise<number> {
  const subject = table === 'personal' ? 'AND subject IS NOT NULL' : '';
  const { rowCount } = await of.postgres.pool.query(`SELECT FROM cc.${table} WHERE site = $1 ${subject}`, [site.host]);
  return rowCount ?? 0;
}

describe('a site that arrives', () => {
  it('gets no events by the step that erases, which also works after it is open', async () => {
    await convert('A-1');
    expect(await begin(b, { epoch: 1, from: 'a' })).toMatchObject({ status: 200 });
    expect(await step(b, '/erased?epoch=1', await read(operator))).toMatchObject({ status: 204 });
    expect(await count(other, 'events')).toBe(0);
    expect(await move()).toMatchObject({ code: 0 });
    const events = await count(other, 'events');
    expect(await count(other, 'personal')).toBeGreaterThan(0);
    const erase = ['visitors', 'erase', '--email', 'jane@example.com', '--site', site.host, '--yes'];
    expect(await a.cli(...erase)).toMatchObject({ code: 0 });
    expect(await step(b, '/erased?epoch=1', await read(operator, { erased: true }))).toMatchObject({ status: 204 });
    expect(await count(other, 'personal')).toBe(0);
    // The erasure is stated in this log, too.
    expect(await count(other, 'events')).toBe(events + 1);
  });
});
