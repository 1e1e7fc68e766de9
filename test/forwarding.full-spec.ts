import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { request as requestTls } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { moveOut } from '../src/moves/move-out.js';
import { StartMove } from '../src/sites/move.commands.js';
import { makeCertificate } from './support/certificate.js';
import { temporaryFolder } from './support/folders.js';
import { type Operator, openOperator } from './support/service.js';
import { type ServiceProcess, sharedDatabase, spawnService } from './support/service-process.js';
import { eventually } from './support/waiting.js';

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const HOST = 'shop.example';
const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36';
/** Each address may make so many calls of the tag in a day. */
const CALLS = 2;

const root = temporaryFolder('cc-forwarding-');
const folders = { a: join(root, 'a'), b: join(root, 'b') };
const certificate = makeCertificate();
const children = new Set<ChildProcess>();
/** The site moves from a, which serves plain HTTP on this machine, to b, which serves HTTPS. */
let a: ServiceProcess;
let b: ServiceProcess;
let operators: { a: Operator; b: Operator };
let settingsOfB: Record<string, string>;
let moving: Record<string, string>;
let key: string;

beforeAll(async () => {
  const [cert, privateKey] = [join(root, 'cert.pem'), join(root, 'key.pem')];
  writeFileSync(cert, certificate.cert);
  writeFileSync(privateKey, certificate.key);
  const port = String(await freePort());
  const shared = {
    LOG_LEVEL: 'info',
    INBOUND_DEADLINE: '2s',
    TRUSTED_PROXIES: '127.0.0.1,::1',
    COUNTRY_HEADER: 'X-Country',
  };
  settingsOfB = {
    ...{
      ...shared,
      CELL: 'b',
      PORT: port,
      CELL_ADDRESS: `https://localhost:${port}`,
      TLS_CERT: cert,
      TLS_KEY: privateKey,
    },
    TAG_BUDGET_ADDRESS: `100/${CALLS}/50`,
  };
  a = await spawnService(folders.a, { ...shared, CELL: 'a', ADMIN_PORT: '0', NODE_EXTRA_CA_CERTS: cert });
  const { CELLS, CELL_TOKENS } = await tokensOf('a', a);
  // Before b accepts a site, it asks a whether the site leaves for it.
  settingsOfB = { ...settingsOfB, CELLS, CELL_TOKENS };
  b = await spawnService(folders.b, { ...settingsOfB, ADMIN_PORT: '0' });
  operators = { a: await operatorOf(folders.a), b: await operatorOf(folders.b) };
  moving = await tokensOf('b', b);
  await cli('a', 'sites', 'add', HOST);
  await cli('a', 'inbound', 'enable', HOST);
  key = JSON.parse((await cli('a', 'keys', 'create', '--site', HOST, '--name', 'shop', '--json')).out).key;
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const each of Object.values(operators ?? {})) await each.close();
  for (const service of [a, b]) if (service?.child.exitCode === null) await service.end('SIGTERM');
  rmSync(root, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function operatorOf(folder: string): Promise<Operator> {
  return openOperator(sharedDatabase(folder)['DATABASE_URL'] as string);
}

/** Settings with which another cell can ask this one, and its command line can move a site to it. */
async function tokensOf(cell: 'a' | 'b', { output }: ServiceProcess) {
  const url = await eventually(
    async () => /"url":"([^"]+)"[^\n]*The management API listens/.exec(output())?.[1],
    (found) => found !== undefined,
  );
  const added = await cli(cell, 'users', 'add', 'ada@cell.example', '--role', 'admin', '--json');
  const link = String(JSON.parse(added.out).link).split('#')[1];
  const call = (path: string, body: object, headers = {}) =>
    fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const session = await call('/session/password', { link, password: 'correct horse battery staple' });
  const headers = { cookie: String(session.headers.get('set-cookie')).split(';')[0], 'x-cc-csrf': '1' };
  const create = async (scope: string) =>
    ((await (await call('/tokens', { name: scope, scopes: [scope] }, headers)).json()) as { token: string }).token;
  const [read, move] = [await create('read'), await create('move')];
  return { CELLS: `${cell}=${url}`, CELL_TOKENS: `${cell}=${read}`, CELL_MOVE_TOKENS: `${cell}=${move}` };
}

/** With `killAt`, the process is killed when its standard error matches. */
async function run(cell: 'a' | 'b', argv: readonly string[], killAt?: RegExp) {
  const isMove = argv[1] === 'move';
  const own = { PATH: process.env['PATH'] ?? '', DATA_DIR: folders[cell], CELL: cell };
  const child = spawn(process.execPath, [CLI, ...argv], { env: { ...own, ...(isMove && moving) } });
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

async function cli(cell: 'a' | 'b', ...argv: string[]) {
  const end = await run(cell, argv);
  if (end.code !== 0) throw new Error(`${argv.join(' ')}: ${end.error}`);
  return end;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly json: () => Record<string, unknown>;
}

function send(
  { url }: ServiceProcess,
  path: string,
  { method = 'POST', headers = {}, body }: { method?: string; headers?: OutgoingHttpHeaders; body?: string } = {},
): Promise<Answer> {
  const secure = url.startsWith('https:');
  // As an option, because a URL would be normalised.
  const options = { method, path, headers: { host: HOST, ...headers }, agent: false as const };
  return new Promise((resolve, reject) => {
    const sent = secure
      ? requestTls(url, { ...options, ca: certificate.cert, servername: 'localhost' })
      : request(url, options);
    sent.once('error', reject);
    sent.once('response', async (response) => {
      const body = Buffer.concat(await response.toArray());
      const { statusCode: status = 0, headers } = response;
      resolve({ status, headers, body, json: () => JSON.parse(body.toString()) });
    });
    sent.end(body);
  });
}

const order = (orderId: string) => ({
  event: 'purchase',
  email: 'jane@example.com',
  value: 5,
  currency: 'EUR',
  orderId,
});
const asJson = () => ({ 'x-cc-api-key': key, 'content-type': 'application/json' });
const post = (to: ServiceProcess, orderId: string, headers: OutgoingHttpHeaders = {}) =>
  send(to, '/__cc/inbound', { headers: { ...asJson(), ...headers }, body: JSON.stringify(order(orderId)) });

function visit(to: ServiceProcess, address: string): Promise<Answer> {
  const message = { v: 1, visit: randomUUID(), visitor: randomUUID(), clicks: { gclid: { id: 'Gclid_One' } } };
  return send(to, '/__cc/collect', {
    body: JSON.stringify({ ...message, page: `https://${HOST}/` }),
    headers: {
      ...{ origin: `https://${HOST}`, 'content-type': 'text/plain', 'user-agent': BROWSER },
      ...{ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' },
    },
  });
}

async function ordersIn(cell: 'a' | 'b'): Promise<string[]> {
  const { rows } = await operators[cell].postgres.pool.query<{ reference: string }>(
    `SELECT reference FROM cc.events WHERE site = $1 AND type = 'conversion.received.v1' ORDER BY reference`,
    [HOST],
  );
  return rows.map(({ reference }) => reference);
}

async function eventsIn(cell: 'a' | 'b'): Promise<number> {
  const { rows } = await operators[cell].postgres.pool.query('SELECT count(*)::int FROM cc.events WHERE site = $1', [
    HOST,
  ]);
  return rows[0].count;
}

/** Without what differs from request to request. */
function comparable({ status, headers, body }: Answer) {
  const { date: _, 'x-request-id': __, connection: ___, 'keep-alive': ____, ...rest } = headers;
  return { status, headers: rest, body: body.toString() };
}

const isReady = async (cell: ServiceProcess, orderId: string) =>
  eventually(
    () => post(cell, orderId),
    ({ status }) => status === 200,
  );

describe('a site that has moved, whose senders still call the old cell', () => {
  const move = ['sites', 'move', HOST, '--to', 'b', '--yes'];
  let eventsWhenLeft: number;

  it('asks for a retry while neither cell is open', async () => {
    expect((await post(a, 'before')).status).toBe(200);
    expect((await run('a', move, /has left\./)).error).toMatch(/has left\./);
    const answer = await eventually(
      () => post(a, 'between'),
      ({ status, headers }) => status === 503 && headers['retry-after'] !== undefined,
    );
    expect(answer.json()).toMatchObject({ ok: false, error: expect.any(String) });
    await cli('a', ...move);
    eventsWhenLeft = await eventsIn('a');
  });

  it('stores conversions once, in the new cell, and passes its receipts on', async () => {
    const receipt = (await isReady(a, 'between')).json();
    expect(receipt).toMatchObject({ ok: true });
    const first = await post(a, 'first');
    expect(first.status).toBe(200);
    const id = first.headers['x-cc-conversion-id'] as string;
    const again = await post(b, 'first');
    expect(again.headers['x-cc-first-conversion-id']).toBe(id);
    const read = (from: ServiceProcess) => send(from, `/__cc/inbound/${id}`, { method: 'GET', headers: asJson() });
    expect((await read(a)).json()).toEqual((await read(b)).json());
    expect((await read(a)).status).toBe(200);
    // Its claim was copied.
    expect((await post(a, 'before')).headers['x-cc-first-conversion-id']).toEqual(expect.any(String));
    const batch = JSON.stringify([order('batch-1'), order('batch-2')]);
    const answer = await send(a, '/__cc/inbound/batch', { headers: asJson(), body: batch });
    expect(answer.json()).toMatchObject({ ok: true, results: [{ status: 200 }, { status: 200 }] });
    const stored = ['batch-1', 'batch-2', 'before', 'between', 'first'];
    expect([...new Set(await ordersIn('b'))]).toEqual(stored);
    expect(await ordersIn('a')).toEqual(['before']);
    expect(await eventsIn('a')).toBe(eventsWhenLeft);
  });

  it('passes the errors of the new cell on as they are', async () => {
    const requests: [string, Parameters<typeof send>[2]][] = [
      ['/__cc/inbound', { headers: { ...asJson(), 'x-cc-api-key': 'wrong' }, body: '{}' }],
      ['/__cc/inbound', { headers: asJson(), body: '{"event":' }],
      ['/__cc/inbound', { headers: asJson(), body: JSON.stringify({ event: 'purchase' }) }],
      ['/__cc/inbound', { headers: { ...asJson(), 'content-type': 'text/csv' }, body: 'a,b' }],
      ['/__cc/inbound', { headers: asJson(), body: 'x'.repeat(70_000) }],
      ['/__cc/inbound', { headers: { ...asJson(), 'transfer-encoding': 'chunked' }, body: 'x'.repeat(70_000) }],
      ['/__cc/inbound', { method: 'PUT', headers: asJson(), body: '{}' }],
      ['/__cc/inbound', { method: 'GET', headers: { ...asJson(), 'transfer-encoding': 'chunked' }, body: 'GET / x' }],
      ['/__cc/inbound/unknown', { method: 'GET', headers: asJson() }],
      ['/__cc/collect', { headers: { origin: 'https://evil.example', 'content-type': 'text/plain' }, body: '{}' }],
      ['/__cc/consent', { method: 'OPTIONS', headers: { origin: `https://${HOST}` } }],
      ['/__cc/tag.js', { method: 'HEAD' }],
    ];
    for (const [path, options] of requests) {
      const direct = comparable(await send(b, path, options));
      expect([path, options, comparable(await send(a, path, options))]).toEqual([path, options, direct]);
    }
  });

  it('passes on cookies, the compressed tag, and the address of the client, on which limits depend', async () => {
    const answers = [];
    for (let call = 0; call < CALLS; call += 1) answers.push(await visit(a, '203.0.113.1'));
    expect(answers.map(({ status }) => status)).toEqual([204, 204]);
    expect(answers[0]?.headers['set-cookie']).toEqual([expect.stringMatching(/^_ccv=.*; Secure/)]);
    expect((await visit(a, '203.0.113.1')).status).toBe(429);
    expect((await visit(a, '203.0.113.2')).status).toBe(204);
    const script = await send(a, '/__cc/tag.js', { method: 'GET', headers: { 'accept-encoding': 'gzip' } });
    expect(script.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(script.body).toString()).toContain('/__cc/');
    expect(await eventsIn('a')).toBe(eventsWhenLeft);
  });

  it('says itself that HTTPS is required, and forwards no path that a proxy may resolve', async () => {
    const plain = await post(a, 'plain', { 'x-forwarded-for': '203.0.113.1', 'x-forwarded-proto': 'http' });
    expect([plain.status, plain.body.toString()]).toEqual([403, 'HTTPS required']);
    expect((await send(a, '/__cc/inbound/../../metrics', { method: 'GET' })).status).toBe(404);
  });

  it('asks for a retry while the new cell is dead, and a later one succeeds', async () => {
    await b.end('SIGKILL');
    const answer = await post(a, 'later');
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5']);
    expect(answer.json()).toEqual({ ok: false, error: expect.stringContaining('which does not answer') });
    expect((await visit(a, '203.0.113.3')).status).toBe(503);
    await operators.b.close();
    b = await spawnService(folders.b, settingsOfB);
    operators = { ...operators, b: await operatorOf(folders.b) };
    await isReady(a, 'later');
    expect((await ordersIn('b')).filter((each) => each === 'later')).toHaveLength(1);
  });

  it('logs the start once and that the cell was silent, counts requests, and logs no key', async () => {
    const count = (text: string) => a.output().split(text).length - 1;
    expect(count('Forwarding requests for a site that has moved')).toBe(1);
    expect(count('A cell does not answer forwarded requests')).toBeGreaterThan(0);
    expect([a.output(), b.output()].filter((text) => text.includes(key))).toEqual([]);
    const metrics = (await send(a, '/metrics', { method: 'GET' })).body.toString();
    expect(metrics).toMatch(/cc_forwarded_requests_total\{site="shop.example",outcome="answered"\} [1-9]/);
    expect(metrics).toMatch(/cc_forwarded_requests_total\{site="shop.example",outcome="unreachable"\} [1-9]/);
  });
});

describe('a request that was forwarded once', () => {
  /** As after restores of both cells to different times. */
  async function leave(from: 'a' | 'b', host: string, to: string, address: string): Promise<void> {
    const { execute, postgres, log } = operators[from];
    await cli(from, 'sites', 'add', host);
    await execute(new StartMove('cli', host, to, 1));
    await moveOut({ postgres, log }, { actor: 'cli', host, to, epoch: 1, address });
  }
  const reasonAt = async (cell: ServiceProcess, host: string, reason: string) =>
    eventually(
      () => post(cell, 'loop', { host }),
      ({ status, headers, body }) => status === 503 && headers['retry-after'] === '5' && body.includes(reason),
    );

  it('is not forwarded again by a cell that believes the other one has the site', async () => {
    await leave('a', 'loop.example', 'b', settingsOfB['CELL_ADDRESS'] as string);
    await leave('b', 'loop.example', 'a', a.url);
    await reasonAt(a, 'loop.example', 'Two cells say of each other');
    await reasonAt(b, 'loop.example', 'Two cells say of each other');
  });

  it('is to be sent again if the cell does not know the site', async () => {
    await leave('a', 'lost.example', 'b', settingsOfB['CELL_ADDRESS'] as string);
    await reasonAt(a, 'lost.example', 'does not have it yet');
  });
});
