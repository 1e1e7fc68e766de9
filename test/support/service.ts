import { type LooseEvent, loosely } from './loose-event.js';
import 'reflect-metadata';
import http, { type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { RetentionScheduler } from '../../src/app/retention.scheduler.js';
import { startService } from '../../src/app/service.js';
import type { Services } from '../../src/app/services.js';
import { SERVICES } from '../../src/app/services.providers.js';
import type { CommandExecutor } from '../../src/kernel/command.js';
import type { AttemptWindow, Intervals } from '../../src/kernel/intervals.js';
import { Sealer } from '../../src/kernel/sealing.js';
import { readSettings, type Settings } from '../../src/kernel/settings/settings.js';
import type { EventLog } from '../../src/log/event-log.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { platformOf, SIGN_IN_PLATFORMS } from '../../src/platforms/index.js';
import type { Platform } from '../../src/platforms/platform.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { ConnectPlatform } from '../../src/sites/connections/connection.commands.js';
import { type IssuedKey, IssueKey } from '../../src/sites/keys/key.commands.js';
import { AddSite, ChangeSiteSettings, EnableInbound } from '../../src/sites/site.commands.js';
import { siteCommandDispatcher } from '../../src/sites/site-command-handlers.js';
import { SiteDirectory } from '../../src/sites/site-directory.js';
import { SiteRepository } from '../../src/sites/site-repository.js';
import { SiteSecrets } from '../../src/sites/site-secrets.js';
import { createDatabase, type DatabaseServer, openDatabase } from './databases.js';
import { SECRET_KEY } from './secret-key.js';

/** An instance of the service that runs in this process, on a free port, and the test's connections to it. */
export interface TestService {
  readonly port: number;
  readonly agent: http.Agent;
  readonly tlsAgent: https.Agent;
  readonly sockets: Set<Socket>;
  /** Reads the log up to its head, so that a change of a site made before is in effect. */
  refreshSites(): Promise<void>;
  /** Whether the instance has read the log recently enough to accept a key without reading it again. */
  hasFreshSites(): boolean;
  readonly services: Services;
  /** What the service does once a minute. */
  retain(): Promise<void> | undefined;
  stop(): Promise<void>;
}

/** What specs wait for is found soon. */
export const POLLS = {
  followMs: 50,
  foldMs: 50,
  retryMs: 50,
  scanMs: 100,
  lateMatchMs: 50,
  jobMs: 50,
  pushMs: 50,
  relayMs: 50,
};

/** The order of deadlines of production, for specs of what is owed whose platforms answer at once or never. */
export const SHORT_ATTEMPTS: AttemptWindow = {
  first: { startWithinMs: 3_000, recordWithinMs: 6_000 },
  owedAfterMs: 7_000,
  lease: { startWithinMs: 3_000, recordWithinMs: 6_000, endsAfterMs: 7_000 },
};

/**
 * `environment` adds to or overrides the required settings: a database, the secret key, a free port. `shorter` are settings that
 * no installation can have.
 */
export async function startTestService(
  databaseUrl: string,
  environment: Record<string, string> = {},
  intervals: Partial<Intervals> = {},
  shorter: Partial<Pick<Settings, 'confirmationPollMs'>> = {},
): Promise<TestService> {
  const required = { PORT: '0', LOG_LEVEL: 'silent', DATABASE_URL: databaseUrl, SECRET_KEY };
  const settings = { ...readSettings({ ...required, ...environment }, SIGN_IN_PLATFORMS), ...shorter };
  const { app } = await startService({ ...settings, intervals: { ...settings.intervals, ...POLLS, ...intervals } });
  const agent = new http.Agent({ keepAlive: true });
  const tlsAgent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });
  const sockets = new Set<Socket>();
  return {
    port: (app.getHttpServer().address() as AddressInfo).port,
    agent,
    tlsAgent,
    sockets,
    refreshSites: () => app.get(SiteDirectory).refresh(),
    hasFreshSites: () => app.get(SiteDirectory).isFresh(),
    services: app.get(SERVICES),
    retain: () => app.get(RetentionScheduler, { strict: false }).check(),
    stop: async () => {
      agent.destroy();
      tlsAgent.destroy();
      for (const socket of sockets) socket.destroy();
      await app.close();
    },
  };
}

/** A service on a database of its own, and direct access to it, for all tests of a file. */
export async function useService(
  environment: Record<string, string> = {},
  { shorter, server }: { shorter?: Parameters<typeof startTestService>[3]; server?: DatabaseServer } = {},
) {
  const databaseUrl = await createDatabase(server);
  const operator = await openOperator(databaseUrl);
  const service = await startTestService(databaseUrl, environment, {}, shorter);
  afterAll(async () => {
    await service.stop();
    await operator.close();
  });
  /** A site with these settings, which the service knows already. */
  const openSite = async (settings: Record<string, string> = {}, aliases: readonly string[] = []) => {
    const site = await operator.openSite(aliases);
    for (const [flag, value] of Object.entries(settings)) await operator.set(site.host, flag, value);
    await service.refreshSites();
    return site;
  };
  return { databaseUrl, operator, service, openSite };
}

/** A site that accepts inbound conversions, with one of its API keys. */
export interface TestSite {
  readonly host: string;
  readonly key: string;
  readonly keyId: string;
}

/** Direct access to the database, the log and the site commands, as an operator has it on the command line. */
export interface Operator extends CommandExecutor {
  readonly postgres: Postgres;
  readonly log: EventLog;
  /** Registers a site with a host of its own, enables inbound for it and issues a key. */
  openSite(aliases?: readonly string[]): Promise<TestSite>;
  issueKey(host: string, kind?: 'live' | 'trial'): Promise<IssuedKey>;
  set(host: string, flag: string, value: string): Promise<void>;
  unset(host: string, flag: string): Promise<void>;
  connect(host: string, platform: string, set: Record<string, string>, endpoint?: string): Promise<void>;
  /** All events of the site's conversions, in log order. */
  conversions(host: string): Promise<LooseEvent[]>;
  conversion(id: string): Promise<LooseEvent | undefined>;
  close(): Promise<void>;
}

export async function openOperator(databaseUrl: string): Promise<Operator> {
  const postgres = await openDatabase(databaseUrl);
  const log = new PostgresEventLog(postgres);
  const secrets = new SiteSecrets(postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
  const commands = siteCommandDispatcher(new SiteRepository(log), secrets);
  let siteCount = 0;
  return {
    postgres,
    log,
    execute: (command) => commands.execute(command),
    async openSite(aliases = []) {
      siteCount += 1;
      const { host } = await commands.execute(new AddSite('cli', `shop-${siteCount}.example`, aliases));
      await commands.execute(new EnableInbound('cli', host));
      const { key, id } = await commands.execute(new IssueKey('cli', host, 'test', false));
      return { host, key, keyId: id };
    },
    issueKey: (host, kind = 'live') => commands.execute(new IssueKey('cli', host, kind, kind === 'trial')),
    async set(host, flag, value) {
      await commands.execute(new ChangeSiteSettings('cli', host, { set: [{ flag, value }], unset: [] }));
    },
    async unset(host, flag) {
      await commands.execute(new ChangeSiteSettings('cli', host, { set: [], unset: [flag] }));
    },
    async connect(host, platform, set, endpoint) {
      await commands.execute(new ConnectPlatform('cli', host, platformOf(platform) as Platform, { set, endpoint }));
    },
    conversions: async (host) => loosely(await log.read({ categories: ['conversion'], site: host })),
    conversion: async (id) => loosely(await log.readStream('conversion', id))[0],
    async close() {
      await log.close();
      await postgres.close();
    },
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly type: string;
  readonly body: string;
}

export interface RequestOptions {
  readonly method?: string;
  readonly path?: string;
  /** A header whose value is undefined is not sent. */
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  readonly tls?: boolean;
  /** The address to connect to; 127.0.0.1 by default. */
  readonly to?: string;
}

/** Sends one request over a real socket. */
export function send(service: TestService, options: RequestOptions): Promise<Reply> {
  const { method = 'GET', path = '/', body, tls = false, to = '127.0.0.1' } = options;
  const headers = Object.fromEntries(Object.entries(options.headers ?? {}).filter(([, value]) => value !== undefined));
  const target = { host: to, port: service.port, method, path, headers };
  return new Promise((resolve, reject) => {
    const request = tls
      ? https.request({ ...target, agent: service.tlsAgent })
      : http.request({ ...target, agent: service.agent });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const status = response.statusCode as number;
        const type = response.headers['content-type'] ?? '';
        resolve({ status, headers: response.headers, type, body: Buffer.concat(chunks).toString('utf8') });
      });
    });
    request.end(body);
  });
}

export const INBOUND = '/__cc/inbound';

/** Posts a conversion with the site's host and key. `options` adds to the request or overrides parts of it. */
export function post(
  service: TestService,
  site: TestSite,
  body: unknown,
  options: RequestOptions = {},
): Promise<Reply> {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const headers = { Host: site.host, 'X-CC-Api-Key': site.key, 'Content-Type': 'application/json', ...options.headers };
  return send(service, { method: 'POST', path: INBOUND, body: text, ...options, headers });
}

/** Requests a receipt with the site's host and key. `query` is what follows the inbound path: `/<id>` or `?orderId=…`. */
export function getReceipt(
  service: TestService,
  site: TestSite,
  query: string,
  options: RequestOptions = {},
): Promise<Reply> {
  const headers = { Host: site.host, 'X-CC-Api-Key': site.key, ...options.headers };
  return send(service, { path: `${INBOUND}${query}`, ...options, headers });
}

export function conversionId(reply: Reply): string {
  return reply.headers['x-cc-conversion-id'] as string;
}

/** A socket for requests that no HTTP client would send. */
export interface RawSocket {
  readonly socket: Socket;
  write(bytes: string | Buffer): void;
  /** Resolves with everything received so far once it matches; rejects when the peer closes first. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves when the peer has closed, with everything received and the time since the connection was opened. */
  readonly closed: Promise<{ readonly text: string; readonly afterMs: number }>;
}

export async function openSocket(service: TestService, over: 'tcp' | 'tls' = 'tcp'): Promise<RawSocket> {
  const address = { host: '127.0.0.1', port: service.port };
  const socket = over === 'tls' ? connectTls({ ...address, rejectUnauthorized: false }) : connect(address);
  service.sockets.add(socket);
  const beganMs = performance.now();
  const checks = new Set<() => void>();
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
    for (const check of checks) check();
  });
  // The service may reset the connection after invalid input. The bytes received before that still count.
  socket.on('error', () => {});
  const closed = new Promise<{ text: string; afterMs: number }>((resolve) => {
    socket.on('close', () => resolve({ text, afterMs: performance.now() - beganMs }));
  });
  await new Promise((resolve) => socket.once(over === 'tls' ? 'secureConnect' : 'connect', resolve));
  const until = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const check = () => pattern.test(text) && checks.delete(check) && resolve(text);
      checks.add(check);
      check();
      void closed.then(() => reject(new Error(`Closed without ${pattern}: ${JSON.stringify(text)}`)));
    });
  return { socket, write: (bytes) => void socket.write(bytes), until, closed };
}

/** The text of a POST request, for tests that truncate, repeat or corrupt it. */
export function rawPost(site: TestSite, body: string, headers: Record<string, string | undefined> = {}): string {
  const all = {
    Host: site.host,
    'X-CC-Api-Key': site.key,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => (value === undefined ? '' : `${name}: ${value}\r\n`));
  return `POST ${INBOUND} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

/** The current values of `/metrics`, keyed by name and labels. */
export async function metrics(service: TestService): Promise<Map<string, number>> {
  const { body } = await send(service, { path: '/metrics' });
  const lines = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}
