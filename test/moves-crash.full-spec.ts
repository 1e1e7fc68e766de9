import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { temporaryFolder } from './support/folders.js';
import { type ServiceProcess, sharedDatabase, spawnService } from './support/service-process.js';
import { eventually } from './support/waiting.js';

jest.setTimeout(900_000);

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const SHORT_WINDOWS = new URL('./support/short-windows.mjs', import.meta.url).href;
const HOST = 'shop.example';
const SENDERS = 3;

/** What the command prints when a step is complete. It is killed then, and run again. */
const STEPS = [
  /is ready for move/,
  /^Copied \d+ events/m,
  /Deliveries and pushes have ended/,
  /has left\./,
  /Copied all/,
  /Sent its secrets/,
  /has opened it/,
];

interface CellProcess {
  readonly name: string;
  readonly folder: string;
  readonly service: ServiceProcess;
  readonly adminUrl: string;
  readonly database: Client;
}

const folders: string[] = [];
const children = new Set<ChildProcess>();
const services: ServiceProcess[] = [];
let sandbox: RunningSandbox;
let a: CellProcess;
let b: CellProcess;
/** Tokens for each cell, by its name and their scope. */
const tokens = new Map<string, { read: string; move: string }>();
let key: string;

beforeAll(async () => {
  sandbox = await new Sandbox().start();
  a = await startCell('a');
  b = await startCell('b');
  for (const cell of [a, b]) tokens.set(cell.name, await createTokens(cell));
  // Each asks the other one about the site.
  [a, b] = [await restartCell(a), await restartCell(b)];
  await cli(a, 'sites', 'add', HOST);
  await cli(a, 'inbound', 'enable', HOST);
  key = JSON.parse((await cli(a, 'keys', 'create', '--site', HOST, '--name', 'shop', '--json')).out).key;
  for (const [platform, settings] of [
    ['meta', ['pixel_id=111', 'access_token=token']],
    ['segment', ['write_key=key']],
  ] as const) {
    const set = settings.flatMap((each) => ['--set', each]);
    await cli(
      a,
      'platforms',
      'connect',
      platform,
      '--site',
      HOST,
      ...set,
      '--endpoint',
      `${sandbox.url}/${platform}@x`,
    );
  }
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const cell of [a, b]) await cell?.database.end();
  for (const service of services) await service.end('SIGTERM');
  await sandbox?.stop();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function startCell(name: string): Promise<CellProcess> {
  const folder = temporaryFolder(`cc-cell-${name}-`);
  folders.push(folder);
  return runCell(name, folder, { ADMIN_PORT: '0' });
}

/** With the other cell in its settings. */
async function restartCell(cell: CellProcess): Promise<CellProcess> {
  const { CELLS = '', CELL_TOKENS = '' } = environmentOf(cell);
  await cell.database.end();
  services.splice(services.indexOf(cell.service), 1);
  await cell.service.end('SIGTERM');
  return runCell(cell.name, cell.folder, { ADMIN_PORT: new URL(cell.adminUrl).port, CELLS, CELL_TOKENS });
}

async function runCell(name: string, folder: string, settings: Record<string, string>): Promise<CellProcess> {
  const service = await spawnService(folder, {
    ...{
      CELL: name,
      LOG_LEVEL: 'info',
      INBOUND_DEADLINE: '2s',
      DELIVERY_RETRY_SCHEDULE: '300ms,500ms',
    },
    NODE_OPTIONS: `--import ${SHORT_WINDOWS}`,
    ...settings,
  });
  services.push(service);
  const adminUrl = await eventually(
    async () => /"url":"([^"]+)"[^\n]*The management API listens/.exec(service.output())?.[1],
    (found) => found !== undefined,
  );
  const database = new Client({ connectionString: sharedDatabase(folder)['DATABASE_URL'] });
  await database.connect();
  return { name, folder, service, adminUrl: adminUrl as string, database };
}

/** As a signed-in administrator does on the dashboard. */
async function createTokens(cell: CellProcess): Promise<{ read: string; move: string }> {
  const added = await cli(cell, 'users', 'add', `ada@${cell.name}.example`, '--role', 'admin', '--json');
  const link = String(JSON.parse(added.out).link).split('#')[1];
  const call = (path: string, body: object, headers = {}) =>
    fetch(`${cell.adminUrl}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const session = await call('/session/password', { link, password: 'correct horse battery staple' });
  const headers = { cookie: String(session.headers.get('set-cookie')).split(';')[0], 'x-cc-csrf': '1' };
  const create = async (scope: string) =>
    ((await (await call('/tokens', { name: scope, scopes: [scope] }, headers)).json()) as { token: string }).token;
  return { read: await create('read'), move: await create('move') };
}

function environmentOf(cell: CellProcess): Record<string, string> {
  const other = cell.name === 'a' ? b : a;
  const { read, move } = tokens.get(other.name) ?? {};
  const own = { PATH: process.env['PATH'] ?? '', DATA_DIR: cell.folder, CELL: cell.name };
  if (!read) return own;
  const { name, adminUrl } = other;
  return { ...own, CELLS: `${name}=${adminUrl}`, CELL_TOKENS: `${name}=${read}`, CELL_MOVE_TOKENS: `${name}=${move}` };
}

interface CliEnd {
  readonly out: string;
  readonly error: string;
  readonly code: number | null;
}

/** With `killAt`, the process is killed when its standard error matches. */
async function run(cell: CellProcess, argv: readonly string[], killAt?: RegExp): Promise<CliEnd> {
  const child = spawn(process.execPath, [CLI, ...argv], { env: environmentOf(cell) });
  children.add(child);
  let [out, error] = ['', ''];
  child.stdout.on('data', (part) => {
    out += part;
  });
  child.stderr.on('data', (part) => {
    error += part;
    if (killAt?.test(error)) child.kill('SIGKILL');
  });
  const [code] = (await once(child, 'close')) as [number | null];
  children.delete(child);
  return { out, error, code };
}

async function cli(cell: CellProcess, ...argv: string[]): Promise<CliEnd> {
  const end = await run(cell, argv);
  if (end.code !== 0) throw new Error(`${argv.join(' ')}: ${end.error}`);
  return end;
}

function post(cell: CellProcess, orderId: string): Promise<number> {
  const body = JSON.stringify({ event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR', orderId });
  const headers = { host: HOST, 'x-cc-api-key': key, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(`${cell.service.url}/__cc/inbound`, { method: 'POST', headers }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode as number));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

/** Each order is sent to one cell after the other until one has accepted it. */
function startSending() {
  const accepted: string[] = [];
  let isStopped = false;
  const senders = Array.from({ length: SENDERS }, async (_, sender) => {
    for (let number = 1; !isStopped; number += 1) {
      const orderId = `${sender}-${number}`;
      for (let at = 0; (await post(at % 2 === 0 ? a : b, orderId)) !== 200; at += 1) await sleep(20);
      accepted.push(orderId);
      await sleep(50);
    }
  });
  return {
    accepted,
    async stop() {
      isStopped = true;
      await Promise.all(senders);
    },
  };
}

async function countOf({ database }: CellProcess, type: string): Promise<number> {
  const { rows } = await database.query('SELECT count(*)::int AS count FROM cc.events WHERE site = $1 AND type = $2', [
    HOST,
    type,
  ]);
  return rows[0].count;
}

/** How often each platform accepted each conversion, and with how many different bodies. */
async function deliveries(): Promise<{ times: number; bodies: string[] }[]> {
  type Account = { events: Record<string, { times: number; bodies: string[] }> };
  const ledger = (await (await fetch(`${sandbox.url}/ledger`)).json()) as Record<string, Record<string, Account>>;
  return ['meta', 'segment'].flatMap((platform) => Object.values(ledger[platform]?.['x']?.events ?? {}));
}

describe('a site that moves back and forth under load, by a command that is killed after each of its steps', () => {
  it('loses no conversion, delivers none twice, and both logs verify', async () => {
    const sender = startSending();
    let [from, to] = [a, b];
    for (const step of STEPS) {
      const argv = ['sites', 'move', HOST, '--to', to.name, '--yes'];
      const killed = await run(from, argv, step);
      expect([step, killed.error]).toEqual([step, expect.stringMatching(step)]);
      const again = await run(from, argv);
      expect([step, again]).toMatchObject([step, { code: 0 }]);
      // The cell accepts conversions again before the next move.
      const before = sender.accepted.length;
      await eventually(
        async () => sender.accepted.length,
        (count) => count > before + 10,
      );
      [from, to] = [to, from];
    }
    await sender.stop();
    const { rows } = await from.database.query<{ reference: string }>(
      `SELECT reference FROM cc.events WHERE site = $1 AND type = 'conversion.received.v1'`,
      [HOST],
    );
    expect(rows.map(({ reference }) => reference).sort()).toEqual([...sender.accepted].sort());
    await eventually(deliveries, (found) => found.length === 2 * sender.accepted.length, { withinMs: 180_000 });
    const delivered = await deliveries();
    expect(delivered.filter(({ times, bodies }) => times !== 1 || bodies.length !== 1)).toEqual([]);
    await eventually(
      () => countOf(from, 'conversion.delivered.v1'),
      (count) => count === 2 * sender.accepted.length,
    );
    for (const cell of [a, b]) {
      const { out, error } = await run(cell, ['history', 'verify', '--json']);
      const { checks } = JSON.parse(out || `{"checks":[{"name":${JSON.stringify(error)}}]}`);
      expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
    }
    const shown = JSON.parse((await cli(from, 'sites', 'show', HOST, '--json')).out);
    expect(shown).toMatchObject({ host: HOST, epoch: STEPS.length, inbound: true });
    // A command after the move changes nothing.
    expect(await run(to, ['sites', 'move', HOST, '--to', from.name, '--yes'])).toMatchObject({ code: 0 });
  });
});
