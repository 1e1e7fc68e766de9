import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type RequestOptions, request, type Server } from 'node:http';
import { request as requestTls } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { makeCertificate } from './support/certificate.js';
import { temporaryFolder } from './support/folders.js';
import { type ServiceProcess, spawnService } from './support/service-process.js';

const checkout = join(import.meta.dirname, '..');
const page = readFileSync(join(checkout, 'docs/reverse-proxy.md'), 'utf8');
/** The demo site's host takes the place of the page's host. */
const HOST = 'localhost';
const FORGED_ADDRESS = '198.51.100.7';
const READY_WITHIN_MS = 60_000;

interface Ports {
  readonly http: number;
  readonly https: number;
  readonly service: number;
  readonly shop: number;
}

interface Proxy {
  readonly name: string;
  readonly binary: string;
  readonly file: string;
  /** Turns the configuration into one for these ports. */
  readonly configure: (sample: string, ports: Ports, folder: string) => string;
  readonly args: (file: string, folder: string) => readonly string[];
  readonly redirectStatus: number;
  /** To more than 1,000 headers, which some proxies do not forward. */
  readonly manyHeadersStatus: number;
}

const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    file: 'deploy/nginx.conf',
    binary: '/usr/sbin/nginx',
    configure: (sample, ports, folder) => {
      const site = replaceAll(sample, {
        '127.0.0.1:8080': `127.0.0.1:${ports.service}`,
        '127.0.0.1:3000': `127.0.0.1:${ports.shop}`,
        'listen 80;': `listen 127.0.0.1:${ports.http};`,
        'listen 443 ': `listen 127.0.0.1:${ports.https} `,
        '/etc/ssl/shop.example.pem': join(folder, 'cert.pem'),
        '/etc/ssl/shop.example.key': join(folder, 'key.pem'),
        'shop.example': HOST,
      });
      const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const temporary = kinds.map((kind) => `${kind}_temp_path ${join(folder, kind)};`).join(' ');
      // One process with the rights of the test, so that every file it uses can be in the test's folder.
      return `daemon off; master_process off; pid ${join(folder, 'nginx.pid')}; error_log stderr;
        events {} http { access_log off; ${temporary} ${site} }`;
    },
    args: (file, folder) => ['-p', folder, '-e', 'stderr', '-c', file],
    redirectStatus: 301,
    manyHeadersStatus: 400,
  },
  {
    name: 'caddy',
    file: 'deploy/Caddyfile',
    binary: '/usr/bin/caddy',
    configure: (sample, ports) => {
      const site = replaceAll(sample, {
        '127.0.0.1:8080': `127.0.0.1:${ports.service}`,
        '127.0.0.1:3000': `127.0.0.1:${ports.shop}`,
        'http://shop.example {': `http://${HOST}:${ports.http} {\n\tbind 127.0.0.1`,
        'shop.example {': `https://${HOST}:${ports.https} {\n\ttls internal\n\tbind 127.0.0.1`,
      });
      // Certificates come from Caddy's own authority, which stays in the test's folder.
      return `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n${site}`;
    },
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
    redirectStatus: 308,
    manyHeadersStatus: 431,
  },
];
for (const { name, binary, file } of PROXIES)
  if (!existsSync(binary)) console.warn(`SKIPPED: ${file} with ${name}, which is not installed.`);

const root = temporaryFolder('cc-proxy-');
const dataDir = join(root, 'data');

let service: ServiceProcess;
let shop: Server;
let shopRequests: { readonly url: string; readonly headers: IncomingHttpHeaders }[];

beforeAll(async () => {
  service = await spawnService(dataDir, { TRUSTED_PROXIES: '127.0.0.1' });
  shop = createServer((incoming, response) => {
    shopRequests.push({ url: incoming.url as string, headers: incoming.headers });
    response.end('shop');
  });
  await new Promise<void>((listening) => shop.listen(0, '127.0.0.1', listening));
});
afterAll(async () => {
  await service?.end('SIGTERM');
  shop?.close();
  shop?.closeAllConnections();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});
beforeEach(() => {
  shopRequests = [];
});

describe.each(PROXIES.filter(({ binary }) => existsSync(binary)))('the $name configuration', (proxy) => {
  let child: ChildProcess;
  let ports: Ports;
  let output = '';

  beforeAll(async () => {
    const folder = join(root, proxy.name);
    mkdirSync(folder);
    const { cert, key } = makeCertificate();
    writeFileSync(join(folder, 'cert.pem'), cert);
    writeFileSync(join(folder, 'key.pem'), key);
    const [http, https] = [await freePort(), await freePort()];
    const { port } = shop.address() as AddressInfo;
    ports = { http, https, service: Number(new URL(service.url).port), shop: port };
    const file = join(folder, 'proxy.conf');
    writeFileSync(file, proxy.configure(readFileSync(join(checkout, proxy.file), 'utf8'), ports, folder));
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
    child = spawn(proxy.binary, proxy.args(file, folder), { env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout?.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      output += chunk;
    });
    const address = { host: '127.0.0.1', servername: HOST, rejectUnauthorized: false };
    await untilReady(
      () => connect(http, '127.0.0.1'),
      child,
      () => output,
    );
    await untilReady(
      () => connectTls({ ...address, port: https }),
      child,
      () => output,
    );
  });
  afterAll(async () => {
    if (!child || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  });

  const overTls = (options: RequestOptions, body?: string) =>
    exchange(requestTls({ ...options, host: '127.0.0.1', port: ports.https, rejectUnauthorized: false }), body);
  const overHttp = (options: RequestOptions, body?: string) =>
    exchange(request({ ...options, host: '127.0.0.1', port: ports.http }), body);
  const conversion = (orderId: string, headers: Record<string, string> = {}) =>
    [
      {
        method: 'POST',
        path: '/__cc/inbound',
        headers: { Host: HOST, 'X-CC-Api-Key': service.key, 'Content-Type': 'application/json', ...headers },
      },
      JSON.stringify({ email: 'jane@example.com', event: 'purchase', orderId: `${proxy.name}-${orderId}` }),
    ] as const;

  it('forwards a conversion posted over TLS to the service', async () => {
    const { status, body } = await overTls(...conversion('tls'));
    expect([status, body]).toEqual([200, '{"ok":true,"event":"purchase","results":{}}']);
    expect(shopRequests).toEqual([]);
  });

  it('serves the tag script', async () => {
    const { status, headers } = await overTls({ path: '/__cc/tag.js', headers: { Host: HOST } });
    expect([status, headers['content-type']]).toEqual([200, expect.stringContaining('javascript')]);
  });

  it('answers 401 to the check of the page', async () => {
    const { status, body } = await overTls({ method: 'POST', path: '/__cc/inbound', headers: { Host: HOST } });
    expect([status, body]).toEqual([401, '{"ok":false,"error":"Invalid API key"}']);
  });

  it.each(['/other', '/', '/metrics', '/docs', '/__ccx', '/__cc/../metrics', '/__cc/%2e%2e/metrics'])(
    'sends %s to the shop',
    async (path) => {
      const { status, body } = await overTls({ path, headers: { Host: HOST } });
      expect([status, body]).toEqual([200, 'shop']);
      expect(shopRequests).toHaveLength(1);
    },
  );

  it('refuses a conversion over plain HTTP, also with a forged X-Forwarded-Proto', async () => {
    for (const headers of [{}, { 'X-Forwarded-Proto': 'https' }]) {
      const { status, body } = await overHttp(...conversion('plain', headers));
      expect([status, body.trim()]).toEqual([403, 'HTTPS required']);
    }
  });

  it('redirects the rest of the shop to TLS', async () => {
    const { status, headers } = await overHttp({ path: '/other?page=2', headers: { Host: HOST } });
    expect([status, headers['location']]).toEqual([proxy.redirectStatus, `https://${HOST}/other?page=2`]);
  });

  it('replaces the forwarded headers of the client', async () => {
    const forged = { 'X-Forwarded-Proto': 'http', 'X-Forwarded-Host': 'other.example', Forwarded: 'proto=http' };
    expect((await overTls(...conversion('forged', forged))).status).toBe(200);
  });

  it('gets 431 for so many headers that its own would be dropped after them', async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, '1']));
    expect((await overTls(...conversion('some-headers', many(80)))).status).toBe(200);
    // Those of the proxy come after them, and are among the first that a server with a limit of 1,000 drops.
    for (const count of [150, 900, 985, 990, 995])
      expect([count, (await overTls(...conversion(`${count}-headers`, many(count)))).status]).toEqual([count, 431]);
    expect((await overTls(...conversion('1100-headers', many(1_100)))).status).toBe(proxy.manyHeadersStatus);
  });

  it("reports the client's address, not a forged one", async () => {
    const visit = { v: 1, visitor: randomUUID(), visit: randomUUID(), utm: { source: proxy.name } };
    const headers = {
      ...{ Host: HOST, Origin: `https://${HOST}`, 'Content-Type': 'text/plain' },
      'X-Forwarded-For': FORGED_ADDRESS,
    };
    const { status, body } = await overTls({ method: 'POST', path: '/__cc/collect', headers }, JSON.stringify(visit));
    expect([status, body]).toEqual([204, '']);
    const addresses = (await visits()).map(({ personal }) => personal.signals.ip);
    expect(addresses.at(-1)).toBe('127.0.0.1');
  });
});

describe('the Cloudflare Worker, run in Node', () => {
  const post = (url: string) =>
    runWorker(url, {
      method: 'POST',
      headers: {
        'X-CC-Api-Key': service.key,
        'Content-Type': 'application/json',
        'X-Forwarded-Proto': 'http',
        'CF-Connecting-IP': '203.0.113.9',
      },
      body: JSON.stringify({ email: 'jane@example.com', event: 'purchase', orderId: 'worker-1' }),
    });

  it('forwards a conversion with the host of the shop', async () => {
    expect(await post(`https://${HOST}/__cc/inbound`)).toEqual({
      status: 200,
      body: '{"ok":true,"event":"purchase","results":{}}',
    });
  });

  it('refuses plain HTTP', async () => {
    expect(await post(`http://${HOST}/__cc/inbound`)).toEqual({ status: 403, body: 'HTTPS required\n' });
  });
});

/** Every text must occur, so that a change of the file cannot leave a part of it untested. */
function replaceAll(text: string, replacements: Readonly<Record<string, string>>): string {
  let replaced = text;
  for (const [from, to] of Object.entries(replacements)) {
    expect(replaced).toContain(from);
    replaced = replaced.replaceAll(from, to);
  }
  return replaced;
}

interface Reply {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

function exchange(sending: ReturnType<typeof request>, body?: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    sending.on('error', reject);
    sending.on('response', async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode, headers: response.headers, body: text });
    });
    sending.end(body);
  });
}

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Caddy issues its certificate after it has started to listen, so a handshake must succeed too. */
async function untilReady(open: () => Socket, child: ChildProcess, output: () => string): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const socket = open();
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.on(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => resolve(true));
      socket.on('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    if (child.exitCode !== null || performance.now() > deadline) throw new Error(`The proxy is not up: ${output()}`);
    await sleep(50);
  }
}

/** The stored visits, in log order. */
async function visits(): Promise<{ personal: { signals: { ip: string } } }[]> {
  const cli = join(checkout, 'dist/cli.js');
  const args = [cli, 'events', 'export', '--type', 'visitor.visited.v1', '--json'];
  const env = { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir, PORT: '0' };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Runs the page's Worker in a separate process. */
async function runWorker(url: string, init: RequestInit): Promise<unknown> {
  const section = page.slice(page.indexOf('## Cloudflare'));
  const worker = /^```js\n([\s\S]*?)^```$/m.exec(section)?.[1] as string;
  writeFileSync(
    join(root, 'worker.mjs'),
    replaceAll(worker, { 'https://conversions.shop.example': service.url.replace('localhost', '127.0.0.1') }),
  );
  const program = `
    const { default: worker } = await import('./worker.mjs');
    const response = await worker.fetch(new Request(${JSON.stringify(url)}, ${JSON.stringify(init)}));
    console.log(JSON.stringify({ status: response.status, body: await response.text() }));`;
  const args = ['--input-type=module', '-e', program];
  const env = { PATH: process.env['PATH'] ?? '', NO_PROXY: '*' };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env });
  return JSON.parse(stdout);
}
