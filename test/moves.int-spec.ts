import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { ConnectPlatform } from '../src/sites/connection.commands.js';
import { CancelMove, StartMove } from '../src/sites/move.commands.js';
import { AddSite, PauseSite } from '../src/sites/site.commands.js';
import { type CliResult, runIn, startCells, type TestCell } from './support/cells.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import {
  eventually,
  type Operator,
  openOperator,
  post,
  type Reply,
  send,
  type TestSite,
} from './support/service.js';

jest.setTimeout(300_000);

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36';

let servers: [TestServer, TestServer];
let sandbox: RunningSandbox;
let a: TestCell;
let b: TestCell;
/** Of cell a, and of cell b. */
let operator: Operator;
let other: Operator;
let site: TestSite;

beforeAll(async () => {
  servers = [await startTestServer(), await startTestServer()];
  sandbox = await new Sandbox().start();
  [a, b] = await startCells(servers, { INBOUND_DEADLINE: '1s', DELIVERY_RETRY_SCHEDULE: '1s' });
  operator = await openOperator(a.databaseUrl);
  other = await openOperator(b.databaseUrl);
});
afterAll(async () => {
  await operator?.close();
  await other?.close();
  for (const cell of [a, b]) await cell?.stop();
  await sandbox?.stop();
  for (const server of servers ?? []) await server.stop();
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
        { withinMs: 120_000 },
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
    await eventually(deliveries, (times) => times.length === sender.accepted.length, { withinMs: 120_000 });
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
    await eventually(deliveries, (times) => times.length === all.length, { withinMs: 120_000 });
    expect(new Set(await deliveries())).toEqual(new Set([1]));
    for (const cell of [a, b]) await expectVerified(cell);
    expect((await convert(b, 'late')).status).toBe(503);
    const site2 = JSON.parse((await a.cli('sites', 'show', site.host, '--json')).out);
    expect(site2).toMatchObject({ epoch: 2, inbound: true });
    expect(site2.move).toBeUndefined();
  });
});
