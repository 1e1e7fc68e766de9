import { randomUUID } from 'node:crypto';
import { moveHolds } from '../src/app/hold-sources.js';
import { readScanProgress } from '../src/delivery/owed/owed-report.js';
import { Sealer } from '../src/kernel/sealing.js';
import { lockAppends } from '../src/log/append/append-lock.js';
import { recordDeparture } from '../src/moves/departures.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { ConnectPlatform } from '../src/sites/connections/connection.commands.js';
import { CancelMove, StartMove } from '../src/sites/move.commands.js';
import { PauseSite } from '../src/sites/site.commands.js';
import { runIn, startCells, startFlakyProxy, type TestCell } from './support/cells.js';
import { HoldingProxy } from './support/holding-proxy.js';
import type { LooseEvent } from './support/loose-event.js';
import { SECRET_KEY } from './support/secret-key.js';
import { type Operator, post, type Reply, send, type TestSite } from './support/service.js';
import { eventually } from './support/waiting.js';

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36';

let sandbox: RunningSandbox;
let a: TestCell;
let b: TestCell;
/** Administrators of cell a, and of cell b. */
let operator: Operator;
let other: Operator;
let site: TestSite;

beforeAll(async () => {
  sandbox = await new Sandbox().start();
  [a, b] = await startCells({ INBOUND_DEADLINE: '1s', DELIVERY_RETRY_SCHEDULE: '1s' });
  ({ operator } = a);
  other = b.operator;
});
afterAll(async () => {
  for (const cell of [a, b]) await cell?.stop();
  await sandbox?.stop();
});
beforeEach(async () => {
  site = await operator.openSite();
  const request = { set: { pixel_id: '111', access_token: 'token' }, endpoint: `${sandbox.url}/meta@${site.host}` };
  await operator.execute(new ConnectPlatform('cli', site.host, platformOf('meta') as Platform, request, 'meta'));
  await a.service.refreshSites();
});

const move = (from: TestCell, to: TestCell, ...options: string[]) =>
  from.cli('sites', 'move', site.host, '--to', to.name, '--yes', ...options);
const convert = (cell: TestCell, orderId: string) =>
  post(cell.service, site, { event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR', orderId });

/** Sends orders one after the other, each until a cell has accepted it, until it is stopped. */
function startSending(prefix: string) {
  const accepted: string[] = [];
  let isStopped = false;
  const sending = (async () => {
    for (let number = 1; !isStopped; number += 1) {
      const orderId = `${prefix}-${number}`;
      for (let at = 0; ; at = 1 - at) {
        const { status } = await convert(at === 0 ? a : b, orderId);
        if (status === 200) break;
        // A cell does not know the site before it arrives.
        expect([503, 404, 403]).toContain(status);
      }
      accepted.push(orderId);
    }
  })();
  return {
    accepted,
    progress: (by: number) => {
      const from = accepted.length;
      return eventually(
        async () => accepted.length,
        (count) => count >= from + by,
      );
    },
    async stop() {
      isStopped = true;
      await sending;
    },
  };
}

async function ordersOf(of: Operator): Promise<string[]> {
  const { rows } = await of.postgres.pool.query<{ reference: string }>(
    `SELECT reference FROM cc.events WHERE site = $1 AND type = 'conversion.received.v1' AND reference IS NOT NULL`,
    [site.host],
  );
  return rows.map(({ reference }) => reference).sort();
}

/** How often the platform accepted each conversion. */
async function deliveries(): Promise<number[]> {
  const reply = await fetch(`${sandbox.url}/ledger?platform=meta&tenant=${encodeURIComponent(site.host)}`);
  const ledger = (await reply.json()) as { meta?: Record<string, { events: Record<string, { times: number }> }> };
  return Object.values(ledger.meta?.[site.host]?.events ?? {}).map(({ times }) => times);
}

async function expectVerified(cell: TestCell): Promise<void> {
  const { out, error } = await cell.cli('history', 'verify', '--json');
  const { checks } = JSON.parse(out || `{"checks":"${error}"}`);
  expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
}

/** A mover that is stopped when the answer to this call of the other cell is lost. */
async function interrupted(calls: number): Promise<void> {
  const proxy = await startFlakyProxy(b.admin.url, calls);
  const stop = new AbortController();
  proxy.onBroken = () => stop.abort();
  const argv = ['sites', 'move', site.host, '--to', 'b', '--yes'];
  expect(await runIn({ ...a.env, CELLS: `b=${proxy.url}` }, argv, stop.signal)).toMatchObject({ code: 130 });
  await proxy.stop();
}

/** Events in log order. Erasures are of each log. */
async function eventsOf(of: Operator): Promise<string[]> {
  const { rows } = await of.postgres.pool.query<{ id: string }>(
    `SELECT id FROM cc.events WHERE site = $1 AND type <> 'visitor.erased.v1' ORDER BY position`,
    [site.host],
  );
  return rows.map(({ id }) => id);
}

function visit(cell: TestCell, cookie?: string): Promise<Reply> {
  const clicks = { gclid: { id: 'Gclid_One' } };
  const message = { v: 1, visit: randomUUID(), visitor: randomUUID(), clicks, page: `https://${site.host}/` };
  return send(cell.service, {
    ...{ path: '/__cc/collect', method: 'POST', body: JSON.stringify(message) },
    headers: {
      ...{ host: site.host, origin: `https://${site.host}`, 'content-type': 'text/plain', 'user-agent': BROWSER },
      ...(cookie && { cookie }),
    },
  });
}

/** Who made the visits of the site, oldest first. */
async function visitors(of: Operator): Promise<string[]> {
  const { rows } = await of.postgres.pool.query<{ visitor: string }>(
    `SELECT p.data ->> 'visitor' AS visitor FROM cc.events e JOIN cc.personal p USING (position)
      WHERE e.site = $1 AND e.type = 'visitor.visited.v1' ORDER BY e.position`,
    [site.host],
  );
  return rows.map(({ visitor }) => visitor);
}

describe('sites move', () => {
  it('moves a site under load, and back: nothing is lost, delivered twice or forgotten', async () => {
    const first = await visit(a);
    const cookie = String(first.headers['set-cookie']).split(';')[0] as string;
    expect(cookie).toMatch(/^_ccv=/);
    const sender = startSending('A');
    await sender.progress(20);
    const dry = await move(a, b, '--dry-run', '--json');
    expect(dry).toMatchObject({ code: 0, error: '' });
    expect(JSON.parse(dry.out)).toMatchObject({ from: 'a', to: 'b', epoch: 1, copied: 0, dryRun: true });

    const moved = await move(a, b);
    expect(moved).toMatchObject({ code: 0 });
    await sender.progress(20);
    await sender.stop();
    expect(await ordersOf(other)).toEqual([...sender.accepted].sort());
    await eventually(deliveries, (times) => times.length === sender.accepted.length);
    expect(new Set(await deliveries())).toEqual(new Set([1]));
    expect((await convert(a, 'late')).status).toBe(503);
    for (const cell of [a, b]) await expectVerified(cell);

    // What was accepted before the move is a duplicate after it.
    const repeated = await convert(b, sender.accepted[0] as string);
    expect(JSON.parse(repeated.body)).toMatchObject({ deduped: true });
    // A cookie that the other cell has signed is recognised, or the visitor would be another one.
    expect((await visit(b, cookie)).status).toBe(204);
    const [before, after] = await visitors(other);
    expect(after).toBe(before);

    const back = startSending('B');
    await back.progress(10);
    const returned = await move(b, a);
    expect(returned).toMatchObject({ code: 0 });
    await back.progress(10);
    await back.stop();
    const all = [...sender.accepted, ...back.accepted];
    expect(await ordersOf(operator)).toEqual([...all].sort());
    await eventually(deliveries, (times) => times.length === all.length);
    expect(new Set(await deliveries())).toEqual(new Set([1]));
    for (const cell of [a, b]) await expectVerified(cell);
    expect((await convert(b, 'late')).status).toBe(503);
    const site2 = JSON.parse((await a.cli('sites', 'show', site.host, '--json')).out);
    expect(site2).toMatchObject({ epoch: 2, inbound: true });
    expect(site2.move).toBeUndefined();
  });

  it('continues after an interruption at any call of the other cell, with two movers at once', async () => {
    for (let order = 1; order <= 30; order += 1) await convert(a, `C-${order}`);
    let isMoved = false;
    for (let calls = 1; !isMoved; calls += 1) {
      const proxy = await startFlakyProxy(b.admin.url, calls);
      const env = { ...a.env, CELLS: `b=${proxy.url}` };
      const argv = ['sites', 'move', site.host, '--to', 'b', '--yes'];
      const stop = new AbortController();
      proxy.onBroken = () => stop.abort();
      const results = await Promise.all([runIn(env, argv, stop.signal), runIn(env, argv, stop.signal)]);
      isMoved = results.every(({ code }) => code === 0);
      for (const { code, error } of results) if (code !== 0) expect(error).toContain('Run the same command again');
      await proxy.stop();
    }
    expect(await ordersOf(other)).toHaveLength(30);
    expect(await move(a, b)).toMatchObject({ code: 0 });
    for (const cell of [a, b]) await expectVerified(cell);
    const { body } = await (await b.admin.signedIn('admin'))(`/sites/${site.host}`);
    expect(body).toMatchObject({ epoch: 1 });
    const [last] = (await other.log.read({ site: site.host, types: ['site.moved_in.v1'] })) as never as LooseEvent[];
    expect(last).toMatchObject({ actor: expect.stringMatching(/^token:/), data: { from: 'a', epoch: 1 } });
  });

  it('keeps a pause, and personal parts that were erased while it was copied stay erased', async () => {
    await convert(a, 'D-1');
    await operator.execute(new StartMove('cli', site.host, 'b', 1));
    await operator.execute(new CancelMove('cli', site.host));
    // Copied in part: the other cell has the personal part that is erased now.
    const first = await startFlakyProxy(b.admin.url, 4);
    const stop = new AbortController();
    first.onBroken = () => stop.abort();
    const argv = ['sites', 'move', site.host, '--to', 'b', '--yes'];
    await runIn({ ...a.env, CELLS: `b=${first.url}` }, argv, stop.signal);
    await first.stop();
    const personal = () =>
      other.postgres.pool.query('SELECT FROM cc.personal WHERE site = $1 AND subject IS NOT NULL', [site.host]);
    expect((await personal()).rowCount).toBeGreaterThan(0);
    expect(await a.cli('visitors', 'erase', '--email', 'jane@example.com', '--site', site.host, '--yes')).toMatchObject(
      {
        code: 0,
      },
    );
    await operator.execute(new PauseSite('cli', site.host));
    expect(await move(a, b)).toMatchObject({ code: 0, error: expect.stringContaining('has opened it') });
    expect((await personal()).rowCount).toBe(0);
    await b.service.refreshSites();
    expect((await convert(b, 'D-2')).status).toBe(503);
    expect(await b.cli('sites', 'resume', site.host)).toMatchObject({ code: 0 });
    await b.service.refreshSites();
    expect((await convert(b, 'D-2')).status).toBe(200);
    for (const cell of [a, b]) await expectVerified(cell);
  });

  it('keeps the order of the site if people were erased in the part that an interrupted copy has not reached', async () => {
    const erase = (email: string) => a.cli('visitors', 'erase', '--email', email, '--site', site.host, '--yes');
    const buy = (email: string, orderId: string) =>
      post(a.service, site, { event: 'purchase', email, value: 5, currency: 'EUR', orderId });
    // A page ends with the erasure of a person, so each is one of its own.
    for (const name of ['jane', 'joe', 'jim']) {
      for (let order = 1; order <= 3; order += 1) await buy(`${name}@example.com`, `${name}-${order}`);
      expect(await erase(`${name}@example.com`)).toMatchObject({ code: 0 });
    }
    // The answer to the first page is lost.
    await interrupted(4);
    const before = await eventsOf(other);
    expect(before.length).toBeGreaterThan(0);
    expect(before.length).toBeLessThan((await eventsOf(operator)).length);
    expect(await move(a, b)).toMatchObject({ code: 0 });
    expect(await eventsOf(other)).toEqual([...(await eventsOf(operator)), expect.anything()]);
    expect(await ordersOf(other)).toHaveLength(9);
    for (const cell of [a, b]) await expectVerified(cell);
  });

  it('scans on while a site arrives, and delivers what it owes once it has arrived', async () => {
    await convert(a, 'G-1');
    await eventually(deliveries, (times) => times.length === 1);
    expect(await a.cli('platforms', 'pause', 'meta', '--site', site.host)).toMatchObject({ code: 0 });
    await a.service.refreshSites();
    await convert(a, 'G-2');
    await interrupted(4);
    expect(await ordersOf(other)).toEqual(['G-1', 'G-2']);
    const copied = await other.log.head();
    const reached = () => readScanProgress(other.postgres);
    await eventually(reached, (position) => position >= copied);
    expect(await move(a, b)).toMatchObject({ code: 0 });
    expect(await b.cli('platforms', 'resume', 'meta', '--site', site.host)).toMatchObject({ code: 0 });
    await eventually(deliveries, (times) => times.length === 2);
    expect(await deliveries()).toEqual([1, 1]);
    const head = await other.log.head();
    await eventually(reached, (position) => position >= head);
  });

  it('shows a move under way in both cells, holds retention, and can be cancelled until the site has left', async () => {
    const proxy = await startFlakyProxy(b.admin.url, 4);
    const stop = new AbortController();
    proxy.onBroken = () => stop.abort();
    const argv = ['sites', 'move', site.host, '--to', 'b', '--yes'];
    expect(await runIn({ ...a.env, CELLS: `b=${proxy.url}` }, argv, stop.signal)).toMatchObject({ code: 130 });
    await proxy.stop();
    const listed = async (cell: TestCell) =>
      (JSON.parse((await cell.cli('sites', 'list', '--json')).out) as { host: string; cell: string; move?: object }[])
        .filter(({ host }) => host === site.host)
        .map(({ cell, move }) => ({ cell, move }));
    expect(await listed(a)).toEqual([
      {
        cell: 'a',
        move: { state: 'copying', to: 'b', events: expect.any(Number), total: expect.any(Number), url: b.admin.url },
      },
      { cell: 'b', move: { state: 'arriving', from: 'a', events: expect.any(Number) } },
    ]);
    const holds = await moveHolds(operator);
    expect(holds).toContainEqual(
      expect.objectContaining({ holder: `the move of ${site.host} to cell b`, position: 0 }),
    );
    expect((await a.cli('sites', 'move', site.host, '--cancel')).code).toBe(0);
    expect((await listed(a))[0]).toEqual({ cell: 'a' });
    // A mover that was frozen meanwhile.
    await expect(operator.execute(new StartMove('cli', site.host, 'b', 1))).rejects.toThrow('was cancelled');
    const progress = { site: site.host, epoch: 1, cell: 'b', events: 1, total: 1 };
    await recordDeparture(operator.postgres.pool, progress);
    expect((await listed(a))[0]).toEqual({ cell: 'a' });
    expect((await convert(a, 'E-1')).status).toBe(200);
    expect((await convert(b, 'E-1')).status).toBe(503);
    expect(await move(a, b)).toMatchObject({ code: 0 });
    for (const epoch of [1, 2]) await recordDeparture(operator.postgres.pool, { ...progress, epoch });
    expect(await moveHolds(operator)).not.toContainEqual(
      expect.objectContaining({ holder: `the move of ${site.host} to cell b` }),
    );
    expect(await a.cli('sites', 'move', site.host, '--cancel')).toMatchObject({
      ...{ code: 1, error: expect.stringContaining('has moved to cell b') },
    });
    expect(await listed(b)).toMatchObject([{ cell: 'b' }, { cell: 'a', move: { state: 'left', to: 'b' } }]);
  });

  it.each<[what: string, options: { env?: Record<string, string>; argv?: string[] }, error: string | RegExp]>([
    ['a cell that CELLS does not name', { argv: ['--to', 'c'] }, 'CELLS does not name c'],
    ['its own cell', { argv: ['--to', 'a'] }, 'This is cell a'],
    ['no cell', { argv: [] }, 'Give --to'],
    ['no confirmation', { argv: ['--to', 'b'] }, 'Add --yes'],
    ['no token', { env: { CELL_MOVE_TOKENS: '' } }, 'CELL_MOVE_TOKENS has no token of cell b'],
    ['a wrong token', { env: { CELL_MOVE_TOKENS: 'b=cct_wrong' } }, 'refuses the token in CELL_MOVE_TOKENS'],
    ['a name of another cell', { env: { CELL: 'b' } }, /This is cell b|Both cells/],
  ])('says what to do: %s', async (_what, { env = {}, argv = ['--to', 'b', '--yes'] }, error) => {
    const result = await runIn({ ...a.env, ...env }, ['sites', 'move', site.host, ...argv]);
    expect(result).toMatchObject({ error: expect.stringMatching(error) });
    expect(result.code).toBeGreaterThan(0);
    expect(result.error).not.toContain('cct_');
    expect(await operator.log.read({ site: site.host, types: ['site.move_started.v1'] })).toEqual([]);
  });

  it('refuses a token without the scope, a site that the cell has, and an alias that another site has there', async () => {
    const reads = a.env['CELL_TOKENS'] as string;
    const refused = await runIn({ ...a.env, CELL_MOVE_TOKENS: reads }, [
      'sites',
      'move',
      site.host,
      '--to',
      'b',
      '--yes',
    ]);
    expect(refused).toMatchObject({ code: 1, error: expect.stringContaining('with the scope move') });
    const moveToken = (a.env['CELL_MOVE_TOKENS'] as string).slice('b='.length);
    const caller = b.admin.withHeaders({ authorization: `Bearer ${moveToken}` });
    expect((await caller('/sites')).status).toBe(403);
    expect((await (await b.admin.signedIn('operator'))(`/sites/${site.host}/arrival`)).status).toBe(403);

    const owner = `owner-of-${site.host}`;
    const alone = { ...b.env, CELLS: '', CELL_TOKENS: '', CELL_MOVE_TOKENS: '' };
    expect(await runIn(alone, ['sites', 'add', owner, '--alias', site.host])).toMatchObject({ code: 0 });
    expect(await move(a, b)).toMatchObject({ code: 1, error: expect.stringContaining(`belongs to site ${owner}`) });
    expect(await b.cli('sites', 'set', owner, '--remove-alias', site.host)).toMatchObject({ code: 0 });
    expect(await b.cli('sites', 'add', site.host)).toMatchObject({ code: 1, error: expect.stringContaining('cell a') });
    expect(await move(a, b)).toMatchObject({ code: 0 });
    // Steps of an earlier move, and of none.
    const step = (path: string, body: object) => caller(`/sites/${site.host}/arrival${path}`, { method: 'POST', body });
    const opening = { position: 1, head: '0'.repeat(64) };
    expect(await step('/open', { epoch: 9, ...opening })).toMatchObject({ status: 422 });
    expect(await step('/open', { epoch: 1, ...opening })).toMatchObject({ status: 200, body: { state: 'open' } });
    expect(
      await caller('/sites/new.example/arrival/open', { method: 'POST', body: { epoch: 1, ...opening } }),
    ).toMatchObject({
      ...{ status: 422, body: { detail: expect.stringContaining('No move of new.example') } },
    });
  });

  it('compares the numbers of events before the site leaves, and starts over after a cancellation', async () => {
    await convert(a, 'F-1');
    await interrupted(4);
    await other.postgres.pool.query(`UPDATE cc.site_moves SET events = events - 1 WHERE site = $1`, [site.host]);
    const refused = await move(a, b);
    expect(refused).toMatchObject({ code: 1, error: expect.stringContaining('The site stays in this cell') });
    expect(refused.error).toContain(`"sites move ${site.host} --cancel"`);
    const started = await operator.log.read({ site: site.host, types: ['site.move_started.v1'] });
    expect(started).toEqual([]);
    expect((await convert(a, 'F-2')).status).toBe(200);
    // Cell b polls its log for the events that were copied.
    await eventually(
      () => convert(b, 'F-2'),
      ({ status }) => status === 503,
    );
    expect(await a.cli('sites', 'move', site.host, '--cancel')).toMatchObject({ code: 0 });
    expect(await move(a, b)).toMatchObject({ code: 0 });
    expect(await ordersOf(other)).toEqual(['F-1', 'F-2']);
    for (const cell of [a, b]) await expectVerified(cell);
  });

  it('ends with an error if its database does not answer any more, and continues later', async () => {
    await convert(a, 'N-1');
    // A page ends with it, so that another one is read while the first one is stored.
    expect(await a.cli('visitors', 'erase', '--email', 'jane@example.com', '--site', site.host, '--yes')).toMatchObject(
      { code: 0 },
    );
    await convert(a, 'N-2');
    const database = await HoldingProxy.start(a.server.host);
    const proxy = await startFlakyProxy(b.admin.url);
    proxy.onCall = async (path) => {
      if (path.endsWith('/events')) database.hold();
    };
    const env = { ...a.env, DATABASE_URL: database.urlOf(a.databaseUrl), CELLS: `b=${proxy.url}` };
    const stalled = await runIn(env, ['sites', 'move', site.host, '--to', 'b', '--yes']);
    expect(stalled).toMatchObject({ code: 1, error: expect.stringContaining('Run the command again') });
    await proxy.stop();
    await database.stop();
    expect(await move(a, b)).toMatchObject({ code: 0 });
    expect(await ordersOf(other)).toEqual(['N-1', 'N-2']);
  });

  it('does not fail appends while the command is frozen at a step for which they wait', async () => {
    const client = await operator.postgres.connect('frozen');
    await client.query('BEGIN');
    await lockAppends(client);
    expect((await convert(a, 'M-1')).status).toBe(200);
    await expect(client.query('COMMIT')).rejects.toThrow();
    await client.end().catch(() => {});
  });

  it('refuses a host of which the other cell had a site of its own, before anything is copied', async () => {
    const alone = { ...b.env, CELLS: '', CELL_TOKENS: '', CELL_MOVE_TOKENS: '' };
    expect(await runIn(alone, ['sites', 'add', site.host])).toMatchObject({ code: 0 });
    expect(await runIn(alone, ['sites', 'remove', site.host, '--yes'])).toMatchObject({ code: 0 });
    const before = await eventsOf(other);
    expect(await move(a, b)).toMatchObject({
      ...{ code: 1, error: expect.stringContaining(`move ${site.host} to another cell`) },
    });
    expect(await eventsOf(other)).toEqual(before);
    expect((await convert(a, 'H-1')).status).toBe(200);
  });

  it('names secrets that cannot be opened before the site leaves, and refuses those that cannot be sent', async () => {
    const { pool } = operator.postgres;
    const store = (name: string, sealed: Buffer) =>
      pool.query('INSERT INTO cc.secrets (site, name, sealed) VALUES ($1, $2, $3)', [site.host, name, sealed]);
    await store('ga4.api_secret', Buffer.alloc(64, 1));
    const dry = await move(a, b, '--dry-run', '--json');
    expect(JSON.parse(dry.out)).toMatchObject({ unreadable: 'ga4.api_secret' });
    const sealer = new Sealer(Buffer.from(SECRET_KEY, 'hex'));
    await store('meta.key', sealer.seal(Buffer.alloc(75_001, 1), `${site.host} meta.key`));
    expect(await move(a, b)).toMatchObject({ code: 1, error: expect.stringContaining('meta.key is longer than') });
    expect((await other.postgres.pool.query('SELECT FROM cc.site_moves WHERE site = $1', [site.host])).rowCount).toBe(
      0,
    );
    await pool.query(`DELETE FROM cc.secrets WHERE site = $1 AND name = 'meta.key'`, [site.host]);
    const moved = await move(a, b);
    expect(moved).toMatchObject({ code: 0 });
    expect(moved.error).toMatch(/does not open ga4\.api_secret: set them again in cell b.* has left\./s);
  });
});
