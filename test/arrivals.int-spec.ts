import { randomUUID } from 'node:crypto';
import { allProjections } from '../src/app/projections.js';
import { subjectOf } from '../src/kernel/email.js';
import { Sealer } from '../src/kernel/sealing.js';
import { type EventName, readErased } from '../src/log/site-copy/site-pages.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { SCHEMA } from '../src/postgres/migrations/index.js';
import { ConnectPlatform } from '../src/sites/connections/connection.commands.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { Erasure } from '../src/visitors/erasure/erasure.js';
import type { AdminReply } from './support/admin.js';
import { startCells, type TestCell } from './support/cells.js';
import { SECRET_KEY } from './support/secret-key.js';
import { type Operator, post, type TestSite } from './support/service.js';
import { readAll } from './support/site-copies.js';

let a: TestCell;
let b: TestCell;
/** Administrators of cell a, and of cell b. */
let operator: Operator;
let other: Operator;
let site: TestSite;

beforeAll(async () => {
  [a, b] = await startCells({ INBOUND_DEADLINE: '1s' });
  ({ operator } = a);
  other = b.operator;
});
afterAll(async () => {
  for (const cell of [a, b]) await cell?.stop();
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

async function begin(to: TestCell, move: { readonly epoch: number; readonly from: string }): Promise<AdminReply> {
  const { clock } = to.admin.postgres;
  const dedupSecret = Buffer.alloc(32, 1).toString('base64');
  return step(to, '', { ...move, aliases: [], schema: SCHEMA, timeMs: clock.nowMs(), dedupSecret });
}

async function read(of: Operator): Promise<string> {
  return (await readAll(of.postgres, site.host)).toString();
}

async function erasedIn(of: Operator): Promise<readonly EventName[]> {
  const range = { after: 0, until: await of.log.head(), reached: Number.MAX_SAFE_INTEGER };
  return of.postgres.read((client) => readErased(client, site.host, range));
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
    const events = [{ stream: randomUUID(), version: 1, id: randomUUID() }];
    expect(await step(b, '/erased', { epoch: 1, events })).toMatchObject({ status: 200, body: { left: 0 } });
    expect(await count(other, 'events')).toBe(0);
    expect(await move()).toMatchObject({ code: 0 });
    const before = await count(other, 'events');
    expect(await count(other, 'personal')).toBeGreaterThan(0);
    const erase = ['visitors', 'erase', '--email', 'jane@example.com', '--site', site.host, '--yes'];
    expect(await a.cli(...erase)).toMatchObject({ code: 0 });
    expect(await step(b, '/erased', { epoch: 1, events: await erasedIn(operator) })).toMatchObject({ status: 200 });
    expect(await count(other, 'personal')).toBe(0);
    // The erasure is stated in this log, too.
    expect(await count(other, 'events')).toBe(before + 1);
  });

  it('erases a bounded number of people in one request, and says how many are left', async () => {
    const people = Array.from({ length: 52 }, (_, index) => `p${index}@example.com`);
    for (const [index, email] of people.entries())
      await post(a.service, site, { event: 'purchase', email, value: 5, currency: 'EUR', orderId: `L-${index}` });
    expect(await move()).toMatchObject({ code: 0 });
    const secrets = new SiteSecrets(operator.postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
    const erasure = new Erasure(operator.postgres, allProjections(secrets), async () => {});
    for (const email of people) await erasure.erase('cli', site.host, subjectOf(email));
    const events = await erasedIn(operator);
    expect(await step(b, '/erased', { epoch: 1, events })).toMatchObject({ status: 200, body: { left: 2 } });
    expect(await count(other, 'personal')).toBeGreaterThan(0);
    expect(await step(b, '/erased', { epoch: 1, events })).toMatchObject({ status: 200, body: { left: 0 } });
    expect(await count(other, 'personal')).toBe(0);
  });

  it('is opened, and begins to arrive, only if the cell that it comes from states that', async () => {
    expect(await move()).toMatchObject({ code: 0 });
    // What anyone with the token of cell a, which the site has left, can make up.
    expect(await begin(a, { epoch: 2, from: 'b' })).toMatchObject({ status: 200 });
    const rows = (await read(other)).trimEnd().split('\n');
    const line = (type: string) => (rows.find((row) => row.includes(`\t${type}\t`)) as string).split('\t');
    const movedIn = line('site.moved_in.v1');
    const movedOut = line('site.moved_out.v1');
    movedOut[0] = String(Number(movedIn[0]) + 1);
    movedOut[1] = randomUUID();
    movedOut[4] = String(Number(movedIn[4]) + 1);
    movedOut[9] = JSON.stringify({ to: 'a', epoch: 2, events: 2 });
    const forged = `${[movedIn, movedOut].map((fields) => fields.join('\t')).join('\n')}\n`;
    const events = await step(a, `/events?epoch=2&after=0&last=${movedOut[0]}`, forged);
    expect(events).toMatchObject({ status: 200, body: { events: 2 } });
    expect(await step(a, '/open', { epoch: 2, position: 1, head: '0'.repeat(64) })).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining(`Cell b does not state that ${site.host} has left it for cell a`) },
    });
    expect((await convert('late')).status).toBe(503);

    expect(await begin(a, { epoch: 3, from: 'c' })).toMatchObject({
      ...{ status: 422, body: { detail: expect.stringContaining('cell c, which is not in CELLS here') } },
    });
    expect(await begin(a, { epoch: 3, from: 'b' })).toMatchObject({
      ...{ status: 422, body: { detail: expect.stringContaining('Cell b does not state that move 3') } },
    });
  });

  it('gets leases of its own conversions only, and keeps those that have not ended', async () => {
    const ids = async (of: Operator) =>
      (
        await of.postgres.pool.query<{ stream: string }>(
          `SELECT DISTINCT stream FROM cc.events WHERE site = $1 AND category = 'conversion' ORDER BY 1`,
          [site.host],
        )
      ).rows.map(({ stream }) => stream);
    for (const order of ['B-1', 'B-2']) await convert(order);
    const [ended, held] = (await ids(operator)) as [string, string];
    expect(await begin(b, { epoch: 1, from: 'a' })).toMatchObject({ status: 200 });
    expect(await step(b, '/events?epoch=1&after=0&last=1000', await read(operator))).toMatchObject({ status: 200 });
    const { pool, clock } = other.postgres;
    const foreign = randomUUID();
    const nowMs = clock.nowMs();
    await pool.query(
      `INSERT INTO cc.delivery_leases (conversion, platform, holder, until)
       SELECT k, 'meta', $2, to_timestamp(u / 1000) FROM unnest($1::uuid[], $3::float8[]) AS t (k, u)`,
      [[ended, held], foreign, [nowMs - 60_000, nowMs + 60_000]],
    );
    const until = nowMs + 120_000;
    const leases = [ended, held, randomUUID()].map((conversion) => ({ conversion, platform: 'meta', until }));
    expect(await step(b, '/leases', { epoch: 1, leases })).toMatchObject({ status: 204 });
    const { rows } = await pool.query<{ conversion: string; isForeign: boolean }>(
      `SELECT conversion, holder = $2 AS "isForeign" FROM cc.delivery_leases WHERE conversion = ANY ($1) ORDER BY 1`,
      [leases.map(({ conversion }) => conversion), foreign],
    );
    expect(rows).toEqual([
      { conversion: ended, isForeign: false },
      { conversion: held, isForeign: true },
    ]);
  });

  it('is refused with what to do if both logs have continued it', async () => {
    expect(await begin(b, { epoch: 1, from: 'a' })).toMatchObject({ status: 200 });
    const rows = await read(operator);
    expect(await step(b, '/events?epoch=1&after=0&last=1', rows)).toMatchObject({ status: 200 });
    const [id] = /[0-9a-f-]{36}/.exec(rows) as RegExpExecArray;
    expect(await step(b, '/events?epoch=1&after=1&last=2', rows.replace(id, randomUUID()))).toMatchObject({
      ...{ status: 409, body: { detail: expect.stringContaining('Decide which log is right') } },
    });
    expect(await step(b, '/events?epoch=1&after=1&last=2', 'nonsense\n')).toMatchObject({
      ...{ status: 422, body: { detail: expect.stringContaining('The copied events are refused') } },
    });
  });
});

describe('a site that has left', () => {
  it('has no connection tested or listed, which might use up a refresh token', async () => {
    const request = { set: { pixel_id: '111', access_token: 'token' }, endpoint: 'http://127.0.0.1:9' };
    await operator.execute(new ConnectPlatform('cli', site.host, platformOf('meta') as Platform, request, 'meta'));
    expect(await move()).toMatchObject({ code: 0 });
    const secrets = new SiteSecrets(operator.postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
    const expected = { field: 'access_token', value: 'token' };
    expect(await secrets.replaceSecrets(site.host, 'meta', expected, { access_token: 'next' })).toBe(false);
    expect(await secrets.connectionSecrets(site.host, 'meta')).toEqual({ access_token: 'token' });
    const moved = { error: expect.stringContaining(`Site ${site.host} has moved to cell b`) };
    for (const verb of ['test', 'options'])
      expect(await a.cli('platforms', verb, 'meta', '--site', site.host)).toMatchObject(moved);
    const caller = await a.admin.signedIn('operator');
    const path = `/sites/${site.host}/connections/meta`;
    expect(await caller(`${path}/test`, { method: 'POST' })).toMatchObject({ status: 422 });
    expect(await caller(`${path}/options`)).toMatchObject({ status: 422 });
  });
});
