import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { acceptExtraConnections } from '../../../test/support/accept-order.js';
import { isGlobalUnicast } from './global-unicast.js';
import { guardedLookup } from './guarded-lookup.js';
import { HttpClient } from './http-client.js';
import { SendFailure } from './send-failure.js';

const urls = readFileSync(join(process.cwd(), 'src/http/client/refused-urls.txt'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

/** One listener on every address of this machine, IPv4 and IPv6, counts every connection. */
describe('URLs that a customer must not be able to call', () => {
  let server: Server;
  let port: number;
  let connections = 0;
  const sockets = new Set<Socket>();

  beforeEach(() => {
    connections = 0;
  });

  beforeAll(async () => {
    server = createServer((socket) => {
      connections += 1;
      sockets.add(socket);
      socket.on('error', () => {}).on('data', () => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n'));
    });
    await new Promise<void>((listening) => server.listen(0, '::', listening));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  });

  const call = (httpClient: HttpClient, url: string) =>
    httpClient.send({ method: 'POST', url: url.replaceAll('PORT', String(port)), headers: {} }, { guarded: true });

  it('are at least 300', () => {
    expect(new Set(urls).size).toBeGreaterThanOrEqual(300);
  });

  it('are all rejected without a single connection', async () => {
    const httpClient = new HttpClient({ connectionsPerOrigin: 2, timeoutMs: 5_000, allowPrivate: false });
    const accepted: string[] = [];
    for (const url of urls) {
      const outcome: unknown = await call(httpClient, url).catch((error) => error);
      const isRefused = outcome instanceof SendFailure && outcome.kind === 'address_refused' && !outcome.sent;
      if (!isRefused) accepted.push(`${url}: ${outcome}`);
    }
    const extra = await acceptExtraConnections(server);
    expect(accepted).toEqual([]);
    expect(connections - extra).toBe(0);
    expect(httpClient.stats()).toMatchObject({ connections: 0, active: 0 });
    await httpClient.close();
  });

  it('reach the listener if private addresses are allowed', async () => {
    const httpClient = new HttpClient({ connectionsPerOrigin: 2, timeoutMs: 5_000, allowPrivate: true });
    const near = [
      ...['127.0.0.1', '127.1', '127.8.8.8', '0x7f.1', '0x7f000001', '2130706433'],
      ...['[::1]', '[::ffff:127.0.0.1]', 'localhost', '0'],
    ];
    for (const host of near) expect((await call(httpClient, `http://${host}:PORT/`)).status).toBe(200);
    expect(connections).toBe(near.length);
    await httpClient.close();
  });

  it('are not reached through a name that resolves to them; its public addresses still are', () => {
    const near = ['127.0.0.1', '::1', '10.0.0.1', '169.254.169.254', '::ffff:127.0.0.1', '64:ff9b::7f00:1', 'fd00::1'];
    const far = ['8.8.8.8', '93.184.216.34', '2606:4700:4700::1111'];
    expect(near.filter(isGlobalUnicast)).toEqual([]);
    expect(far.filter(isGlobalUnicast)).toEqual(far);
    const answers = [...near, ...far].map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const resolve = ((_: string, __: object, callback: (error: null, all: object[]) => void) =>
      callback(null, answers)) as never;
    guardedLookup(resolve)('rebinding.example', { all: true }, (_, resolved) => {
      expect((resolved as unknown as typeof answers).map(({ address }) => address)).toEqual(far);
    });
    expect.assertions(3);
  });
});
