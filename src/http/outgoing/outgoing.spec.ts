import { randomBytes } from 'node:crypto';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { Outgoing, type OutgoingOptions, type OutgoingRequest } from './outgoing.js';
import { SendFailure } from './send-failure.js';

const TOKEN = 'EAAB-s3cret-token';
const TEXT_MAX = 64 * 1024;

/** A server on loopback that keeps count of its visitors. */
interface Listener {
  readonly port: number;
  readonly sockets: Set<Socket>;
  connections: number;
  mostAtOnce: number;
}

describe('Outgoing', () => {
  const servers = new Set<{ server: Server; sockets: Set<Socket> }>();
  const clients = new Set<Outgoing>();

  afterEach(async () => {
    await Promise.all([...clients].map((outgoing) => outgoing.close()));
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
    const listener = { port: (server.address() as AddressInfo).port, sockets, connections: 0, mostAtOnce: 0 };
    server.on('connection', (socket: Socket) => {
      listener.connections += 1;
      sockets.add(socket);
      listener.mostAtOnce = Math.max(listener.mostAtOnce, sockets.size);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    });
    return listener;
  }

  const serve = (handle: RequestListener) => listen(createHttpServer(handle));
  /** What each visitor is told as soon as it has said something. */
  const serveRaw = (handle: (socket: Socket) => void) =>
    listen(createServer((socket) => socket.once('data', () => handle(socket))));

  function make(options: Partial<OutgoingOptions> = {}): Outgoing {
    const outgoing = new Outgoing({ connectionsPerOrigin: 4, timeoutMs: 2_000, allowPrivate: false, ...options });
    clients.add(outgoing);
    return outgoing;
  }

  const to = (address: string | Listener): OutgoingRequest => ({
    method: 'POST',
    url: `${typeof address === 'string' ? address : `http://127.0.0.1:${address.port}`}/events?access_token=${TOKEN}`,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ token: TOKEN }),
  });

  /** How a call failed; and nothing in the failure, however one looks at it, is secret. */
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

  describe('when it is answered', () => {
    it('has status, headers, text and JSON', async () => {
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

    it('has no JSON where there is none, and reads past a byte order mark', async () => {
      const bodies = ['', '<html>', '{"a":', '\ufeff{"a":1}', '0', 'null'];
      const listener = await serve((_, response) => response.end(bodies.shift()));
      const outgoing = make({ connectionsPerOrigin: 1 });
      const answers: unknown[] = [];
      for (let count = bodies.length; count > 0; count -= 1) answers.push((await outgoing.send(to(listener))).json);
      expect(answers).toEqual([undefined, undefined, undefined, { a: 1 }, 0, null]);
    });

    it('sends a GET without a body', async () => {
      const listener = await serve((request, response) =>
        response.end(`${request.method} ${request.headers['content-length'] ?? 'none'}`),
      );
      const { url } = to(listener);
      expect((await make().send({ method: 'GET', url, headers: {} })).text).toBe('GET none');
    });

    it('takes the last word: hints before the answer are none', async () => {
      const listener = await serveRaw((socket) =>
        socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 202 OK\r\ncontent-length: 2\r\n\r\nok'),
      );
      expect(await make().send(to(listener))).toMatchObject({ status: 202, text: 'ok' });
    });

    it('takes a body that lasts until the connection ends', async () => {
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
    it('are used again', async () => {
      const listener = await serve((_, response) => response.end('ok'));
      const outgoing = make();
      for (let count = 0; count < 20; count += 1) await outgoing.send(to(listener));
      expect(listener.connections).toBe(1);
      expect(outgoing.stats()).toEqual({ origins: 1, connections: 1, active: 0 });
    });

    it('are opened again when the other side has closed them', async () => {
      const listener = await serve((_, response) => response.end('ok'));
      const outgoing = make();
      await outgoing.send(to(listener));
      for (const socket of listener.sockets) socket.destroy();
      await sleep(30);
      expect((await outgoing.send(to(listener))).status).toBe(200);
      expect(listener.connections).toBe(2);
    });

    it('are never more than so many to one origin, and nobody is left waiting', async () => {
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
      const outgoing = make({ connectionsPerOrigin: 4 });
      const calls = Array.from({ length: 60 }, () => outgoing.send(to(listener)));
      expect(outgoing.stats()).toMatchObject({ origins: 1, active: 4 });
      expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
      expect([most, listener.connections]).toEqual([4, 4]);
    });

    it('are never more than so many also when they keep breaking', async () => {
      let turn = 0;
      let most = 0;
      const outgoing = make({ connectionsPerOrigin: 3, timeoutMs: 30_000 });
      const listener = await serve((_, response) => {
        most = Math.max(most, outgoing.stats().connections);
        turn += 1;
        const how = turn % 4;
        if (how === 0) response.socket?.resetAndDestroy();
        else if (how === 1) response.writeHead(200, { connection: 'close' }).end('ok');
        else if (how === 2) response.writeHead(200, { 'content-length': 9 }).write('half', () => response.destroy());
        else response.end('ok');
      });
      const calls = await Promise.allSettled(Array.from({ length: 200 }, () => outgoing.send(to(listener))));
      expect(calls.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
      expect(most).toBe(3);
      // The other side may not have noticed yet that a socket is closed.
      expect(listener.mostAtOnce).toBeLessThanOrEqual(6);
      expect(outgoing.stats().active).toBe(0);
    });

    it('are kept for so many origins only: the one idle longest makes room', async () => {
      const listeners = await Promise.all([1, 2, 3].map(() => serve((_, response) => response.end('ok'))));
      const [first, second, third] = listeners as [Listener, Listener, Listener];
      const outgoing = make({ originsMax: 2 });
      await outgoing.send(to(first));
      await outgoing.send(to(second));
      await outgoing.send(to(first));
      await outgoing.send(to(third));
      await gone(second);
      expect(outgoing.stats()).toMatchObject({ origins: 2, connections: 2 });
      expect(first.sockets.size).toBe(1);
    });

    it('are not made room for by cutting a call short', async () => {
      const slow = await serve((_, response) => setTimeout(() => response.end('ok'), 100));
      const other = await serve((_, response) => response.end('ok'));
      const outgoing = make({ originsMax: 1 });
      const call = outgoing.send(to(slow));
      expect(await failure(outgoing.send(to(other)))).toMatchObject({ kind: 'network_error', sent: false });
      expect((await call).status).toBe(200);
    });

    it('are dropped with their origin once it is idle', async () => {
      const listener = await serve((_, response) => response.end('ok'));
      const outgoing = make({ originIdleMs: 60 });
      await outgoing.send(to(listener));
      await gone(listener);
      expect(outgoing.stats()).toEqual({ origins: 0, connections: 0, active: 0 });
      expect((await outgoing.send(to(listener))).status).toBe(200);
    });
  });

  describe('when time is up', () => {
    const timeoutMs = 150;
    /** Coarse, on a busy machine: but not minutes. */
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
      ['hints without end', (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n')],
      [
        'a body that drips',
        (socket) => {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 50000\r\n\r\n');
          drip(socket, 'x');
        },
      ],
      [
        'a body that drips until the connection ends',
        (socket) => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          drip(socket, 'x');
        },
      ],
    ])('gives up on %s, closes the socket and opens no other', async (_, handle) => {
      const listener = await serveRaw(handle);
      const outgoing = make();
      const error = await inTime(() => outgoing.send(to(listener), { timeoutMs }));
      expect(error).toMatchObject({ kind: 'timeout', sent: true });
      expect(error.message).toBe(`127.0.0.1:${listener.port} did not answer in full within 150 ms.`);
      await gone(listener);
      await sleep(50);
      expect(listener.connections).toBe(1);
      expect(outgoing.stats()).toMatchObject({ connections: 0, active: 0 });
    });

    it('gives up on a connection that is not made', async () => {
      // It accepts, but never says a word of TLS.
      const listener = await serveRaw(() => {});
      const error = await inTime(() => make().send(to(`https://127.0.0.1:${listener.port}`), { timeoutMs }));
      expect(error).toMatchObject({ kind: 'timeout', sent: false });
      await gone(listener);
      expect(listener.connections).toBe(1);
    });

    it('does not send what waited for a connection too long, and goes on with what did not', async () => {
      const urls: (string | undefined)[] = [];
      const listener = await serve((request, response) => {
        urls.push(request.url?.slice(0, 2));
        if (urls.length > 1) response.end('ok');
      });
      const outgoing = make({ connectionsPerOrigin: 1 });
      const send = (path: string, ms: number) =>
        outgoing.send(
          { ...to(listener), url: `http://127.0.0.1:${listener.port}/${path}?t=${TOKEN}` },
          { timeoutMs: ms },
        );
      const hanging = failure(send('1', 300));
      const waiting = inTime(() => send('2', timeoutMs));
      const patient = send('3', 2_000);
      expect(await waiting).toMatchObject({ kind: 'timeout', sent: false });
      expect(await hanging).toMatchObject({ kind: 'timeout', sent: true });
      expect((await patient).status).toBe(200);
      expect(urls).toEqual(['/1', '/3']);
    });
  });

  describe('when the answer is not whole', () => {
    it.each<[string, string, (socket: Socket) => void]>([
      ['hung up on', 'closed', (socket) => socket.end()],
      ['reset', 'closed', (socket) => socket.resetAndDestroy()],
      ['half a header', 'closed', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le')],
      ['half a body', 'half', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')],
      [
        'half a body of a last answer',
        'half',
        (socket) => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nhalf'),
      ],
      [
        'half of the chunks',
        'half',
        (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'),
      ],
      [
        'half of the chunks of a last answer',
        'half',
        (socket) =>
          socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'),
      ],
      [
        'a reset in a body that lasts until the connection ends',
        'half',
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
      await sleep(20);
      expect(listener.connections).toBe(1);
    });

    it('says that nothing was sent when nobody listens', async () => {
      const listener = await serve((_, response) => response.end());
      for (const { server } of servers) await new Promise((resolve) => server.close(resolve));
      servers.clear();
      const outgoing = make({ connectionsPerOrigin: 2 });
      // One after the other, and nobody is forgotten.
      const calls = Array.from({ length: 10 }, () => failure(outgoing.send(to(listener))));
      for (const refused of await Promise.all(calls)) {
        expect(refused).toMatchObject({ kind: 'network_error', sent: false });
        expect(refused.message).toContain('refused the connection');
      }
    });

    it('says that nothing was sent when a header cannot be, however many wait behind it', async () => {
      const listener = await serve((_, response) => setTimeout(() => response.end('ok'), 20));
      const outgoing = make({ connectionsPerOrigin: 1, timeoutMs: 30_000 });
      const good = [outgoing.send(to(listener))];
      const bad = Array.from({ length: 500 }, () =>
        failure(outgoing.send({ ...to(listener), headers: { authorization: `Bearer ${TOKEN}\r\nx: y` } })),
      );
      good.push(outgoing.send(to(listener)));
      for (const error of await Promise.all(bad)) expect(error).toMatchObject({ kind: 'network_error', sent: false });
      expect((await Promise.all(good)).map(({ status }) => status)).toEqual([200, 200]);
    });
  });

  describe('when the answer is large', () => {
    it('keeps 64 KiB, whole characters only, and the connection', async () => {
      const listener = await serve((_, response) => response.end(`"${'é'.repeat(50_000)}"`));
      const outgoing = make();
      const answer = await outgoing.send(to(listener));
      expect(answer).toMatchObject({ status: 200, truncated: true, json: undefined });
      expect(answer.text).toBe(`"${'é'.repeat((TEXT_MAX - 2) / 2)}`);
      await outgoing.send(to(listener));
      expect(listener.connections).toBe(1);
    });

    it('keeps all of exactly 64 KiB', async () => {
      const body = JSON.stringify('x'.repeat(TEXT_MAX - 2));
      const listener = await serve((_, response) => response.end(body));
      expect(await make().send(to(listener))).toMatchObject({ text: body, truncated: false, json: expect.any(String) });
    });

    it('puts many small pieces together', async () => {
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
    ])('reads no further than it has to in a body of %s', async (_, headers) => {
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
      const outgoing = make();
      const answer = await outgoing.send(to(listener));
      expect(answer).toMatchObject({ status: 500, text: 'x'.repeat(TEXT_MAX), truncated: true, json: undefined });
      await gone(listener);
      expect(outgoing.stats()).toMatchObject({ connections: 0, active: 0 });
      expect(listener.connections).toBe(1);
      // Most of it never left the other side: what the two kernels keep for the socket is all.
      expect(written).toBeLessThan(30_000_000);
    });

    it('holds no more than it keeps, however many such answers there are', async () => {
      const body = Buffer.alloc(10_000_000, 'x');
      const listener = await serve((_, response) => response.end(body));
      const outgoing = make({ connectionsPerOrigin: 2 });
      await outgoing.send(to(listener));
      const before = process.memoryUsage();
      for (let count = 0; count < 30; count += 1) await outgoing.send(to(listener));
      const after = process.memoryUsage();
      expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(60_000_000);
    });
  });

  describe('when the answer is compressed all the same', () => {
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
    ])('reads %s', async (encoding, body) => {
      const listener = await answering(encoding, body);
      expect(await make().send(to(listener))).toMatchObject({ json: JSON.parse(json), truncated: false });
    });

    it.each([
      ['gzip', gzipSync(Buffer.alloc(20_000_000, 'x'))],
      ['deflate', deflateSync(Buffer.alloc(20_000_000, 'x'))],
      ['br', brotliCompressSync(Buffer.alloc(20_000_000, 'x'))],
    ])('blows up 64 KiB of a bomb in %s and no more', async (encoding, bomb) => {
      expect(bomb.length).toBeLessThan(256 * 1024);
      const listener = await answering(encoding, bomb);
      const outgoing = make();
      const before = process.memoryUsage().arrayBuffers;
      const answer = await outgoing.send(to(listener));
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8_000_000);
      expect(answer).toMatchObject({ text: 'x'.repeat(TEXT_MAX), truncated: true, json: undefined });
      await outgoing.send(to(listener));
      expect(listener.connections).toBe(1);
    });

    it.each([
      ['gzip', gzipSync(Buffer.alloc(80_000_000, 'x'), { level: 1 })],
      ['br', Buffer.concat([brotliCompressSync(randomBytes(400_000).toString('base64')), Buffer.alloc(10)])],
    ])('reads what it has of a larger one in %s', async (encoding, body) => {
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
    ])('fails on broken %s', async (encoding, body) => {
      const error = await failure(make().send(to(await answering(encoding, body))));
      expect(error).toMatchObject({ kind: 'network_error', sent: true });
      expect(error.message).toContain('cannot be decompressed');
    });

    it('looks at nothing behind the 64 KiB it keeps', async () => {
      const text = randomBytes(150_000).toString('base64');
      const body = gzipSync(text);
      body.fill(0xff, body.length - 20_000);
      const listener = await answering('gzip', body);
      expect(await make().send(to(listener))).toMatchObject({ text: text.slice(0, TEXT_MAX), truncated: true });
    });

    it('knows no other encoding, and says so', async () => {
      const listener = await answering('zstd', Buffer.from('whatever'));
      expect(await make().send(to(listener))).toMatchObject({
        status: 200,
        text: '',
        json: undefined,
        truncated: true,
      });
    });

    it('takes an empty body for empty', async () => {
      const listener = await answering('gzip', Buffer.alloc(0));
      expect(await make().send(to(listener))).toMatchObject({ status: 200, text: '', truncated: false });
    });
  });

  describe('when the address is a customer’s', () => {
    const SPELLINGS = [
      ...[
        'localhost',
        'LOCALHOST',
        '127.0.0.1',
        '127.1',
        '127.0.1',
        '2130706433',
        '0x7f000001',
        '0x7f.1',
        '0177.0.0.1',
      ],
      ...['127.0.0.1.', '%31%32%37.0.0.1', '１２７.０.０.１', '127。0。0。1', '0.0.0.0', '0', '127.8.8.8'],
      ...[
        '[::1]',
        '[::]',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '[::127.0.0.1]',
        '[64:ff9b::7f00:1]',
        '[2002:7f00:1::]',
      ],
    ];

    it.each(SPELLINGS)('connects to nobody at %s', async (host) => {
      const near = await serveRaw(() => {});
      const near6 = await listen(createServer(), '::1').catch(() => undefined);
      for (const listener of [near, near6]) {
        if (!listener) continue;
        const outgoing = make();
        const error = await failure(outgoing.send(to(`https://${host}:${listener.port}`), { guarded: true }));
        expect(error).toMatchObject({ kind: 'address_refused', sent: false });
        expect(error.message).toContain('OUTBOUND_ALLOW_PRIVATE');
        await sleep(20);
        expect(listener.connections).toBe(0);
        expect(outgoing.stats()).toMatchObject({ connections: 0, active: 0 });
      }
    });

    it.each(['10.0.0.1', '169.254.169.254', '192.168.1.1', '100.64.0.1', '[fd00::1]', '[fe80::1]', '198.18.0.1'])(
      'does not even try %s',
      async (host) => {
        const startedMs = performance.now();
        const error = await failure(make().send(to(`https://${host}`), { guarded: true }));
        expect(error).toMatchObject({ kind: 'address_refused', sent: false });
        expect(performance.now() - startedMs).toBeLessThan(500);
      },
    );

    it('takes https and no credentials', async () => {
      const listener = await serve((_, response) => response.end('ok'));
      const outgoing = make();
      for (const [url, word] of [
        [`http://127.0.0.1:${listener.port}`, 'https://'],
        [`https://user:${TOKEN}@127.0.0.1:${listener.port}`, 'user name or password'],
        [`https://${TOKEN}@127.0.0.1:${listener.port}`, 'user name or password'],
        ['ftp://receiver.example', 'valid URL'],
        [`${TOKEN}://receiver.example`, 'valid URL'],
        [TOKEN, 'valid URL'],
      ] as const) {
        const error = await failure(outgoing.send(to(url), { guarded: true }));
        expect(error).toMatchObject({ kind: 'address_refused', sent: false });
        expect(error.message).toContain(word);
      }
      expect(listener.connections).toBe(0);
    });

    it.each(['localhost', '127.0.0.1', '127.1', '0x7f000001'])(
      'may be private and plain at %s where that is allowed',
      async (host) => {
        const listener = await serve((_, response) => response.end('ok'));
        const outgoing = make({ allowPrivate: true });
        const answer = await outgoing.send(to(`http://${host}:${listener.port}`), { guarded: true });
        expect(answer).toMatchObject({ status: 200, text: 'ok' });
        expect(listener.connections).toBe(1);
        const error = await failure(
          outgoing.send(to(`http://user:${TOKEN}@${host}:${listener.port}`), { guarded: true }),
        );
        expect(error.kind).toBe('address_refused');
      },
    );

    it('does not hold for ours and the operator’s', async () => {
      const listener = await serve((_, response) => response.end('ok'));
      expect((await make().send(to(`http://localhost:${listener.port}`))).status).toBe(200);
    });
  });

  describe('when the status line is enough', () => {
    const enough = { statusSuffices: true };

    it.each<[string, (socket: Socket) => void]>([
      [
        'drips',
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
    ])('is answered although the body %s', async (_, handle) => {
      const listener = await serveRaw(handle);
      const outgoing = make({ timeoutMs: 300 });
      expect(await outgoing.send(to(listener), enough)).toMatchObject({ status: 200, truncated: true });
      await gone(listener);
      expect((await failure(outgoing.send(to(listener)))).kind).toMatch(/timeout|network_error/);
    });

    it('reads no more than 64 KiB', async () => {
      const listener = await serve((_, response) => response.end(Buffer.alloc(10_000_000, 'x')));
      const outgoing = make();
      expect(await outgoing.send(to(listener), enough)).toMatchObject({ status: 200, text: 'x'.repeat(TEXT_MAX) });
      await gone(listener);
    });

    it('is not answered by a hint, or by half a status line', async () => {
      const hint = await serveRaw((socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'));
      const half = await serveRaw((socket) => socket.write('HTTP/1.1 200'));
      for (const listener of [hint, half])
        expect((await failure(make({ timeoutMs: 200 }).send(to(listener), enough))).kind).toBe('timeout');
    });
  });

  describe('when it may be too late', () => {
    it('sends nothing that it may no longer send once the connection is made, and goes on', async () => {
      let requests = 0;
      const listener = await serve((_, response) => {
        requests += 1;
        response.end('ok');
      });
      const outgoing = make({ connectionsPerOrigin: 1 });
      const error = await failure(outgoing.send(to(listener), { mayGo: () => false }));
      expect(error).toMatchObject({ kind: 'network_error', sent: false });
      expect(listener.connections).toBe(1);
      expect((await outgoing.send(to(listener), { mayGo: () => true })).text).toBe('ok');
      // Also on a connection that is open already.
      expect(await failure(outgoing.send(to(listener), { mayGo: () => false }))).toMatchObject({ sent: false });
      expect(requests).toBe(1);
    });
  });

  describe('when it is closed', () => {
    it('lets a call under way end, sends nothing that waits, and takes nothing more', async () => {
      const listener = await serve((_, response) => setTimeout(() => response.end('ok'), 100));
      const outgoing = make({ connectionsPerOrigin: 1 });
      const [running, waiting] = [outgoing.send(to(listener)), failure(outgoing.send(to(listener)))];
      await sleep(30);
      const closed = outgoing.close();
      expect(await waiting).toMatchObject({ kind: 'network_error', sent: false });
      expect(await failure(outgoing.send(to(listener)))).toMatchObject({ kind: 'network_error', sent: false });
      expect((await running).status).toBe(200);
      await closed;
      await gone(listener);
    });

    it('waits for a call that hangs until its deadline and no longer', async () => {
      const listener = await serveRaw(() => {});
      const outgoing = make({ timeoutMs: 150 });
      const call = failure(outgoing.send(to(listener)));
      await outgoing.close();
      expect(await call).toMatchObject({ kind: 'timeout' });
    });
  });
});

function drip(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 20);
  socket.on('close', () => clearInterval(timer));
}
