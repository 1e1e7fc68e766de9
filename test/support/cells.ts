import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { request } from 'undici';
import { runCli } from '../../src/cli/run-cli.js';
import { startTestAdmin, type TestAdmin } from './admin.js';
import { createDatabase } from './databases.js';
import { startTestServer, type TestServer } from './postgres-server.js';
import { SECRET_KEY } from './secret-key.js';
import { type Operator, openOperator, SHORT_ATTEMPTS, startTestService, type TestService } from './service.js';

/** A cell with one instance of the service and its management API in this process, and a database server of its own. */
export interface TestCell {
  readonly name: string;
  readonly server: TestServer;
  readonly databaseUrl: string;
  readonly operator: Operator;
  readonly service: TestService;
  readonly admin: TestAdmin;
  /** Settings of its command line. */
  readonly env: Record<string, string>;
  cli(...argv: string[]): Promise<CliResult>;
  stop(): Promise<void>;
}

export interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** The first one seals with the key of operators in specs, the second one with another. Each has the other in `CELLS`, with tokens. */
export async function startCells(environment: Record<string, string> = {}): Promise<[TestCell, TestCell]> {
  const started = await Promise.all(
    ['a', 'b'].map(async (name) => {
      const secretKey = name === 'a' ? SECRET_KEY : randomBytes(32).toString('hex');
      const server = await startTestServer();
      const databaseUrl = await createDatabase(server);
      const own = { ...environment, CELL: name, SECRET_KEY: secretKey };
      const service = await startTestService(databaseUrl, own, { attempts: SHORT_ATTEMPTS });
      // Tokens of both cells exist before either is told about the other.
      const first = await startTestAdmin(databaseUrl, own);
      const boss = await first.signedIn('admin');
      const token = async (scope: string) =>
        (await boss('/tokens', { method: 'POST', body: { name: scope, scopes: [scope] } })).body.token as string;
      const tokens = { read: await token('read'), move: await token('move') };
      await first.stop();
      return { name, server, databaseUrl, service, own, url: first.url, ...tokens };
    }),
  );
  const cells = await Promise.all(
    started.map(async ({ name, server, databaseUrl, service, own, url }, index) => {
      const other = started[1 - index] as (typeof started)[0];
      const known = { CELLS: `${other.name}=${other.url}`, CELL_TOKENS: `${other.name}=${other.read}` };
      const admin = await startTestAdmin(databaseUrl, { ...own, ...known, ADMIN_PORT: new URL(url).port });
      const env = { ...own, ...known, DATABASE_URL: databaseUrl, CELL_MOVE_TOKENS: `${other.name}=${other.move}` };
      const operator = await openOperator(databaseUrl);
      return {
        ...{ name, server, databaseUrl, operator, service, admin, env },
        cli: (...argv: string[]) => runIn(env, argv),
        async stop() {
          await operator.close();
          await service.stop();
          await admin.stop();
          await server.stop();
        },
      };
    }),
  );
  return [cells[0] as TestCell, cells[1] as TestCell];
}

export async function runIn(
  env: Record<string, string>,
  argv: readonly string[],
  stop = new AbortController().signal,
): Promise<CliResult> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await runCli(argv, { env, stdout, stderr, stop });
  return { code, out: String(stdout.read() ?? ''), error: String(stderr.read() ?? '') };
}

export interface FlakyProxy {
  readonly url: string;
  /** Called when a call has been carried out whose answer is lost. */
  onBroken: () => void;
  /** Called before a call is passed on, and before its answer is. */
  onCall: (path: string, body: Buffer) => Promise<unknown>;
  onAnswer: (path: string) => Promise<unknown>;
  /** Whose answers are lost, however many there were before. */
  isLost: (path: string) => boolean;
  stop(): Promise<void>;
}

/** Passes requests on. After so many calls, answers are lost: the cell has carried the calls out, and the caller does not know. */
export async function startFlakyProxy(target: string, calls = Number.POSITIVE_INFINITY): Promise<FlakyProxy> {
  let passed = 0;
  const server = createServer(async (incoming, response) => {
    passed += 1;
    const body = await buffer(incoming);
    const path = new URL(incoming.url as string, target).pathname;
    await proxy.onCall(path, body);
    const reply = await request(`${target}${incoming.url}`, {
      method: incoming.method as 'GET',
      headers: { ...(incoming.headers as Record<string, string>), host: new URL(target).host },
      ...(body.length > 0 && { body }),
    });
    const text = await reply.body.text();
    await proxy.onAnswer(path);
    if (passed >= calls || proxy.isLost(path)) {
      response.destroy();
      proxy.onBroken();
    } else response.writeHead(reply.statusCode, { 'content-type': String(reply.headers['content-type']) }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: FlakyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    onBroken: () => {},
    onCall: async () => {},
    onAnswer: async () => {},
    isLost: () => false,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}
