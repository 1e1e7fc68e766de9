import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { failureOf } from '../../http/client/send-failure.js';
import { platform as googleAds } from '../../platforms/google_ads/index.js';
import { platform as meta } from '../../platforms/meta/index.js';
import type { Connection, Platform } from '../../platforms/platform.js';
import { AccessTokens } from './access-tokens.js';
import { type ConnectionTest, testConnection } from './connection-test.js';
import { NoResponse, PlatformClient } from './platform-client.js';
import type { TokenStore } from './token-store.js';

const META: Connection = {
  settings: { pixel_id: '123', test_event_code: 'TEST1' },
  secrets: { access_token: 'EAAB-s3cret-token' },
};
const GOOGLE: Connection = {
  settings: { customer_id: '1234567890', client_id: 'c', 'event.purchase': '1' },
  secrets: { client_secret: 's', refresh_token: 'r' },
};

const SETTINGS = 'Check the settings of the connection, and the account at the platform.';
const LATER = 'Try again in some minutes.';

describe('testConnection', () => {
  const servers = new Map<Server, Set<Socket>>();
  const clients: PlatformClient[] = [];

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    for (const [server, sockets] of servers) {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    }
    servers.clear();
  });

  async function listen(server: Server): Promise<number> {
    const sockets = new Set<Socket>();
    servers.set(server, sockets);
    server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    return (server.address() as AddressInfo).port;
  }

  const serve = (handle: RequestListener) => listen(createHttpServer(handle));
  const answering = (status: number, body: unknown) =>
    serve((request, response) => {
      request
        .resume()
        .on('end', () => response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body)));
    });

  function run(
    platform: Platform,
    connection: Connection,
    endpoint: string,
    timeoutMs = 60_000,
  ): Promise<ConnectionTest> {
    const client = new PlatformClient(true, timeoutMs);
    clients.push(client);
    const at = { ...connection, endpoint };
    const store: TokenStore = {
      nowMs: () => 0,
      lock: async () => ({ held: true, release: async () => {} }),
      read: async () => ({ connection: at, refreshToken: 'r', state: {} }),
      replace: async () => true,
    };
    return testConnection(
      { site: 'shop.example', name: platform.name, platform },
      at,
      client,
      new AccessTokens(client, store),
      0,
    );
  }

  const test = async (port: number, scheme = 'http', timeoutMs?: number) =>
    run(meta, META, `${scheme}://127.0.0.1:${port}`, timeoutMs);
  const failed = (reason: RegExp) => ({
    platform: 'meta',
    ok: false,
    status: 'failed',
    sent: false,
    result: 'refused',
    checked: [],
    reason: expect.stringMatching(reason),
  });

  it('names a server that refuses the connection', async () => {
    const server = createServer();
    const port = await listen(server);
    await new Promise((closed) => server.close(closed));
    servers.delete(server);
    expect(await test(port)).toEqual(failed(/^127\.0\.0\.1:\d+ refused the connection: .* \(ECONNREFUSED\)\.$/));
  });

  it('names a server that does not speak TLS', async () => {
    const port = await listen(
      createServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n'))),
    );
    expect(await test(port, 'https')).toEqual(failed(/^127\.0\.0\.1:\d+ did not answer with TLS: /));
  });

  it('names a server that does not answer in time', async () => {
    expect(await test(await serve(() => {}), 'http', 200)).toEqual(
      failed(/did not (?:answer in full|accept a connection) within 200 ms\.$/),
    );
  });

  it('names a host that has no address', async () => {
    const { kind, sent, message } = failureOf(Object.assign(new Error(), { code: 'ENOTFOUND' }), 'no.invalid', false);
    const failure = new NoResponse({ kind: 'retry', reason: kind as 'network_error', unknown: sent }, message);
    const client = { request: () => Promise.reject(failure) } as unknown as PlatformClient;
    const tokens = new AccessTokens(client, {} as TokenStore);
    expect(
      await testConnection({ site: 'shop.example', name: 'meta', platform: meta }, META, client, tokens, 0),
    ).toEqual(failed(/^no\.invalid has no address: check the name \(ENOTFOUND\)\.$/));
  });

  it.each<[string, number, unknown, object]>([
    [
      'a refused token, with what to do',
      400,
      { error: { code: 190, error_subcode: 463, message: 'Session has expired' } },
      {
        status: 'unauthorized',
        reason: 'HTTP 400: 190/463 The access token is invalid or has expired',
        fix: expect.stringMatching(/^Generate a new access token .* access_token\.$/),
      },
    ],
    [
      'a wrong setting, with what to do',
      400,
      { error: { code: 100, error_subcode: 33, message: 'Unsupported post request' } },
      {
        status: 'misconfigured',
        reason: 'HTTP 400: 100/33 Unsupported post request',
        fix: expect.stringMatching(/^Check pixel_id/),
      },
    ],
    [
      'a rejected conversion',
      400,
      { error: { code: 100, error_subcode: 2804003, error_user_title: 'Event Timestamp Too Old' } },
      { status: 'failed', reason: 'HTTP 400: 100/2804003 Event Timestamp Too Old', fix: SETTINGS },
    ],
    [
      'an outage, in the words of the platform',
      503,
      { error: { code: 2, message: 'Service temporarily unavailable' } },
      {
        status: 'failed',
        reason: 'HTTP 503: {"error":{"code":2,"message":"Service temporarily unavailable"}}',
        fix: LATER,
      },
    ],
    ['an empty answer', 500, '', { status: 'failed', reason: 'HTTP 500', fix: LATER }],
    [
      'a page of another server',
      502,
      '<html>Bad gateway</html>',
      { status: 'failed', reason: 'HTTP 502, with a web page instead of an answer of the API', fix: LATER },
    ],
    [
      'too many requests',
      429,
      'slow down',
      { status: 'failed', reason: 'HTTP 429 (too many requests): slow down', fix: LATER },
    ],
    [
      'a success that the platform does not document',
      200,
      { ok: true },
      { status: 'failed', reason: 'HTTP 200 with an answer that this platform does not give: {"ok":true}', fix: LATER },
    ],
    ['an unknown path', 404, 'no such path', { status: 'failed', reason: 'HTTP 404: no such path', fix: SETTINGS }],
  ])('reports %s', async (_, status, body, expected) => {
    const tested = await test(await answering(status, body));
    expect(tested).toEqual({ platform: 'meta', ok: false, sent: true, result: 'refused', checked: [], ...expected });
  });

  it('reports what the token endpoint answered', async () => {
    const port = await answering(400, {
      error: 'invalid_grant',
      error_description: 'Token has been expired or revoked.',
    });
    expect(await run(googleAds, GOOGLE, `http://127.0.0.1:${port}`)).toMatchObject({
      status: 'unauthorized',
      reason: 'the token endpoint returned invalid_grant: Token has been expired or revoked.',
    });
    const down = await answering(503, { error: 'temporarily_unavailable' });
    expect(await run(googleAds, GOOGLE, `http://127.0.0.1:${down}`)).toMatchObject({
      status: 'failed',
      reason: 'the token endpoint answered HTTP 503: temporarily_unavailable',
    });
  });
});
