import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { acceptExtraConnections } from '../../../test/support/accept-order.js';
import { HttpClient, type HttpClientOptions, type HttpRequest } from './http-client.js';
import { SendFailure } from './send-failure.js';

const TOKEN = 'EAAB-s3cret-token';
const TEXT_MAX = 64 * 1024;

/** A server on loopback that counts its connections. */
interface Listener {
  readonly server: Server;
  readonly port: number;
  readonly sockets: Set<Socket>;
  connections: number;
  mostAtOnce: number;
}

describe('HttpClient', () => {
  const servers = new Set<{ server: Server; sockets: Set<Socket> }>();
  const clients = new Set<HttpClient>();

  afterEach(async () => {
    await Promise.all([...clients].map((httpClient) => httpClient.close()));
    for (const { server, sockets } of servers) {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
    clients.clear();
    servers.clear();
  });

  async function listen(server: Server, host = '127.0.0.1'): Promise<Listener> {
    const sockets = new Set<Socket>();
    servers.add({ server, sockets });
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    const listener = { server, port: (server.address() as AddressInfo).port, sockets, connections: 0, mostAtOnce: 0 };
    server.on('connection', (socket: Socket) => {
      listener.connections += 1;
      sockets.add(socket);
      listener.mostAtOnce = Math.max(listener.mostAtOnce, sockets.size);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    });
    return listener;
  }

  const serve = (handle: RequestListener) => listen(createHttpServer(handle));
  /** Calls `handle` for each connection once it has received data. */
  const serveRaw = (handle: (socket: Socket) => void) =>
    listen(createServer((socket) => socket.once('data', () => handle(socket))));

  function make(options: Partial<HttpClientOptions> = {}): HttpClient {
    const httpClient = new HttpClient({ connectionsPerOrigin: 4, timeoutMs: 2_000, allowPrivate: false, ...options });
    clients.add(httpClient);
    return httpClient;
  }

  const to = (address: string | Listener): HttpRequest => ({
    method: 'POST',
    url: `${typeof address === 'string' ? address : `http://127.0.0.1:${address.port}`}/events?access_token=${TOKEN}`,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ token: TOKEN }),
  });

  /** The failure of a call; checks that no part of it contains a secret. */
  async function failure(call: Promise<unknown>): Promise<SendFailure> {
    const error = await call.then(
      (answer) => Promise.reject(new Error(`It did not fail: ${JSON.stringify(answer)}`)),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(SendFailure);
    const { message, stack, cause, ...rest } = error as SendFailure;
    expect(JSON.stringify([message, stack, cause, rest])).not.toMatch(/s3cret|access_token|Bearer/);
    expect(cause).toBeUndefined();
    return error as SendFailure;
  }

  async function gone(listener: Listener): Promise<void> {
    for (let turn = 0; listener.sockets.size > 0 && turn < 100; turn += 1) await sleep(10);
    expect(listener.sockets.size).toBe(0);
  }

  /** Connections that the client has opened, including any that the server had not accepted yet. */
  async function openedConnections(listener: Listener): Promise<number> {
    const extra = await acceptExtraConnections(listener.server);
    return listener.connections - extra;
  }

  describe('with a response', () => {
    it('returns status, headers, text and JSON', async () => {
      let seen: unknown;
      const listener = await serve((request, response) => {
        let body = '';
        request.on('data', (piece) => (body += piece));
        request.on('end', () => {
          seen = { method: request.method, url: request.url, headers: request.headers, body };
          response.writeHead(207, { 'X-Request-Id': 'r-1', 'Set-Cookie': ['a=1', 'b=2'] });
          response.end('{"events_received":1,"name":"Zoë"}');
        });
      });
      const answer = await make().send(to(listener));
      expect(answer).toMatchObject({
        status: 207,
        headers: { 'x-request-id': 'r-1', 'set-cookie': 'a=1, b=2' },
        text: '{"events_received":1,"name":"Zoë"}',
        json: { events_received: 1, name: 'Zoë' },
        truncated: false,
      });
      expect(seen).toMatchObject({
        method: 'POST',
        url: `/events?access_token=${TOKEN}`,
        body: JSON.stringify({ token: TOKEN }),
        headers: {
          host: `127.0.0.1:${listener.port}`,
          authorization: `Bearer ${TOKEN}`,
          'accept-encoding': 'identity',
          'content-length': String(JSON.stringify({ token: TOKEN }).length),
          'user-agent': 'clean-conversions',
        },
      });
    });

    it('returns no JSON for other text and skips a byte order mark', async () => {
      const bodies = ['', '<html>', '{"a":', '\ufeff{"a":1}', '0', 'null'];
      const listener = await serve((_, response) => response.end(bodies.shift()));
      const httpClient = make({ connectionsPerOrigin: 1 });
      const answers: unknown[] = [];
      for (let count = bodies.length; count > 0; count -= 1) answers.push((await httpClient.send(to(listener))).json);
      expect(answers).toEqual([undefined, undefined, undefined, { a: 1 }, 0, null]);
    });

    it('sends a GET without a body', async () => {
      const listener = await serve((request, response) =>
        response.end(`${request.method} ${request.headers['content-length'] ?? 'none'}`),
      );
      const { url } = to(listener);
      expect((await make().send({ method: 'GET', url, headers: {} })).text).toBe('GET none');
    });

    it('ignores interim responses', async () => {
      const listener = await serveRaw((socket) =>
        socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 202 OK\r\ncontent-length: 2\r\n\r\nok'),
      );
      expect(await make().send(to(listener))).toMatchObject({ status: 202, text: 'ok' });
    });

    it('reads a body that is delimited by the end of the connection', async () => {
      const listener = await serveRaw((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nthat is all'));
      expect(await make().send(to(listener))).toMatchObject({ status: 200, text: 'that is all' });
    });

    it('does not follow a redirect', async () => {
      const elsewhere = await serve((_, response) => response.end());
      const listener = await serve((_, response) =>
        response.writeHead(302, { location: `http://127.0.0.1:${elsewhere.port}/` }).end('moved'),
      );
      const answer = await make().send(to(listener));
      expect(answer).toMatchObject({ status: 302, text: 'moved' });
      expect(answer.headers['location']).toContain(String(elsewhere.port));
      expect(elsewhere.connections).toBe(0);
    });
  });

  describe('connections', () => {
    it('are reused', async () => {
      const listener = await serve((_, response) => response.end('ok'));
      const httpClient = make();
      for (let count = 0; count < 20; count += 1) await httpClient.send(to(listener));
      expect(listener.connections).toBe(1);
      expect(httpClient.stats()).toEqual({ origins: 1, connections: 1, active: 0 });
    });

    it('are reopened if the server has closed them', async () => {
      const listener = await serve((_, response) => response.end('ok'));
      const httpClient = make();
      await httpClient.send(to(listener));
      for (const socket of listener.sockets) socket.destroy();
      for (let turn = 0; httpClient.stats().connections > 0 && turn < 100; turn += 1) await sleep(10);
      expect((await httpClient.send(to(listener))).status).toBe(200);
      expect(listener.connections).toBe(2);
    });

    it('never exceed the limit per origin, and every call completes', async () => {
      let requests = 0;
      let most = 0;
      const listener = await serve((_, response) => {
        requests += 1;
        most = Math.max(most, requests);
        setTimeout(() => {
          requests -= 1;
          response.end('ok');
        }, 10);
      });
      const httpClient = make({ connectionsPerOrigin: 4 });
      const calls = Array.from({ length: 60 }, () => httpClient.send(to(listener)));
      expect(httpClient.stats()).toMatchObject({ origins: 1, active: 4 });
      expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
      expect([most, listener.connections]).toEqual([4, 4]);
    });

    it('never exceed the limit per origin when they keep breaking', async () => {
      let turn = 0;
      let most = 0;
      const httpClient = make({ connectionsPerOrigin: 3, timeoutMs: 30_000 });
      const listener = await serve((_, response) => {
        most = Math.max(most, httpClient.stats().connections);
        turn += 1;
        const how = turn % 4;
        if (how === 0) response.socket?.resetAndDestroy();
        else if (how === 1) response.writeHead(200, { connection: 'close' }).end('ok');
        else if (how === 2) response.writeHead(200, { 'content-length': 9 }).write('half', () => response.destroy());
        else response.end('ok');
      });
      const calls = await Promise.allSettled(Array.from({ length: 200 }, () => httpClient.send(to(listener))));
      expect(calls.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
      expect(most).toBe(3);
      // The server may not have noticed yet that a socket is closed.
      expect(listener.mostAtOnce).toBeLessThanOrEqual(6);
      expect(httpClient.stats().active).toBe(0);
    });

    it('are kept for a limited number of origins: the one idle longest is removed', async () => {
      const listeners = await Promise.all([1, 2, 3].map(() => serve((_, response) => response.end('ok'))));
      const [first, second, third] = listeners as [Listener, Listener, Listener];
      const httpClient = make({ originsMax: 2 });
      await httpClient.send(to(first));
      await httpClient.send(to(second));
      await httpClient.send(to(first));
      await httpClient.send(to(third));
      await gone(second);
      expect(httpClient.stats()).toMatchObject({ origins: 2, connections: 2 });
      expect(first.sockets.size).toBe(1);
    });

    it('of a busy origin are never removed for another origin', async () => {
      const slow = await serve((_, response) => setTimeout(() => response.end('ok'), 100));
      const other = await serve((_, response) => response.end('ok'));
      const httpClient = make({ originsMax: 1 });
      const call = httpClient.send(to(slow));
      expect(await failure(httpClient.send(to(other)))).toMatchObject({ kind: 'network_error', sent: false });
      expect((await call).status).toBe(200);
    });

    it('are closed when their origin has been idle for long', async () => {
      const listener = await serve((_, response) => response.end('ok'));
      const httpClient = make({ originIdleMs: 60 });
      await httpClient.send(to(listener));
      await gone(listener);
      expect(httpClient.stats()).toEqual({ origins: 0, connections: 0, active: 0 });
      expect((await httpClient.send(to(listener))).status).toBe(200);
    });
  });

  describe('at the deadline', () => {
    const timeoutMs = 150;
    /** Tolerant of a busy machine. */
    const inTime = async (call: () => Promise<unknown>) => {
      const startedMs = performance.now();
      const error = await failure(call());
      const tookMs = performance.now() - startedMs;
      expect(tookMs).toBeGreaterThanOrEqual(timeoutMs - 1);
      expect(tookMs).toBeLessThan(timeoutMs + 1_000);
      return error;
    };

    it.each<[string, (socket: Socket) => void]>([
      ['no answer', () => {}],
      ['half a header', (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-le')],
      ['headers and no body', (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n')],
      ['endless interim responses', (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n')],
      [
        'a slow body',
        (socket) => {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 50000\r\n\r\n');
          drip(socket, 'x');
        },
      ],
      [
        'a slow body without a length',
        (socket) => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          drip(socket, 'x');
        },
      ],
    ])('times out on %s, closes the socket and opens no other', async (_, handle) => {
      const listener = await serveRaw(handle);
      const httpClient = make();
      const error = await inTime(() => httpClient.send(to(listener), { timeoutMs }));
      expect(error).toMatchObject({ kind: 'timeout', sent: true });
      expect(error.message).toBe(`127.0.0.1:${listener.port} did not answer in full within 150 ms.`);
      await gone(listener);
      expect(await openedConnections(listener)).toBe(1);
      expect(httpClient.stats()).toMatchObject({ connections: 0, active: 0 });
    });

    it('times out on a connection that is not established', async () => {
      // It accepts the connection but never starts the TLS handshake.
      const listener = await serveRaw(() => {});
      const error = await inTime(() => make().send(to(`https://127.0.0.1:${listener.port}`), { timeoutMs }));
      expect(error).toMatchObject({ kind: 'timeout', sent: false });
      await gone(listener);
      expect(listener.connections).toBe(1);
    });

    it('does not send a call that waited too long for a connection, and sends the next one', async () => {
      const urls: (string | undefined)[] = [];
      const listener = await serve((request, response) => {
        urls.push(request.url?.slice(0, 2));
        if (urls.length > 1) response.end('ok');
      });
      const httpClient = make({ connectionsPerOrigin: 1 });
      const send = (path: string, ms: number) =>
        httpClient.send(
          { ...to(listener), url: `http://127.0.0.1:${listener.port}/${path}?t=${TOKEN}` },
          { timeoutMs: ms },
        );
      const hanging = failure(send('1', 300));
      const waiting = inTime(() => send('2', timeoutMs));
      const later = send('3', 2_000);
      expect(await waiting).toMatchObject({ kind: 'timeout', sent: false });
      expect(await hanging).toMatchObject({ kind: 'timeout', sent: true });
      expect((await later).status).toBe(200);
      expect(urls).toEqual(['/1', '/3']);
    });
  });

  describe('with an incomplete response', () => {
    it.each<[string, string, (socket: Socket) => void]>([
      ['a closed connection', 'closed', (socket) => socket.end()],
      ['a reset', 'closed', (socket) => socket.resetAndDestroy()],
      ['half a header', 'closed', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le')],
      ['half a body', 'incomplete', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')],
      [
        'half a body on a closing connection',
        'incomplete',
        (socket) => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nhalf'),
      ],
      [
        'half of the chunks',
        'incomplete',
        (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'),
      ],
      [
        'half of the chunks on a closing connection',
        'incomplete',
        (socket) =>
          socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'),
      ],
      [
        'a reset in a body without a length',
        'incomplete',
        (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nhalf', () => setTimeout(() => socket.resetAndDestroy(), 30)),
      ],
      ['something that is not HTTP', 'HTTP', (socket) => socket.write('220 mail.example ESMTP\r\n')],
      ['endless headers', 'headers', (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)],
      [
        'another protocol',
        'closed',
        (socket) => socket.write('HTTP/1.1 101 Switching\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n'),
      ],
    ])('fails on %s', async (_, word, handle) => {
      const listener = await serveRaw(handle);
      const error = await failure(make().send(to(listener)));
      expect(error).toMatchObject({ kind: 'network_error', sent: true });
      expect(error.message).toContain(`127.0.0.1:${listener.port} `);
      expect(error.message).toContain(word);
      await gone(listener);
      expect(await openedConnections(listener)).toBe(1);
    });

    it('reports that nothing was sent if the connection is refused', async () => {
      const listener = await serve((_, response) => response.end());
      for (const { server } of servers) await new Promise((resolve) => server.close(resolve));
      servers.clear();
      const httpClient = make({ connectionsPerOrigin: 2 });
      // Sequentially: every queued call fails, none hangs.
      const calls = Array.from({ length: 10 }, () => failure(httpClient.send(to(listener))));
      for (const refused of await Promise.all(calls)) {
        expect(refused).toMatchObject({ kind: 'network_error', sent: false });
        expect(refused.message).toContain('refused the connection');
      }
    });

    it('reports that nothing was sent if a header is invalid, and sends the calls queued behind it', async () => {
      const listener = await serve((_, response) => setTimeout(() => response.end('ok'), 20));
      const httpClient = make({ connectionsPerOrigin: 1, timeoutMs: 30_000 });
      const good = [httpClient.send(to(listener))];
      const bad = Array.from({ length: 500 }, () =>
        failure(httpClient.send({ ...to(listener), headers: { authorization: `Bearer ${TOKEN}\r\nx: y` } })),
      );
      good.push(httpClient.send(to(listener)));
      for (const error of await Promise.all(bad)) expect(error).toMatchObject({ kind: 'network_error', sent: false });
      expect((await Promise.all(good)).map(({ status }) => status)).toEqual([200, 200]);
    });
  });

  describe('with a large response', () => {
    it('returns 64 KiB of complete characters and reuses the connection', async () => {
      const listener = await serve((_, response) => response.end(`"${'é'.repeat(50_000)}"`));
      const httpClient = make();
      const answer = await httpClient.send(to(listener));
      expect(answer).toMatchObject({ status: 200, truncated: true, json: undefined });
      expect(answer.text).toBe(`"${'é'.repeat((TEXT_MAX - 2) / 2)}`);
      await httpClient.send(to(listener));
      expect(listener.connections).toBe(1);
    });

    it('returns a body of exactly 64 KiB completely', async () => {
      const body = JSON.stringify('x'.repeat(TEXT_MAX - 2));
      const listener = await serve((_, response) => response.end(body));
      expect(await make().send(to(listener))).toMatchObject({ text: body, truncated: false, json: expect.any(String) });
    });

    it.each([{}, { 'content-encoding': 'gzip' }])(
      'returns more with a limit of its own, headers %j',
      async (headers) => {
        const body = JSON.stringify('x'.repeat(500_000));
        const sent = 'content-encoding' in headers ? gzipSync(body) : body;
        const listener = await serve((_, response) => response.writeHead(200, headers).end(sent));
        const answer = await make({ textMaxBytes: 600_000 }).send(to(listener));
        expect(answer).toMatchObject({ truncated: false, json: 'x'.repeat(500_000) });
        expect(await make({ textMaxBytes: 400_000 }).send(to(listener))).toMatchObject({ truncated: true });
      },
    );

    it('joins many small chunks', async () => {
      const listener = await serve(async (_, response) => {
        for (let count = 0; count < 500; count += 1) {
          response.write('é'.repeat(7));
          if (count % 50 === 0) await sleep(1);
        }
        response.end();
      });
      expect((await make().send(to(listener))).text).toBe('é'.repeat(3_500));
    });

    it.each([
      ['100 MB', { 'content-length': 100_000_000 }],
      ['no end', {}],
    ])('stops reading early in a body of %s', async (_, headers) => {
      const piece = Buffer.alloc(50_000, 'x');
      let written = 0;
      const listener = await serve((_, response) => {
        response.writeHead(500, headers);
        const pour = () => {
          while (!response.destroyed && written < 100_000_000 && response.write(piece)) written += piece.length;
          if (!response.destroyed && written < 100_000_000) response.once('drain', pour);
        };
        pour();
      });
      const httpClient = make();
      const answer = await httpClient.send(to(listener));
      expect(answer).toMatchObject({ status: 500, text: 'x'.repeat(TEXT_MAX), truncated: true, json: undefined });
      await gone(listener);
      expect(httpClient.stats()).toMatchObject({ connections: 0, active: 0 });
      expect(listener.connections).toBe(1);
      // Most of it was never sent: only the socket buffers of the two kernels were filled.
      expect(written).toBeLessThan(30_000_000);
    });

    it('holds no more memory than the returned text, with many such responses', async () => {
      const body = Buffer.alloc(10_000_000, 'x');
      const listener = await serve((_, response) => response.end(body));
      const httpClient = make({ connectionsPerOrigin: 2 });
      await httpClient.send(to(listener));
      const before = process.memoryUsage();
      for (let count = 0; count < 30; count += 1) await httpClient.send(to(listener));
      const after = process.memoryUsage();
      expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(60_000_000);
    });
  });

  describe('with a compressed response', () => {
    const json = JSON.stringify({ ok: true, text: 'Zoë'.repeat(100) });

    const answering = (encoding: string, body: Buffer) =>
      serve((_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body));

    it.each([
      ['gzip', gzipSync(json)],
      ['x-gzip', gzipSync(json)],
      ['GZIP', gzipSync(json)],
      ['deflate', deflateSync(json)],
      ['deflate', deflateRawSync(json)],
      ['br', brotliCompressSync(json)],
      ['identity', Buffer.from(json)],
    ])('decompresses %s', async (encoding, body) => {
      const listener = await answering(encoding, body);
      expect(await make().send(to(listener))).toMatchObject({ json: JSON.parse(json), truncated: false });
    });

    it.each([
      ['gzip', gzipSync(Buffer.alloc(20_000_000, 'x'))],
      ['deflate', deflateSync(Buffer.alloc(20_000_000, 'x'))],
      ['br', brotliCompressSync(Buffer.alloc(20_000_000, 'x'))],
    ])('decompresses only 64 KiB of a %s bomb', async (encoding, bomb) => {
      expect(bomb.length).toBeLessThan(256 * 1024);
      const listener = await answering(encoding, bomb);
      const httpClient = make();
      const before = process.memoryUsage().arrayBuffers;
      const answer = await httpClient.send(to(listener));
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8_000_000);
      expect(answer).toMatchObject({ text: 'x'.repeat(TEXT_MAX), truncated: true, json: undefined });
      await httpClient.send(to(listener));
      expect(listener.connections).toBe(1);
    });

    it.each([
      ['gzip', gzipSync(Buffer.alloc(80_000_000, 'x'), { level: 1 })],
      ['br', Buffer.concat([brotliCompressSync(randomBytes(400_000).toString('base64')), Buffer.alloc(10)])],
    ])('decompresses the part that it has of a larger %s body', async (encoding, body) => {
      expect(body.length).toBeGreaterThan(256 * 1024);
      const listener = await answering(encoding, body);
      const answer = await make().send(to(listener));
      expect(answer).toMatchObject({ status: 200, truncated: true, json: undefined });
      expect(answer.text.length).toBeGreaterThan(10_000);
      await gone(listener);
    });

    it.each([
      ['gzip', gzipSync(json).subarray(0, -10)],
      ['gzip', gzipSync(json).subarray(0, 10)],
      ['deflate', deflateSync(json).subarray(0, -4)],
      ['br', brotliCompressSync(json).subarray(0, -5)],
      ['gzip', Buffer.from(json)],
      ['br', Buffer.from(json)],
    ])('fails on corrupt %s', async (encoding, body) => {
      const error = await failure(make().send(to(await answering(encoding, body))));
      expect(error).toMatchObject({ kind: 'network_error', sent: true });
      expect(error.message).toContain('cannot be decompressed');
    });

    it('ignores errors after the first 64 KiB', async () => {
      const text = randomBytes(150_000).toString('base64');
      const body = gzipSync(text);
      body.fill(0xff, body.length - 20_000);
      const listener = await answering('gzip', body);
      expect(await make().send(to(listener))).toMatchObject({ text: text.slice(0, TEXT_MAX), truncated: true });
    });

    it('marks a body in an unsupported encoding as truncated', async () => {
      const listener = await answering('zstd', Buffer.from('whatever'));
      expect(await make().send(to(listener))).toMatchObject({
        status: 200,
        text: '',
        json: undefined,
        truncated: true,
      });
    });

    it('accepts an empty body', async () => {
      const listener = await answering('gzip', Buffer.alloc(0));
      expect(await make().send(to(listener))).toMatchObject({ status: 200, text: '', truncated: false });
    });
  });

  describe('with the URL of a customer', () => {
    // More addresses, and proof that there is no connection: refused-urls.spec.ts.
    it('names the setting that allows a private address', async () => {
      const error = await failure(make().send(to('https://127.0.0.1'), { guarded: true }));
      expect(error).toMatchObject({ kind: 'address_refused', sent: false });
      expect(error.message).toContain('OUTBOUND_ALLOW_PRIVATE');
    });

    it('requires https, and refuses credentials in the URL', async () => {
      const listener = await serve((_, response) => response.end('ok'));
      const httpClient = make();
      for (const [url, word] of [
        [`http://127.0.0.1:${listener.port}`, 'https://'],
        [`https://user:${TOKEN}@127.0.0.1:${listener.port}`, 'user name or password'],
        [`https://${TOKEN}@127.0.0.1:${listener.port}`, 'user name or password'],
        ['ftp://receiver.example', 'valid URL'],
        [`${TOKEN}://receiver.example`, 'valid URL'],
        [TOKEN, 'valid URL'],
      ] as const) {
        const error = await failure(httpClient.send(to(url), { guarded: true }));
        expect(error).toMatchObject({ kind: 'address_refused', sent: false });
        expect(error.message).toContain(word);
      }
      expect(listener.connections).toBe(0);
    });

    it('allows plain http to a private host, but no credentials in the URL, if that is configured', async () => {
      const listener = await serve((_, response) => response.end('ok'));
      const httpClient = make({ allowPrivate: true });
      expect(await httpClient.send(to(listener), { guarded: true })).toMatchObject({ status: 200, text: 'ok' });
      expect(listener.connections).toBe(1);
      const url = `http://user:${TOKEN}@127.0.0.1:${listener.port}`;
      expect((await failure(httpClient.send(to(url), { guarded: true }))).kind).toBe('address_refused');
    });

    it('restricts no URL of the operator', async () => {
      const listener = await serve((_, response) => response.end('ok'));
      expect((await make().send(to(`http://localhost:${listener.port}`))).status).toBe(200);
    });
  });

  describe('if the status suffices', () => {
    const enough = { statusSuffices: true };

    it.each<[string, (socket: Socket) => void]>([
      [
        'is slow',
        (socket) => {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n');
          drip(socket, 'x');
        },
      ],
      ['breaks off', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx')],
      [
        'cannot be read',
        (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nno'),
      ],
    ])('resolves although the body %s', async (_, handle) => {
      const listener = await serveRaw(handle);
      const httpClient = make({ timeoutMs: 300 });
      expect(await httpClient.send(to(listener), enough)).toMatchObject({ status: 200, truncated: true });
      await gone(listener);
      expect((await failure(httpClient.send(to(listener)))).kind).toMatch(/timeout|network_error/);
    });

    it('reads no more than 64 KiB', async () => {
      const listener = await serve((_, response) => response.end(Buffer.alloc(10_000_000, 'x')));
      const httpClient = make();
      expect(await httpClient.send(to(listener), enough)).toMatchObject({ status: 200, text: 'x'.repeat(TEXT_MAX) });
      await gone(listener);
    });

    it('does not resolve with an interim response or half a status line', async () => {
      const hint = await serveRaw((socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'));
      const half = await serveRaw((socket) => socket.write('HTTP/1.1 200'));
      for (const listener of [hint, half])
        expect((await failure(make({ timeoutMs: 200 }).send(to(listener), enough))).kind).toBe('timeout');
    });
  });

  describe('with mayGo', () => {
    it('sends nothing if it returns false once connected, and continues with the next call', async () => {
      let requests = 0;
      const listener = await serve((_, response) => {
        requests += 1;
        response.end('ok');
      });
      const httpClient = make({ connectionsPerOrigin: 1 });
      const error = await failure(httpClient.send(to(listener), { mayGo: () => false }));
      expect(error).toMatchObject({ kind: 'network_error', sent: false });
      expect(listener.connections).toBe(1);
      expect((await httpClient.send(to(listener), { mayGo: () => true })).text).toBe('ok');
      // Also on a connection that is already open.
      expect(await failure(httpClient.send(to(listener), { mayGo: () => false }))).toMatchObject({ sent: false });
      expect(requests).toBe(1);
    });
  });

  describe('when closed', () => {
    it('completes calls in progress, cancels queued calls and rejects new ones', async () => {
      const server = createHttpServer();
      const listener = await listen(server);
      const httpClient = make({ connectionsPerOrigin: 1 });
      const requested = once(server, 'request');
      const [running, waiting] = [httpClient.send(to(listener)), failure(httpClient.send(to(listener)))];
      const [, response] = (await requested) as Parameters<RequestListener>;
      const closed = httpClient.close();
      expect(await waiting).toMatchObject({ kind: 'network_error', sent: false });
      expect(await failure(httpClient.send(to(listener)))).toMatchObject({ kind: 'network_error', sent: false });
      response.end('ok');
      expect((await running).status).toBe(200);
      await closed;
      await gone(listener);
    });

    it('waits for a hanging call no longer than its deadline', async () => {
      const listener = await serveRaw(() => {});
      const httpClient = make({ timeoutMs: 150 });
      const call = failure(httpClient.send(to(listener)));
      await httpClient.close();
      expect(await call).toMatchObject({ kind: 'timeout' });
    });
  });
});

function drip(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 20);
  socket.on('close', () => clearInterval(timer));
}
